//! Management policies: what the provider may do with an object's queue or target.

use std::collections::BTreeSet;

/// Management policies of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policies(BTreeSet<String>);

/// An unsupported set of policies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`spec.managementPolicies` is set to {0}, which is not supported: use [\"*\"], or a set with \"Observe\" \
     such as [\"Observe\",\"Create\",\"Update\",\"LateInitialize\"] to keep the external resource on deletion"
)]
pub struct Unsupported(String);

const ALL: &str = "*";
const EACH: [&str; 5] = ["Observe", "Create", "Update", "Delete", "LateInitialize"];

/// Accepted sets beside `*`, by the first letters of [`EACH`]. Source: crossplane-runtime,
/// `pkg/reconciler/managed/policies.go`.
const ACCEPTED: [&str; 14] = [
    "", "O", "OCUDL", "OCUD", "OCUL", "OCU", "OCDL", "OCL", "OCD", "OC", "OD", "OU", "OL", "OUL",
];

impl Policies {
    /// Parses the list; order and repetition do not matter.
    ///
    /// # Errors
    /// Crossplane does not support the set.
    pub fn read(list: &[String]) -> Result<Self, Unsupported> {
        let set: BTreeSet<String> = list.iter().cloned().collect();
        let letters: String = EACH
            .iter()
            .filter(|policy| set.contains(**policy))
            .map(|policy| &policy[..1])
            .collect();
        let is_known = set.len() == letters.len();
        let is_all = set.len() == 1 && set.contains(ALL);
        if is_all || (is_known && ACCEPTED.contains(&letters.as_str())) {
            return Ok(Self(set));
        }
        let names: Vec<String> = set.iter().map(|policy| format!("{policy:?}")).collect();
        Err(Unsupported(format!("[{}]", names.join(","))))
    }

    /// Returns whether the object is paused: the list is empty.
    pub fn is_paused(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the queue may only be observed.
    pub fn only_observe(&self) -> bool {
        self.0.len() == 1 && self.0.contains("Observe")
    }

    /// Returns whether a missing queue is created.
    pub fn may_create(&self) -> bool {
        self.allows("Create")
    }

    /// Returns whether drift is corrected.
    pub fn may_update(&self) -> bool {
        self.allows("Update")
    }

    /// Returns whether the queue is deleted with the object.
    pub fn may_delete(&self) -> bool {
        self.allows("Delete")
    }

    fn allows(&self, policy: &str) -> bool {
        self.0.contains(ALL) || self.0.contains(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[&str]) -> Result<Policies, Unsupported> {
        Policies::read(
            &list
                .iter()
                .map(|policy| (*policy).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn fifteen_sets_are_accepted() {
        // The set, and the letters of the rights: Create, Update, Delete.
        let cases: [(&[&str], &str); 15] = [
            (&["*"], "CUD"),
            (
                &["LateInitialize", "Delete", "Update", "Create", "Observe"],
                "CUD",
            ),
            (&["Observe"], ""),
            (&[], ""),
            (&["Observe", "Create", "Update", "Delete"], "CUD"),
            (&["Observe", "Create", "Update", "LateInitialize"], "CU"),
            (&["Observe", "Create", "Update"], "CU"),
            (&["Observe", "Create", "Delete", "LateInitialize"], "CD"),
            (&["Observe", "Create", "LateInitialize"], "C"),
            (&["Observe", "Create", "Delete"], "CD"),
            (&["Observe", "Create"], "C"),
            (&["Observe", "Delete"], "D"),
            (&["Observe", "Update"], "U"),
            (&["Observe", "LateInitialize"], ""),
            (&["Observe", "Update", "LateInitialize"], "U"),
        ];
        for (set, rights) in cases {
            let policies = read(set).unwrap_or_else(|error| panic!("{set:?}: {error}"));
            let found = [
                ("C", policies.may_create()),
                ("U", policies.may_update()),
                ("D", policies.may_delete()),
            ];
            let found: String = found
                .iter()
                .filter(|(_, may)| *may)
                .map(|(letter, _)| *letter)
                .collect();
            assert_eq!(found, rights, "{set:?}");
            assert_eq!(policies.is_paused(), set.is_empty(), "{set:?}");
            assert_eq!(policies.only_observe(), *set == ["Observe"], "{set:?}");
        }
    }

    #[test]
    fn other_sets_are_refused_by_name() {
        for set in [
            &["Create"] as &[&str],
            &["Create", "Update", "Delete", "LateInitialize"],
            &["*", "Observe"],
            &["Observe", "Update", "Delete"],
            &["Observe", "Everything"],
        ] {
            assert!(read(set).is_err(), "{set:?}");
        }
        let message = read(&["Delete", "Create"]).unwrap_err().to_string();
        assert!(
            message.contains("is set to [\"Create\",\"Delete\"], which"),
            "{message}"
        );
    }
}
