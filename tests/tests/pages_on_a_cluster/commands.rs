//! The commands of `docs/setup`, run as they stand, page by page, on a real API server with a real
//! Crossplane core. What takes a kubelet, a registry, a chart or another Asya is not there: those
//! commands are checked for their syntax.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use kube::Client;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_cluster::{components, objects};
use tests::page::{Block, Page};
use tests::program::{self, repository};

use crate::{cluster_with_every_kind, is_inside};

/// Stand-in for kubectl: commands that need a component which is missing here are only parsed.
const KUBECTL: &str = r#"#!/bin/sh
syntax() { "$KUBECTL" "$@" --help > /dev/null; }
case "$1" in
wait | logs | rollout | scale) syntax "$@" && exit 0 || exit 1 ;;
port-forward) syntax "$@" && exec sleep 60 || exit 1 ;;
esac
case "$*" in
*upbound.io* | *xasyncactors* | *"customresourcedefinitions asyncactors"*) syntax "$@"; exit ;;
esac
exec "$KUBECTL" "$@"
"#;

/// asya; here no function answers, so that no actor gets ready.
const ASYA: &str = r#"#!/bin/sh
[ "$1" = status ] || exec "$ASYA" "$@"
"$ASYA" "$@"; [ "$?" -le 1 ]
"#;

/// Stand-in for curl: the body for the broker must exist and be JSON.
const CURL: &str = r#"#!/bin/sh
python3 -c 'import json; json.load(open("publish.json"))' && echo '{"routed":true}'
"#;

/// Helm succeeds with any arguments.
const HELM: &str = "#!/bin/sh\nexit 0\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_a_setup_runs() {
    if !is_inside("commands::every_command_of_a_setup_runs") {
        return;
    }
    let (cluster, _crossplane) = cluster_with_every_kind().await;
    let client = cluster.client().await;

    let desk = Desk::new(&cluster.kubeconfig());
    let home = desk.run("docs/setup/install.md");
    the_first_message_comes_to_the_end_that_the_page_shows(&home);
    desk.run("docs/setup/upgrade.md");
    desk.run("docs/setup/uninstall.md");
    make_composition_of_claims(&client).await;
    desk.run("docs/setup/migration.md");
    let composition = objects::api_of(&client, &composition_of_claims()).await.0;
    let composition = json!(composition.get("asyncactor-sqs").await.unwrap());
    let template = &composition["spec"]["pipeline"][0]["input"]["inline"]["template"];
    assert_eq!(*template, "spec:\n  deletionPolicy: Orphan\n");
}

/// Environment in which commands are run.
struct Desk {
    /// The programs that are found before all others.
    programs: TempDir,
    kubeconfig: PathBuf,
}

impl Desk {
    fn new(kubeconfig: &Path) -> Self {
        let programs = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("kubectl", KUBECTL),
            ("asya", ASYA),
            ("curl", CURL),
            ("helm", HELM),
        ] {
            let path = programs.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self {
            programs,
            kubeconfig: kubeconfig.to_owned(),
        }
    }

    /// Runs every command of a page in a folder with its files, and gives the folder.
    fn run(&self, page: &str) -> TempDir {
        let home = tempfile::tempdir().unwrap();
        let blocks = Page::read(page).blocks();
        for block in &blocks {
            if let Some(name) = file_name(block) {
                fs::write(home.path().join(name), &block.text).unwrap();
            }
        }
        let mut script = "trap 'echo \"the last was the block of $place\" >&2' EXIT\n".to_owned();
        let commands: Vec<&Block> = blocks
            .iter()
            .filter(|block| block.language == "sh")
            .collect();
        assert!(!commands.is_empty(), "{page} has no commands");
        for block in commands {
            script.extend(["place=", &block.place, "\n", &block.text]);
        }
        let path = format!("{}:/usr/bin:/bin", self.programs.path().display());
        let output = Command::new("timeout")
            .args(["600", "bash", "-eu", "-o", "pipefail", "-c", &script])
            .current_dir(home.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", home.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECTL", components::program("kubectl"))
            .env("ASYA", program::path("asya"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{page}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        home
    }
}

/// The name in the first line of a block that is to be saved.
fn file_name(block: &Block) -> Option<&str> {
    let first = block.text.lines().next()?;
    let name = first.strip_prefix("# ")?;
    let ends = [".yaml", ".py"].iter().any(|end| name.ends_with(end));
    (ends && !name.contains(' ')).then_some(name)
}

/// The handler of the page gets the message of the page, and `x-sink` what it returns.
fn the_first_message_comes_to_the_end_that_the_page_shows(home: &TempDir) {
    const PLAY: &str = "
import json, hello, end_actors
message = json.loads(json.load(open('publish.json'))['payload'])
assert message['route'] == {'prev': [], 'curr': 'hello', 'next': []}, message
end_actors.x_sink(hello.handle(message['payload']), {'id': message['id']})
";
    let output = Command::new("python3")
        .args(["-c", PLAY])
        .current_dir(home.path())
        .env(
            "PYTHONPATH",
            format!(".:{}", repository().join("runtime").display()),
        )
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", program::talk(&output));
    let line = |text: &str| -> Value {
        let mut line: Value = serde_json::from_str(text).expect(text);
        line["time"].take();
        line
    };
    let page = Page::read("docs/setup/install.md").blocks();
    let mut shown = page
        .iter()
        .filter(|block| block.text.starts_with("{\"time\""));
    let shown = shown.next().expect("the page shows the line of x-sink");
    let written = String::from_utf8(output.stdout).unwrap();
    assert_eq!(line(&written), line(&shown.text));
}

/// A Composition such as the charts with claims have.
fn composition_of_claims() -> Value {
    let input = json!({"apiVersion": "gotemplating.fn.crossplane.io/v1beta1", "kind": "GoTemplate",
        "source": "Inline", "inline": {"template": "spec:\n  deletionPolicy: Delete\n"}});
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
        "metadata": {"name": "asyncactor-sqs"},
        "spec": {"compositeTypeRef": {"apiVersion": "asya.sh/v1alpha1", "kind": "XAsyncActor"},
            "mode": "Pipeline",
            "pipeline": [{"step": "render-sqs-queue", "input": input,
                "functionRef": {"name": "function-go-templating"}}]}})
}

async fn make_composition_of_claims(client: &Client) {
    let made = objects::apply(client, &composition_of_claims()).await;
    made.expect("a Composition is taken");
}
