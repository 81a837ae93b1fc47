//! The roles that Crossplane's Helm chart brings.

use kube::Client;
use serde_json::{Value, json};

use crate::objects;

const CORE: &str = include_str!("../roles/core.yaml");
const MANAGER: &str = include_str!("../roles/manager.yaml");

/// The role that providers may be given no more than.
pub(crate) const OF_PROVIDERS: &str = "crossplane:allowed-provider-permissions";

/// Subject that grants core and providers access to the kinds of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Crossplane's RBAC manager, as is the chart's default.
    Managed,
    /// The person who installs packages: there is no RBAC manager.
    ByHand,
}

/// Makes the roles, and the accounts that have them.
///
/// # Panics
/// If the API server refuses them.
pub(crate) async fn grant(client: &Client, rights: Rights) {
    for role in roles(rights) {
        let made = objects::apply(client, &role).await;
        made.unwrap_or_else(|error| panic!("{error}: {role}"));
    }
}

fn roles(rights: Rights) -> Vec<Value> {
    let documents = |text| actor::yaml::documents(text).expect("this crate's own YAML");
    let mut roles = documents(CORE);
    if rights == Rights::Managed {
        let mut of_kind = roles.iter_mut();
        let core = of_kind.find(|role| role["kind"] == "ClusterRole");
        let core = core.expect("core has a role");
        let label = json!({"rbac.crossplane.io/aggregate-to-crossplane": "true"});
        let part = json!({
            "apiVersion": core["apiVersion"], "kind": core["kind"], "rules": core["rules"].take(),
            "metadata": {"name": "crossplane:system:aggregate-to-crossplane", "labels": label}});
        core["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": label}]});
        roles.push(part);
        roles.extend(documents(MANAGER));
    }
    roles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_has_its_rules_once_by_itself_or_as_a_part() {
        for rights in [Rights::Managed, Rights::ByHand] {
            let roles = roles(rights);
            let named = |name: &str| roles.iter().find(|role| role["metadata"]["name"] == name);
            let has_rules = |name| named(name).is_some_and(|role| role["rules"].is_array());
            let part = has_rules("crossplane:system:aggregate-to-crossplane");
            assert_eq!(part, rights == Rights::Managed, "{rights:?}");
            let is_whole = |role: &&Value| {
                role["kind"] == "ClusterRole" && role["metadata"]["name"] == "crossplane"
            };
            let whole = roles.iter().find(is_whole).unwrap();
            assert_eq!(whole["rules"].is_array(), !part, "{rights:?}");
            assert_eq!(has_rules("crossplane-rbac-manager"), part, "{rights:?}");
        }
    }
}
