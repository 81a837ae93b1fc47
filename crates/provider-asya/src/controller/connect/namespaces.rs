//! Names of all namespaces, by which prefix-free queue names are checked.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::cluster;

/// Time for which the list is cached. A namespace that is newer than the list owns none of the names that
/// its shorter neighbour already has queues with.
const CACHED: Duration = Duration::from_secs(5);

/// Cache of the names of all namespaces.
#[derive(Default)]
pub(super) struct NamespaceCache(Mutex<Option<(Instant, Arc<BTreeSet<String>>)>>);

impl NamespaceCache {
    /// All namespaces. Concurrent callers share one list.
    ///
    /// # Errors
    /// The API server fails, or the provider may not list namespaces.
    pub(super) async fn list(&self, client: &Client) -> kube::Result<Arc<BTreeSet<String>>> {
        let mut cached = self.0.lock().await;
        if let Some((at, names)) = cached.as_ref()
            && at.elapsed() < CACHED
        {
            return Ok(names.clone());
        }
        let api: Api<Namespace> = Api::all(client.clone());
        let mut page = ListParams::default().limit(cluster::PAGE);
        let mut names = BTreeSet::new();
        loop {
            let list = api.list_metadata(&page).await?;
            names.extend(list.items.iter().map(ResourceExt::name_any));
            match list.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
        let names = Arc::new(names);
        *cached = Some((Instant::now(), names.clone()));
        Ok(names)
    }
}
