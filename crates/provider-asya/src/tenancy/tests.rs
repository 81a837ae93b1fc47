//! Values that a ClusterProviderConfig allows and refuses.

use serde_json::json;

use super::*;

fn config(value: serde_json::Value) -> ClusterProviderConfigSpec {
    serde_json::from_value(value).unwrap()
}

#[test]
fn names_match_templates_of_their_namespace() {
    let cases = [
        ("asya-{namespace}-*", "asya-shop-cart", true),
        ("asya-{namespace}-*", "asya-shop-", true),
        ("asya-{namespace}-*", "asya-bank-cart", false),
        ("asya-{namespace}", "asya-shop", true),
        ("asya-{namespace}", "asya-shop-cart", false),
        ("*-{namespace}-*-q", "a-shop-b-c-q", true),
        ("*-{namespace}-*-q", "a-shop-q", false),
        ("*", "anything", true),
        ("ab*ba", "aba", false),
    ];
    for (template, name, expected) in cases {
        let spec = config(json!({"queueNames": ["never", template]}));
        let found = name_check(&spec, "shop", &[], name).is_ok();
        assert_eq!(found, expected, "{name:?} by {template:?}");
    }
}

fn name_check(
    spec: &ClusterProviderConfigSpec,
    namespace: &str,
    namespaces: &[&str],
    queue: &str,
) -> Result<(), Forbidden> {
    let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
    let (labels, settings) = (BTreeMap::new(), ForProvider::default());
    check(
        "main",
        spec,
        namespace,
        &labels,
        &namespaces,
        queue,
        &settings,
    )
}

#[test]
fn a_name_belongs_to_the_longest_namespace_that_it_matches() {
    let all = ["shop", "shop-eu", "shop-eu-test", "bank"];
    let cases = [
        ("asya-{namespace}-*", "shop", "asya-shop-cart", true, false),
        (
            "asya-{namespace}-*",
            "shop",
            "asya-shop-big-cart",
            true,
            true,
        ),
        ("{namespace}*", "shop", "shopping", true, true),
        (
            "asya-{namespace}-*",
            "shop",
            "asya-shop-eu-cart",
            false,
            true,
        ),
        (
            "asya-{namespace}-*",
            "shop-eu",
            "asya-shop-eu-cart",
            true,
            false,
        ),
        (
            "asya-{namespace}-*",
            "shop-eu",
            "asya-shop-eu-test-a",
            false,
            true,
        ),
        (
            "asya-{namespace}-*",
            "shop",
            "asya-shop-eu-test-a",
            false,
            true,
        ),
        ("{namespace}*", "shop", "shop-eu", false, true),
        ("*-{namespace}", "eu", "asya-shop-eu", false, true),
        ("asya-*", "shop", "asya-shop-eu-cart", true, false),
    ];
    for (template, namespace, queue, expected, needs) in cases {
        let spec = config(json!({"queueNames": [template]}));
        let found = name_check(&spec, namespace, &all, queue).is_ok();
        let case = format!("{queue} in {namespace} by {template}");
        assert_eq!(found, expected, "{case}");
        let found = needs_namespaces(&spec, namespace, queue, &ForProvider::default());
        assert_eq!(found, needs, "{case}");
    }
}

#[test]
fn a_name_that_matches_another_template_for_a_longer_namespace_belongs_to_that() {
    let long = "n".repeat(64);
    let cases = [
        (
            vec!["asya-{namespace}-*", "{namespace}-*"],
            "shop",
            "asya-shop-cart",
            false,
        ),
        (
            vec!["asya-{namespace}-*", "{namespace}-*"],
            "shop",
            "asya-shop",
            true,
        ),
        (
            vec!["asya-{namespace}-*", "{namespace}-*"],
            "asya-shop",
            "asya-shop-cart",
            true,
        ),
        (
            vec!["{namespace}-*", "*-of-{namespace}"],
            "shop",
            "shop-of-big-bank",
            false,
        ),
        (
            vec!["{namespace}-*", "*-of-{namespace}"],
            "shop",
            "shop-of-bank",
            true,
        ),
        (
            vec!["{namespace}.*", "x{namespace}"],
            "shop",
            "shop.UPPER",
            true,
        ),
        (
            vec!["{namespace}*", "x.{namespace}"],
            "shop",
            long.as_str(),
            true,
        ),
        (
            vec!["asya-{namespace}-*", "{namespace}-*", "asya-shop-*"],
            "shop",
            "asya-shop-cart",
            true,
        ),
    ];
    let all = ["shop", "asya-shop", "big-bank", "bank"];
    for (templates, namespace, queue, expected) in cases {
        let case = format!("{queue} in {namespace} by {templates:?}");
        let spec = config(json!({"queueNames": templates}));
        // As the connector does it.
        let needs = needs_namespaces(&spec, namespace, queue, &ForProvider::default());
        let known = if needs { &all[..] } else { &[] };
        let found = name_check(&spec, namespace, known, queue);
        let other = matches!(found, Err(Forbidden::OtherNamespace { .. }));
        assert_eq!(!other, expected, "{case}: {found:?}");
    }
}

#[test]
fn every_name_can_belong_to_another_namespace_by_another_template() {
    let templates = json!(["asya-{namespace}*", "{namespace}*"]);
    let cases = [
        ("exchange", rabbitmq("/", "asya-shop-x"), false),
        ("virtual host", rabbitmq("asya-shop-x", "asya-shop"), false),
        ("neither", rabbitmq("/", "asya-shop"), true),
    ];
    for (reason, settings, expected) in cases {
        let spec = config(
            json!({"allowedExchanges": templates, "allowedVhosts": ["/", "asya-{namespace}*", "{namespace}*"]}),
        );
        let settings: ForProvider = serde_json::from_value(settings).unwrap();
        let all: BTreeSet<String> = ["shop", "asya-shop-x"].map(str::to_owned).into();
        let needs = needs_namespaces(&spec, "shop", "cart", &settings);
        let known = if needs { all.clone() } else { BTreeSet::new() };
        let found = check(
            "main",
            &spec,
            "shop",
            &BTreeMap::new(),
            &known,
            "cart",
            &settings,
        );
        assert_eq!(found.is_ok(), expected, "{reason}: {found:?}");
        let is_of_exchange = reason == "exchange";
        let needs = exchange_needs_namespaces(&spec, "shop", &settings);
        let of_exchange = check_exchange("main", &spec, "shop", &all, &settings);
        assert_eq!(of_exchange.is_err(), is_of_exchange, "{reason}");
        assert!(needs || of_exchange.is_ok(), "{reason}");
    }
}

fn rabbitmq(vhost: &str, exchange: &str) -> serde_json::Value {
    json!({"rabbitmq": {"host": "broker", "vhost": vhost, "exchange": exchange, "routingKeys": [],
        "queueType": "quorum", "deadLetter": {"enabled": true, "maxReceiveCount": 3}}})
}

/// Checks settings in namespace `shop` beside `shop-eu`, with the namespaces only if they are needed.
fn settings_check(
    spec: serde_json::Value,
    queue: &str,
    settings: serde_json::Value,
) -> Result<(), Forbidden> {
    let (spec, settings) = (config(spec), serde_json::from_value(settings).unwrap());
    let all = || ["shop", "shop-eu"].map(str::to_owned).into();
    let namespaces = if needs_namespaces(&spec, "shop", queue, &settings) {
        all()
    } else {
        BTreeSet::new()
    };
    let labels = BTreeMap::new();
    check(
        "main",
        &spec,
        "shop",
        &labels,
        &namespaces,
        queue,
        &settings,
    )
}

#[test]
fn names_of_dead_letter_and_retry_queues_belong_to_the_longest_namespace_too() {
    let dead_letters = rabbitmq("/", "asya-shop");
    let mut retries = rabbitmq("/", "asya-shop");
    retries["rabbitmq"]["deadLetter"]["enabled"] = json!(false);
    let neither = retries.clone();
    retries["rabbitmq"]["retryDelaysSeconds"] = json!([5]);
    let sqs = json!({"sqs": {"region": "us-east-1", "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 60,
        "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": true, "maxReceiveCount": 3}}});
    let cases = [
        ("dead letters", "asya-shop-eu", dead_letters.clone(), false),
        ("retries", "asya-shop-eu", retries, false),
        ("on SQS", "asya-shop-eu", sqs, false),
        ("none", "asya-shop-eu", neither, true),
        ("another name", "asya-shop-cart", dead_letters, true),
    ];
    for (reason, queue, settings, expected) in cases {
        let spec = json!({"queueNames": ["asya-{namespace}-*"], "regions": ["*"]});
        let found = settings_check(spec, queue, settings);
        assert_eq!(found.is_ok(), expected, "{reason}: {found:?}");
    }
}

#[test]
fn virtual_hosts_and_exchanges_belong_to_the_longest_namespace_that_they_match() {
    let cases = [
        ("allowedVhosts", "{namespace}-*", "shop-cart", true),
        ("allowedVhosts", "{namespace}-*", "shop-eu-cart", false),
        ("allowedVhosts", "{namespace}*", "shop-eu", false),
        ("allowedVhosts", "*", "shop-eu", true),
        (
            "allowedExchanges",
            "asya-{namespace}-*",
            "asya-shop-a",
            true,
        ),
        (
            "allowedExchanges",
            "asya-{namespace}-*",
            "asya-shop-eu-a",
            false,
        ),
        ("allowedExchanges", "*-{namespace}*", "asya-shop-eu", false),
    ];
    for (field, template, value, expected) in cases {
        let (vhost, exchange) = if field == "allowedVhosts" {
            (value, "asya-shop")
        } else {
            ("/", value)
        };
        let mut spec = json!({});
        spec[field] = json!([template]);
        let found = settings_check(spec, "cart", rabbitmq(vhost, exchange));
        assert_eq!(
            found.is_ok(),
            expected,
            "{field} {template} {value}: {found:?}"
        );
    }
}

#[test]
fn a_region_that_matches_a_longer_namespace_belongs_to_that_one() {
    let sqs = |region: &str| {
        json!({"sqs": {"region": region, "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 60,
            "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": false, "maxReceiveCount": 3}}})
    };
    let spec = || json!({"regions": ["{namespace}*"]});
    for (region, expected) in [("shop", true), ("shop-us-1", true), ("shop-eu-1", false)] {
        let found = settings_check(spec(), "cart", sqs(region));
        assert_eq!(found.is_ok(), expected, "{region}: {found:?}");
    }
}

#[test]
fn virtual_hosts_exchanges_and_regions_are_closed_unless_named() {
    let sqs = |region: &str| {
        json!({"sqs": {"region": region, "visibilityTimeoutSeconds": 30, "messageRetentionSeconds": 60,
            "receiveWaitTimeSeconds": 0, "deadLetter": {"enabled": false, "maxReceiveCount": 3}}})
    };
    let separated = json!({"queueNames": ["asya-{namespace}-*"]});
    let named =
        json!({"allowedVhosts": ["{namespace}"], "allowedExchanges": ["*"], "regions": ["eu-*"]});
    let local = json!({"sqs": {"endpoint": "http://moto"}});
    let cases = [
        ("default vhost", json!({}), rabbitmq("/", "asya"), true),
        ("another vhost", json!({}), rabbitmq("bank", "asya"), false),
        ("own exchange", json!({}), rabbitmq("/", "asya-shop"), true),
        (
            "another's exchange",
            json!({}),
            rabbitmq("/", "asya-bank"),
            false,
        ),
        (
            "another's dead letters",
            json!({}),
            rabbitmq("/", "asya-bank-dlx"),
            false,
        ),
        (
            "own dead letters",
            named.clone(),
            rabbitmq("shop", "asya-shop-dlx"),
            false,
        ),
        (
            "shared exchange, separated queues",
            separated.clone(),
            rabbitmq("/", "asya"),
            false,
        ),
        (
            "own exchange, separated queues",
            separated,
            rabbitmq("/", "asya-shop"),
            true,
        ),
        ("named vhost", named.clone(), rabbitmq("shop", "any"), true),
        (
            "vhost that is not named",
            named.clone(),
            rabbitmq("/", "any"),
            false,
        ),
        (
            "no region named",
            json!({"sqs": {}}),
            sqs("us-east-1"),
            false,
        ),
        ("named region", named.clone(), sqs("eu-west-1"), true),
        ("region that is not named", named, sqs("us-east-1"), false),
        ("a service of its own", local, sqs("us-east-1"), true),
    ];
    for (reason, spec, settings, expected) in cases {
        let settings = serde_json::from_value(settings).unwrap();
        let (labels, namespaces) = (BTreeMap::new(), BTreeSet::new());
        let queue = "asya-shop-cart";
        let found = check(
            "main",
            &config(spec),
            "shop",
            &labels,
            &namespaces,
            queue,
            &settings,
        );
        assert_eq!(found.is_ok(), expected, "{reason}: {found:?}");
    }
}

#[test]
fn namespaces_are_selected_by_labels() {
    let labels = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
    let cases = [
        ("no selector", json!({}), true, false),
        (
            "an empty one",
            json!({"allowedNamespaces": {}}),
            true,
            false,
        ),
        (
            "a label",
            json!({"allowedNamespaces": {"matchLabels": {"team": "red"}}}),
            true,
            true,
        ),
        (
            "another",
            json!({"allowedNamespaces": {"matchLabels": {"team": "blue"}}}),
            false,
            true,
        ),
        (
            "its name",
            json!({"allowedNamespaces": {"matchExpressions": [
                {"key": NAMESPACE_NAME, "operator": "In", "values": ["shop", "bank"]}]}}),
            true,
            false,
        ),
        (
            "not its name",
            json!({"allowedNamespaces": {"matchExpressions": [
                {"key": NAMESPACE_NAME, "operator": "NotIn", "values": ["shop"]}]}}),
            false,
            false,
        ),
        (
            "two conditions",
            json!({"allowedNamespaces": {"matchExpressions": [
                {"key": "team", "operator": "Exists"},
                {"key": "frozen", "operator": "DoesNotExist"}]}}),
            true,
            true,
        ),
    ];
    for (reason, spec, expected, needs) in cases {
        let spec = config(spec);
        assert_eq!(
            check(
                "main",
                &spec,
                "shop",
                &labels,
                &BTreeSet::new(),
                "q",
                &ForProvider::default()
            )
            .is_ok(),
            expected,
            "{reason}"
        );
        assert_eq!(needs_labels(&spec), needs, "{reason}");
    }
}

#[test]
fn a_refusal_contains_the_allowed_templates() {
    let spec = config(json!({"queueNames": ["asya-{namespace}-*"]}));
    let error = name_check(&spec, "shop", &[], "theirs").unwrap_err();
    assert_eq!(
        error.to_string(),
        "ClusterProviderConfig \"main\" does not allow the queue name \"theirs\" in namespace \
         \"shop\": names must match one of [\"asya-{namespace}-*\"]"
    );
}

#[test]
fn a_namespaced_config_reads_its_own_secrets() {
    let secret = |namespace: Option<&str>| SecretSelector {
        namespace: namespace.map(str::to_owned),
        name: "keys".to_owned(),
    };
    assert_eq!(own_secret("mine", "shop", &secret(None)), Ok("shop"));
    assert_eq!(
        own_secret("mine", "shop", &secret(Some("shop"))),
        Ok("shop")
    );
    assert!(own_secret("mine", "shop", &secret(Some("bank"))).is_err());
}
