//! Patterns of foreign policies, and the limits of what is kept of them.

use super::*;

fn listed(name: &str, pattern: &str, apply_to: &str) -> Listed {
    Listed {
        name: name.to_owned(),
        pattern: pattern.to_owned(),
        apply_to: apply_to.to_owned(),
    }
}

fn list(policies: impl IntoIterator<Item = Listed>) -> Arc<ListedPolicies> {
    let mut list = ListedPolicies::default();
    for policy in policies {
        if list.add(policy).is_break() {
            break;
        }
    }
    Arc::new(list)
}

fn shared() -> SharedPolicy {
    SharedPolicy {
        owner_id: "east".to_owned(),
        queue_names: "asya-*".to_owned(),
        max_receive_count: 20,
        records: BTreeMap::new(),
        may_predate_records: false,
    }
}

#[test]
fn a_policy_for_one_queue_with_its_name_is_ours() {
    let cases = [
        ("asya-cart", "^cart$", true),
        ("asya-a.b", r"^a\.b$", true),
        ("asya-cart", "^cart", false),
        ("asya-all", ".*", false),
        ("ops", "^ops$", false),
    ];
    for (name, pattern, expected) in cases {
        let policy = listed(name, pattern, "queues");
        assert_eq!(is_ours(&policy), expected, "{name} {pattern}");
    }
}

#[tokio::test]
async fn only_readable_policies_for_queues_match() {
    let huge = "a".repeat(PATTERN_MAX + 1);
    let cases = [
        ("^asya-", "queues", Some(true)),
        ("^asya-", "all", Some(true)),
        ("^asya-", "exchanges", None),
        ("^other-", "all", Some(false)),
        (r"^\w+-[^x]{4}$", "all", Some(true)),
        ("^asya-cart$", "queues", Some(true)),
        ("(?!x)", "all", None),
        (&huge, "all", None),
        ("(a{1,1000}){1,1000}", "all", None),
        (r"[\w]{5000}", "all", None),
    ];
    for (pattern, apply_to, expected) in cases {
        let list = list([listed("p", pattern, apply_to)]);
        let matches = list.clone().matches("asya-cart").await;
        let is_for_queues = apply_to != "exchanges";
        let expected_list = if is_for_queues {
            vec![expected]
        } else {
            vec![]
        };
        assert_eq!(matches, expected_list, "{pattern} {apply_to}");
        let none = list.none_can_match("asya-cart", &shared()).await;
        assert_eq!(none, !is_for_queues || expected == Some(false), "{pattern}");
        let policy = serde_json::json!({"name": "p", "pattern": pattern, "apply-to": apply_to});
        let is_matched = is_matched(&policy, "asya-cart").await;
        assert_eq!(is_matched, expected == Some(true), "{pattern}");
    }
}

#[tokio::test]
async fn policies_that_were_not_read_may_match() {
    for (count, length, expected) in [
        (1, 0, true),
        (POLICIES_MAX + 1, 0, false),
        (100, 900, false),
    ] {
        let pattern = format!("^other{}$", "y?".repeat(length / 2));
        let policy = |_| listed("ops", &pattern, "queues");
        let list = list((0..count).map(policy));
        assert!(list.bytes() <= LIST_MAX);
        assert_eq!(list.is_truncated, !expected);
        let none = list.none_can_match("asya-cart", &shared()).await;
        assert_eq!(none, expected, "{count} of {length}");
    }
}

#[test]
fn the_cache_has_a_limit_of_each_broker_and_of_all() {
    let large = || list((0..60).map(|_| listed("ops", &"x".repeat(1000), "queues")));
    let small = || list([listed("ops", "^x", "queues")]);
    let mut cache = Cache::new();
    let bytes = |cache: &Cache| -> usize { cache.lists.values().map(|list| list.bytes).sum() };
    cache.insert(0, "healthy", small());
    for vhost in 0..64 {
        cache.insert(1, &vhost.to_string(), large());
    }
    assert!(
        bytes(&cache) <= OF_BROKER_MAX + LIST_MAX,
        "{}",
        bytes(&cache)
    );
    assert!(
        cache.get(0, "healthy").is_some(),
        "another broker evicts nothing"
    );
    assert!(cache.get(1, "63").is_some(), "the newest ones stay");
    assert!(cache.get(1, "0").is_none());
    for broker in 2..100 {
        for vhost in 0..4 {
            cache.insert(broker, &vhost.to_string(), large());
        }
    }
    assert!(bytes(&cache) <= CACHE_MAX, "{}", bytes(&cache));
    cache.forget(99);
    assert!(cache.get(99, "3").is_none());
}
