//! One reconcile of one config: count its users, keep it from being deleted while there are any.

use actor::managed::{Condition, IN_USE_FINALIZER};
use actor::provider_config::ProviderConfigStatus;
use jiff::Timestamp;
use kube::api::{ListParams, PartialObjectMeta};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use super::Config;
use crate::cluster;
use crate::controller::managed::events::{self, Severity};
use crate::controller::managed::writes;
use crate::controller::{Context, usage};
use crate::kinds::ProviderConfigUsage;

/// Message of the condition and event of a config that is in use.
const IN_USE: &str = "Blocking deletion while usages still exist";

/// Number of objects that use a config.
///
/// A usage without an owner does not count. Nothing deletes it: Crossplane grants a provider no
/// deletion of its own kinds.
async fn count(usages: &Api<ProviderConfigUsage>, labels: &str) -> kube::Result<i64> {
    let has_owner = |record: &&PartialObjectMeta<ProviderConfigUsage>| {
        let mut owners = record.owner_references().iter();
        owners.any(|owner| owner.controller == Some(true))
    };
    let mut page = ListParams::default().labels(labels).limit(cluster::PAGE);
    let mut users = 0;
    loop {
        let records = usages.list_metadata(&page).await?;
        users += records.items.iter().filter(has_owner).count();
        match records.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(i64::try_from(users).unwrap_or(i64::MAX)),
        }
    }
}

/// Reconciles one config once.
pub(super) async fn reconcile<K: Config>(config: &K, context: &Context) -> kube::Result<()> {
    let (api, name) = (config.api(context), config.name_any());
    let labels = format!(
        "{}={name},{}={}",
        usage::CONFIG,
        usage::CONFIG_KIND,
        K::kind(&())
    );
    let users = count(&config.usages(context), &labels).await?;
    let is_deleted = config.meta().deletion_timestamp.is_some();
    if is_deleted && users == 0 {
        return writes::finalizer(&api, config, IN_USE_FINALIZER, false)
            .await
            .map(drop);
    }
    if !is_deleted {
        writes::finalizer(&api, config, IN_USE_FINALIZER, true).await?;
    }
    let old = config.status();
    let mut new = ProviderConfigStatus {
        users: Some(users),
        ..old.clone()
    };
    let is_terminating = |condition: &Condition| condition.type_ == "Terminating";
    if is_deleted && !old.conditions.iter().any(is_terminating) {
        events::emit(
            &context.client,
            config,
            Severity::Warning,
            "UsageAccounting",
            IN_USE,
        )
        .await;
        new.conditions.push(Condition {
            type_: "Terminating".to_owned(),
            status: "True".to_owned(),
            reason: "InUse".to_owned(),
            message: Some(IN_USE.to_owned()),
            last_transition_time: format!("{:.0}", Timestamp::now()),
            observed_generation: config.meta().generation,
        });
    }
    writes::status(&api, &name, &json!(old), &json!(new), None).await
}
