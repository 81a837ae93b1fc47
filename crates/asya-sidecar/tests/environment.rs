//! Environment variables of the program.

use std::collections::BTreeMap;
use std::process::Command;

use asya_sidecar::config::{Config, OtlpProtocol, PublishFrames, TransportConfig};

const VALID: &[(&str, &str)] = &[
    ("ASYA_ACTOR_NAME", "a"),
    ("ASYA_NAMESPACE", "shop"),
    ("ASYA_TRANSPORT", "rabbitmq"),
    ("ASYA_RABBITMQ_URL", "amqp://u:secret@mq:5672/%2F"),
];

fn environment(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let all = VALID.iter().chain(given);
    let mut environment: BTreeMap<String, String> = all
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    environment.retain(|_, value| value != "-");
    environment
}

fn read(given: &[(&str, &str)]) -> Result<Config, Vec<String>> {
    let environment = environment(given);
    let config = Config::read(&|name| environment.get(name).cloned());
    config.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

/// A name of one byte more than AMQP has room for.
const TOO_LONG: &str = match std::str::from_utf8(&[b'x'; 256]) {
    Ok(text) => text,
    Err(_) => "",
};

/// Variable, value, and how the problem begins.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "ASYA_ACTOR_NAME",
        "-",
        "ASYA_ACTOR_NAME is not set: expected the actor's name",
    ),
    (
        "ASYA_TRANSPORT",
        "kafka",
        "ASYA_TRANSPORT is \"kafka\": expected \"rabbitmq\" or \"sqs\"",
    ),
    (
        "ASYA_TRANSPORT",
        "-",
        "ASYA_TRANSPORT is not set: expected ",
    ),
    (
        "ASYA_RABBITMQ_URL",
        "http://secret",
        "ASYA_RABBITMQ_URL is ***: expected amqp[s]://",
    ),
    (
        "ASYA_GATEWAY_URL",
        "ftp://u:secret@gateway",
        "ASYA_GATEWAY_URL is ***: expected a URL",
    ),
    (
        "ASYA_RUNTIME_TIMEOUT",
        "soon",
        "ASYA_RUNTIME_TIMEOUT is \"soon\": expected a duration",
    ),
    (
        "ASYA_RUNTIME_TIMEOUT",
        "0s",
        "ASYA_RUNTIME_TIMEOUT is \"0s\": expected a duration",
    ),
    (
        "ASYA_PREFETCH",
        "0",
        "ASYA_PREFETCH is \"0\": expected a whole number from 1 to 1000",
    ),
    (
        "ASYA_PREFETCH",
        "many",
        "ASYA_PREFETCH is \"many\": expected a whole number",
    ),
    (
        "ASYA_PUBLISH_FRAMES",
        "now",
        "ASYA_PUBLISH_FRAMES is \"now\": expected one of ",
    ),
    (
        "ASYA_METRICS_ADDR",
        "9464",
        "ASYA_METRICS_ADDR is \"9464\": expected an address",
    ),
    (
        "ASYA_LOG_LEVEL",
        "loud",
        "ASYA_LOG_LEVEL is \"loud\": expected one of \"error\"",
    ),
    (
        "ASYA_IS_END_ACTOR",
        "perhaps",
        "ASYA_IS_END_ACTOR is \"perhaps\": expected one of ",
    ),
    (
        "ASYA_QUEUE_NAME_TEMPLATE",
        "asya",
        "ASYA_QUEUE_NAME_TEMPLATE is \"asya\": expected a name",
    ),
    (
        "ASYA_QUEUE_NAME_TEMPLATE",
        "{x}-{actor}",
        "ASYA_QUEUE_NAME_TEMPLATE is ",
    ),
    (
        "ASYA_RABBITMQ_RETRY_DELAYS",
        "5,1",
        "ASYA_RABBITMQ_RETRY_DELAYS is \"5,1\": expected ",
    ),
    (
        "ASYA_RABBITMQ_RETRY_DELAYS",
        "0,1",
        "ASYA_RABBITMQ_RETRY_DELAYS is \"0,1\": expected ",
    ),
    (
        "ASYA_RABBITMQ_CA_FILE",
        "/none",
        "ASYA_RABBITMQ_CA_FILE is \"/none\": expected a file",
    ),
    (
        "ASYA_RABBITMQ_CA_FILE",
        "/etc/hostname",
        "ASYA_RABBITMQ_CA_FILE is \"/etc/hostname\": expected a file with certificates",
    ),
    (
        "ASYA_ACTOR_NAME",
        "bad name!",
        "ASYA_ACTOR_NAME is \"bad name!\": expected letters",
    ),
    (
        "ASYA_QUEUE_NAME",
        "bad name",
        "ASYA_QUEUE_NAME is \"bad name\": expected the name",
    ),
    (
        "ASYA_SOCKET_DIR",
        "sockets",
        "ASYA_SOCKET_DIR is \"sockets\": expected an absolute path",
    ),
    (
        "ASYA_GATEWAY_URL",
        "gateway",
        "ASYA_GATEWAY_URL is \"gateway\": expected a URL",
    ),
    (
        "ASYA_QUEUE_RETRY_MAX_ATTEMPTS",
        "x",
        "ASYA_QUEUE_RETRY_MAX_ATTEMPTS is \"x\": expected ",
    ),
    ("ASYA_QUEUE_NAME", TOO_LONG, "ASYA_QUEUE_NAME is \"xxx"),
    (
        "ASYA_RABBITMQ_EXCHANGE",
        TOO_LONG,
        "ASYA_RABBITMQ_EXCHANGE is \"xxx",
    ),
    (
        "ASYA_RESILIENCY_RETRY_POLICY",
        "linear",
        "ASYA_RESILIENCY_RETRY_POLICY is \"linear\": ",
    ),
    (
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS",
        "-1",
        "ASYA_RESILIENCY_RETRY_MAX_ATTEMPTS is \"-1\": ",
    ),
    (
        "ASYA_RESILIENCY_RETRY_BACKOFF_COEFFICIENT",
        "0.5",
        "ASYA_RESILIENCY_RETRY_BACKOFF_",
    ),
    (
        "ASYA_RESILIENCY_POLICIES",
        "[]",
        "ASYA_RESILIENCY_POLICIES is \"[]\": expected a JSON",
    ),
    (
        "ASYA_RESILIENCY_POLICIES",
        r#"{"p": {"backoff": "cubic"}}"#,
        "ASYA_RESILIENCY_POLICIES is \"{\\\"p\\\": {\\\"backoff\\\": \\\"cubic\\\"}}\": expected in \"p\", backoff",
    ),
    (
        "ASYA_RESILIENCY_RULES",
        r#"[{"policy": "p"}]"#,
        "ASYA_RESILIENCY_RULES is ",
    ),
];

/// The same with transport SQS.
const REFUSED_ON_SQS: &[(&str, &str, &str)] = &[
    (
        "ASYA_AWS_REGION",
        "-",
        "ASYA_AWS_REGION is not set: expected an AWS region",
    ),
    (
        "ASYA_AWS_REGION",
        "not a region",
        "ASYA_AWS_REGION is \"not a region\": expected an AWS region",
    ),
    (
        "ASYA_ACTOR_NAME",
        "a.fifo",
        "ASYA_ACTOR_NAME is \"a.fifo\": expected a name whose queue is a standard one",
    ),
    (
        "ASYA_QUEUE_NAME",
        "q.fifo",
        "ASYA_QUEUE_NAME is \"q.fifo\": expected a standard queue",
    ),
    (
        "ASYA_QUEUE_URL",
        "http://h/1/q.fifo",
        "ASYA_QUEUE_URL is \"http://h/1/q.fifo\": expected a standard",
    ),
    (
        "ASYA_SQS_WAIT_TIME_SECONDS",
        "21",
        "ASYA_SQS_WAIT_TIME_SECONDS is \"21\": expected ",
    ),
    (
        "ASYA_SQS_VISIBILITY_TIMEOUT",
        "13h",
        "ASYA_SQS_VISIBILITY_TIMEOUT is \"13h\": expected ",
    ),
];

#[test]
fn invalid_values_are_refused_with_variable_value_and_allowed_values() {
    let sqs = [("ASYA_TRANSPORT", "sqs"), ("ASYA_AWS_REGION", "r")];
    for (name, value, expected) in REFUSED {
        let problems = read(&[(name, value)]).expect_err(name);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{}", problems[0]);
        assert!(!problems[0].contains("secret"), "{}", problems[0]);
    }
    for (name, value, expected) in REFUSED_ON_SQS {
        let problems = read(&[sqs[0], sqs[1], (name, value)]).expect_err(name);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(expected), "{}", problems[0]);
    }
}

#[test]
fn defaults_and_given_values_are_read() {
    let config = read(&[]).unwrap();
    assert_eq!(config.queues.own, "asya-a");
    assert_eq!(config.metrics_address.to_string(), "0.0.0.0:9464");
    assert_eq!(
        (config.worker.prefetch, config.worker.timeout.as_secs()),
        (1, 300)
    );
    assert_eq!(
        (&*config.worker.sink, &*config.worker.sump),
        ("x-sink", "x-sump")
    );
    assert_eq!(config.worker.retries.max_attempts(), 1);
    let config = read(&[
        ("ASYA_QUEUE_NAME", "own"),
        ("ASYA_QUEUE_NAME_TEMPLATE", "asya-{namespace}-{actor}"),
        ("ASYA_METRICS_ADDR", ":8080"),
        ("ASYA_PREFETCH", "8"),
        ("ASYA_PUBLISH_FRAMES", "eager"),
        ("ASYA_RUNTIME_TIMEOUT", "90"),
        ("ASYA_ACTOR_HAPPY_END", "happy-end"),
        ("ASYA_RABBITMQ_RETRY_DELAYS", "1, 5,30"),
        ("ASYA_RESILIENCY_RETRY_POLICY", "constant"),
        ("ASYA_QUEUE_RETRY_MAX_ATTEMPTS", "1"),
    ])
    .unwrap();
    assert_eq!(
        (&*config.queues.own, &*config.queues.of("b")),
        ("own", "asya-shop-b")
    );
    assert_eq!(config.metrics_address.to_string(), "0.0.0.0:8080");
    assert_eq!(
        (config.worker.prefetch, config.worker.timeout.as_secs()),
        (8, 90)
    );
    assert_eq!(config.worker.publish, PublishFrames::Eager);
    assert_eq!(config.worker.sink, "happy-end");
    assert_eq!(config.worker.retries.max_attempts(), 3);
    let TransportConfig::RabbitMq(rabbitmq) = &config.transport else {
        panic!("{:?}", config.transport);
    };
    assert_eq!(rabbitmq.retry_delays, [1, 5, 30]);
    assert!(!format!("{config:?}").contains("secret"));
}

#[test]
fn the_url_of_rabbitmq_is_built_of_its_parts() {
    let config = read(&[
        ("ASYA_RABBITMQ_URL", "-"),
        ("ASYA_RABBITMQ_HOST", "mq"),
        ("ASYA_RABBITMQ_TLS", "true"),
        ("ASYA_RABBITMQ_USERNAME", "us er"),
        ("ASYA_RABBITMQ_PASSWORD", "p@ss/w"),
    ])
    .unwrap();
    let TransportConfig::RabbitMq(rabbitmq) = &config.transport else {
        panic!("{:?}", config.transport);
    };
    assert_eq!(rabbitmq.url, "amqps://us%20er:p%40ss%2Fw@mq:5671/%2F");
}

#[test]
fn a_login_that_the_kubelet_put_into_the_url_is_encoded() {
    let config = read(&[
        ("ASYA_RABBITMQ_URL", "amqp://us er:p@ss/w@mq:5672/%2F"),
        ("ASYA_RABBITMQ_USERNAME", "us er"),
        ("ASYA_RABBITMQ_PASSWORD", "p@ss/w"),
    ])
    .unwrap();
    let TransportConfig::RabbitMq(rabbitmq) = &config.transport else {
        panic!("{:?}", config.transport);
    };
    assert_eq!(rabbitmq.url, "amqp://us%20er:p%40ss%2Fw@mq:5672/%2F");
}

#[test]
fn the_standard_variables_decide_whether_spans_are_exported() {
    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
    let protocol = |given: &[(&str, &str)]| {
        let given = [&[ENDPOINT], given].concat();
        read(&given).map(|config| config.traces.map(|traces| traces.protocol))
    };
    assert_eq!(read(&[]).unwrap().traces, None);
    let cases = [
        (&[][..], Some(OtlpProtocol::HttpProtobuf), "the default"),
        (
            &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")][..],
            Some(OtlpProtocol::Grpc),
            "grpc",
        ),
        (
            &[
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
            ][..],
            Some(OtlpProtocol::HttpProtobuf),
            "that of spans wins",
        ),
        (&[("OTEL_SDK_DISABLED", "true")][..], None, "turned off"),
        (&[("OTEL_TRACES_EXPORTER", "none")][..], None, "no exporter"),
    ];
    for (given, expected, reason) in cases {
        assert_eq!(protocol(given).unwrap(), expected, "{reason}");
    }
    let problems = protocol(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("OTEL_EXPORTER_OTLP_PROTOCOL is \"http/json\": expected one of"),
        "{problems:?}"
    );
}

#[test]
fn the_program_exits_with_2_and_reports_every_problem() {
    let output = Command::new(env!("CARGO_BIN_EXE_asya-sidecar"))
        .env_clear()
        .envs(environment(&[
            ("ASYA_PREFETCH", "x"),
            ("ASYA_LOG_LEVEL", "y"),
        ]))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!(lines.len(), 2, "{errors}");
    assert!(errors.contains("ASYA_PREFETCH is \"x\"") && errors.contains("ASYA_LOG_LEVEL"));
}
