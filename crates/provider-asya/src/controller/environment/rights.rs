//! Rights of the provider to annotate composite resources, by their kind.
//!
//! `install/` grants it for AsyncActors. A composite resource of another kind, which a platform team
//! defined for the same functions, is left alone unless the provider is given the right.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Client, Error};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::announcements::Composite;
use crate::access;

/// Time for which a right that exists is cached.
const GRANTED: Duration = Duration::from_mins(10);

/// A kind of composite resource.
#[derive(Debug, Clone)]
pub(super) struct CompositeKind {
    /// API resource of its objects.
    pub(super) resource: ApiResource,
    /// True if they are in a namespace; those of claims are not.
    pub(super) is_namespaced: bool,
}

/// Kind of composite resource, or why its objects cannot be annotated.
type Known = Result<CompositeKind, String>;

/// Rights by API version and kind.
#[derive(Debug, Default)]
pub(super) struct Rights(Mutex<BTreeMap<(String, String), (Known, Instant)>>);

impl Rights {
    /// The kind, or why its objects cannot be annotated.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(super) async fn of(
        &self,
        client: &Client,
        composite: &Composite,
        denied_for: Duration,
    ) -> kube::Result<Known> {
        let key = (composite.api_version.clone(), composite.kind.clone());
        let mut known = self.0.lock().await;
        if let Some((found, at)) = known.get(&key) {
            let fresh = if found.is_ok() { GRANTED } else { denied_for };
            if at.elapsed() < fresh {
                return Ok(found.clone());
            }
        }
        let found = find(client, composite).await?;
        known.insert(key, (found.clone(), Instant::now()));
        Ok(found)
    }

    /// Records that the API server refused a write of that kind.
    pub(super) async fn deny(&self, composite: &Composite, cause: String) {
        let key = (composite.api_version.clone(), composite.kind.clone());
        let mut known = self.0.lock().await;
        known.insert(key, (Err(cause), Instant::now()));
    }

    /// Returns whether a kind is known whose objects cannot be annotated.
    pub(super) async fn lack_any(&self) -> bool {
        self.0
            .lock()
            .await
            .values()
            .any(|(found, _)| found.is_err())
    }
}

async fn find(client: &Client, composite: &Composite) -> kube::Result<Known> {
    let (group, version) = composite
        .api_version
        .split_once('/')
        .unwrap_or(("", composite.api_version.as_str()));
    let kind = GroupVersionKind::gvk(group, version, &composite.kind);
    let (resource, capabilities) = match discovery::pinned_kind(client, &kind).await {
        Ok(found) => found,
        Err(Error::Discovery(_)) => {
            return Ok(Err(format!(
                "the cluster does not serve {}",
                composite.kind
            )));
        }
        Err(Error::Api(status)) if status.code == 404 => {
            return Ok(Err(format!(
                "the cluster does not serve {}",
                composite.kind
            )));
        }
        Err(error) => return Err(error),
    };
    Ok(
        if access::is_allowed(client, group, &resource.plural, "patch").await? {
            Ok(CompositeKind {
                is_namespaced: capabilities.scope == Scope::Namespaced,
                resource,
            })
        } else {
            Err(format!(
                "the provider may not patch {}.{group}: grant the verb \"patch\"",
                resource.plural
            ))
        },
    )
}
