//! The pods of all actors, which come and go.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tests::mesh::{ENDS, Flavor, Mesh, Rendered, STEPS, queue};
use tests::pod::{Pod, RUNTIME};

/// Pods of each actor.
const REPLICAS: usize = 2;

/// All pods, and what they were made from.
pub(crate) struct Fleet {
    pods: BTreeMap<String, Vec<Pod>>,
    rendered: BTreeMap<String, Rendered>,
    flavor: Flavor,
    run: String,
    // For names that no pod has had.
    started: usize,
    // Of the pods that there are and of those that there were.
    outputs: Vec<PathBuf>,
}

impl Fleet {
    /// Queues and pods of all actors, at work.
    pub(crate) async fn start(mesh: &Mesh, run: &str, flavor: Flavor) -> Self {
        let rendered = mesh.render(&flavor);
        mesh.apply_queues(&rendered).await;
        let mut fleet = Self {
            pods: BTreeMap::new(),
            rendered,
            flavor,
            run: run.to_owned(),
            started: 0,
            outputs: Vec::new(),
        };
        for actor in actors() {
            let pods = (0..REPLICAS).map(|_| fleet.new_pod(mesh, actor)).collect();
            fleet.pods.insert(actor.to_owned(), pods);
        }
        for pod in fleet.pods.values().flatten() {
            pod.started().await;
        }
        fleet
    }

    fn new_pod(&mut self, mesh: &Mesh, actor: &str) -> Pod {
        self.started += 1;
        let name = format!("{}-{actor}-{}", self.run, self.started);
        let pod = mesh.pod(&self.rendered[actor], &name);
        if ENDS.contains(&actor) {
            self.outputs.push(pod.output(RUNTIME));
        }
        pod
    }

    /// Flavor of its pods.
    pub(crate) fn flavor(&self) -> &Flavor {
        &self.flavor
    }

    /// Output files of the runtimes of end actors.
    pub(crate) fn outputs(&self) -> &[PathBuf] {
        &self.outputs
    }

    /// Kills one container of one pod.
    pub(crate) fn kill(&self, actor: &str, index: usize, container: &str) {
        let pods = &self.pods[actor];
        pods[index % pods.len()].container(container).kill();
    }

    /// Replaces one pod of an actor: the new one works before the old one gets SIGTERM.
    pub(crate) async fn replace(&mut self, mesh: &Mesh, actor: &str) {
        let new = self.new_pod(mesh, actor);
        new.started().await;
        let pods = self.pods.get_mut(actor).expect("an actor");
        let old = pods.remove(0);
        pods.push(new);
        check(old).await;
    }

    /// Renders everything again and applies it; pods whose template has changed are replaced, one after
    /// the other, as a Deployment's are. Says whether any was.
    pub(crate) async fn apply(&mut self, mesh: &Mesh, flavor: Flavor) -> bool {
        let rendered = mesh.render(&flavor);
        mesh.apply_queues(&rendered).await;
        self.flavor = flavor;
        let old = std::mem::replace(&mut self.rendered, rendered);
        let mut is_changed = false;
        for actor in actors() {
            if old[actor].template() != self.rendered[actor].template() {
                is_changed = true;
                for _ in 0..REPLICAS {
                    self.replace(mesh, actor).await;
                }
            }
        }
        is_changed
    }

    /// Ends all pods when no message is left, in the order of the route, so that none is left behind.
    pub(crate) async fn drain(mut self, mesh: &Mesh) -> Vec<PathBuf> {
        let link = mesh.link().await;
        for actor in actors() {
            loop {
                test_cluster::until(&format!("the queue of {actor} is empty"), || async {
                    let waiting = link.waiting(&queue(actor)).await.expect("a count");
                    (waiting == 0).then_some(())
                })
                .await;
                for pod in self.pods.remove(actor).into_iter().flatten() {
                    check(pod).await;
                }
                // A message that was given back while the pods went.
                if link.waiting(&queue(actor)).await.expect("a count") == 0 {
                    break;
                }
                let pod = self.new_pod(mesh, actor);
                self.pods.insert(actor.to_owned(), vec![pod]);
            }
        }
        self.outputs
    }
}

/// Returns the actors of the route, in its order, then the ends.
fn actors() -> impl Iterator<Item = &'static str> {
    STEPS.into_iter().chain(ENDS)
}

/// Ends a pod, whose processes have to end by themselves; one that a fault has killed may have been
/// started again just now.
async fn check(pod: Pod) {
    let name = pod.name.clone();
    let ending = pod.terminate().await;
    assert!(ending.is_in_time(), "{name}: {ending:?}");
}
