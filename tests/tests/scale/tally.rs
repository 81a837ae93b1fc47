//! Waiting until many objects are as they should be, without asking for all of them again and again.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::world::World;

/// Time limit for all of them. A machine that is busy with other work needs many times what an idle
/// one does.
const TIMEOUT: Duration = Duration::from_mins(90);

/// Waits until as many objects as there are actors are so at the same time.
///
/// # Panics
/// When they are not in time; then one that is not is shown.
pub(crate) async fn until_all(
    objects: Api<DynamicObject>,
    what: &str,
    is_so: impl Fn(&Value) -> bool,
    world: &World,
) {
    let number = world.actors;
    let mut those = BTreeSet::new();
    let mut last_other = Value::Null;
    let watched = async {
        let config = watcher::Config::default().page_size(100);
        let changes = watcher(objects, config).default_backoff();
        let mut changes = Box::pin(changes.applied_objects());
        while let Some(change) = changes.next().await {
            // The watcher tries again.
            let Ok(object) = change else { continue };
            let (name, object) = (object.name_any(), json!(object));
            if is_so(&object) {
                those.insert(name);
            } else {
                those.remove(&name);
                last_other = object;
            }
            if those.len() == number {
                break;
            }
        }
    };
    let is_done = timeout(TIMEOUT, watched).await.is_ok();
    assert!(
        is_done,
        "{} of {number} {what} within {TIMEOUT:?}; this one is not: {last_other:#}\n{}",
        those.len(),
        world.stack.log()
    );
}
