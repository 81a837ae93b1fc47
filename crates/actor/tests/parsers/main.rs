//! Our parsers beside those of Kubernetes and Go: what they accept and which value they read, on
//! the texts of `cases` and on thousands that are made of them.
//!
//! `cargo xtask fuzz` makes as many as one likes. A text that was once read differently becomes a
//! case with its reason.

// The crate `real` is above this one, and its file stands for itself.
#[path = "../../../test-cluster/src/components.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    clippy::print_stdout,
    reason = "it is part of a library for tests"
)]
mod components;
mod reference;
mod texts;
mod yaml;

use actor::health::Time;
use actor::transport::RabbitMq;
use actor::{duration, names, quantity};
use proptest::prelude::*;
use serde_json::{Number, Value};

use components::is_skipped;

/// One of our parsers.
struct Parser {
    /// Name in the reference, and file of cases.
    name: &'static str,
    /// A text for the value that we read, which the reference reads too; none where we refuse.
    ours: fn(&str) -> Option<String>,
    /// Fragments from which texts are generated, both valid ones and near misses.
    fragments: &'static [&'static str],
    /// Texts that are refused on purpose.
    stricter: &'static [Difference],
}

/// Texts that the reference accepts and we do not.
struct Difference {
    covers: fn(&str) -> bool,
    reason: &'static str,
}

const QUANTITY: Parser = Parser {
    name: "quantity",
    ours: |text| quantity::text(&Value::from(text)).ok(),
    fragments: &[
        "0",
        "1",
        "5",
        "10",
        "999",
        "000",
        "18446744073709551616",
        ".",
        ".5",
        "+",
        "-",
        "n",
        "u",
        "m",
        "k",
        "M",
        "G",
        "T",
        "P",
        "E",
        "e",
        "K",
        "i",
        "Ki",
        "Mi",
        "Gi",
        "Ei",
        "e3",
        "E-2",
        "e+4",
        "B",
        " ",
        "_",
        "٣",
        "\u{2212}",
        "\n",
    ],
    stricter: &[
        Difference {
            covers: |text| {
                let unsigned = text.trim_start_matches(['+', '-']);
                !unsigned
                    .trim_start_matches('.')
                    .starts_with(|c: char| c.is_ascii_digit())
            },
            reason: "a number without a digit is a mistake; Kubernetes reads it as 0",
        },
        Difference {
            covers: |text| exponent(text).is_some_and(|digits| digits.len() > 3),
            reason: "Kubernetes cuts exponents to 32 bits, and is busy for minutes with large ones",
        },
    ],
};

const DURATION: Parser = Parser {
    name: "duration",
    ours: |text| Some(duration::format(duration::parse(text).ok()?)),
    fragments: &[
        "0",
        "1",
        "5",
        "30",
        "999",
        "000",
        "9223372036",
        "9223372036854775807",
        ".",
        ".5",
        ".333333333333333333333",
        "+",
        "-",
        "ns",
        "us",
        "\u{b5}s",
        "\u{3bc}s",
        "ms",
        "s",
        "m",
        "h",
        "d",
        "µ",
        "S",
        " ",
        "_",
        "e3",
        "٣",
        "\n",
    ],
    stricter: &[Difference {
        covers: |text| text.starts_with('-'),
        reason: "no timeout and no interval is negative",
    }],
};

const TIME: Parser = Parser {
    name: "time",
    ours: |text| Some(text.parse::<Time>().ok()?.to_string()),
    fragments: &[
        "2026-01-31T",
        "2024-02-29T",
        "12:00:00",
        "23:59:59",
        "Z",
        "2026",
        "1969",
        "2000",
        "0000",
        "-",
        "-02",
        "-28",
        "-29",
        "-31",
        "-13",
        "T",
        "t",
        " ",
        "00",
        "12",
        "23",
        "24",
        ":",
        ":59",
        ":60",
        ":0",
        ".",
        ".5",
        ".123456789",
        ",5",
        "Z",
        "z",
        "+01:00",
        "-00:00",
        "+",
        "٣",
        "\n",
    ],
    stricter: &[
        Difference {
            covers: |text| !text.ends_with('Z'),
            reason: "Kubernetes writes times in UTC",
        },
        Difference {
            covers: |text| text.contains(','),
            reason: "Kubernetes writes a point before the fraction; Go also reads a comma",
        },
        Difference {
            covers: |text| text.split('T').nth(1).and_then(|time| time.find(':')) == Some(1),
            reason: "Kubernetes writes two digits for the hour; Go also reads one",
        },
    ],
};

/// Characters of names, for each kind of name.
const OF_NAMES: &[&str] = &[
    "a",
    "z",
    "A",
    "Z",
    "0",
    "9",
    "-",
    ".",
    "_",
    "/",
    ":",
    " ",
    "--",
    "..",
    "ä",
    "\n",
    "\0",
    "text-processor",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
];

const LABEL: Parser = Parser {
    name: "label",
    ours: |text| names::is_label(text).then(|| text.to_owned()),
    fragments: OF_NAMES,
    stricter: &[],
};

const SUBDOMAIN: Parser = Parser {
    name: "subdomain",
    ours: |text| names::is_subdomain(text).then(|| text.to_owned()),
    fragments: OF_NAMES,
    stricter: &[],
};

const LABEL_VALUE: Parser = Parser {
    name: "label-value",
    ours: |text| names::is_label_value(text).then(|| text.to_owned()),
    fragments: OF_NAMES,
    stricter: &[Difference {
        covers: str::is_empty,
        reason: "what we put into a label says something",
    }],
};

/// The digits of a decimal exponent.
fn exponent(text: &str) -> Option<&str> {
    let (_, exponent) = text.split_once(['e', 'E'])?;
    Some(exponent.trim_start_matches(['+', '-']))
}

/// Holds our parser against the reference on all texts.
#[expect(
    clippy::print_stdout,
    reason = "how many texts were compared is what a long run is for"
)]
fn check(parser: &Parser) {
    if is_skipped(parser.name) {
        return;
    }
    let cases = texts::of_file(parser.name);
    let made = texts::made_of(&cases, parser.fragments);
    // The reference would be busy with an exponent of many digits as Kubernetes would be.
    let made = made
        .into_iter()
        .filter(|text| exponent(text).is_none_or(|digits| digits.len() < 5));
    let texts: Vec<String> = cases.iter().cloned().chain(made).collect();
    let read = texts.iter().map(|text| (parser.ours)(text));
    let ours: Vec<Option<String>> = read.collect();

    let expected = reference::values(parser.name, texts.iter().map(String::as_str));
    let accepted = ours.iter().flatten().map(String::as_str);
    let mut values = reference::values(parser.name, accepted).into_iter();
    let mut problems = Vec::new();
    let (mut alike, mut met) = ([0, 0], vec![false; parser.stricter.len()]);
    for (index, text) in texts.iter().enumerate() {
        let ours = ours[index].as_ref().map(|_| values.next().flatten());
        match (ours, &expected[index]) {
            (None, None) => alike[0] += 1,
            (Some(ours), expected) if ours == *expected => alike[1] += 1,
            (None, Some(_)) if parser.stricter.iter().any(|known| (known.covers)(text)) => {
                for (met, known) in met.iter_mut().zip(parser.stricter) {
                    *met |= index < cases.len() && (known.covers)(text);
                }
            }
            (ours, expected) => problems.push((text, ours, expected)),
        }
    }

    let some: Vec<_> = problems.iter().take(20).collect();
    let (count, name) = (problems.len(), parser.name);
    assert!(some.is_empty(), "{count} of {name} differ: {some:#?}");
    for (met, known) in met.iter().zip(parser.stricter) {
        assert!(met, "no case of {name} shows this: {}", known.reason);
    }
    let [refused, read] = alike;
    let texts = texts.len();
    println!("{name}: of {texts} texts {read} are read and {refused} refused by both");
    assert!(refused.min(read) > texts / 50, "too much of one kind");
}

#[test]
fn quantities_are_those_of_the_api_server() {
    check(&QUANTITY);
}

#[test]
fn durations_are_those_of_go() {
    check(&DURATION);
}

#[test]
fn times_are_those_that_kubernetes_writes() {
    check(&TIME);
}

#[test]
fn labels_are_those_of_the_api_server() {
    check(&LABEL);
}

#[test]
fn subdomains_are_those_of_the_api_server() {
    check(&SUBDOMAIN);
}

#[test]
fn label_values_are_those_of_the_api_server() {
    check(&LABEL_VALUE);
}

#[test]
fn numbers_are_written_as_the_quantities_that_the_api_server_reads() {
    if is_skipped("numbers") {
        return;
    }
    let float = any::<f64>().prop_filter_map("JSON has no such number", Number::from_f64);
    let decimal = (any::<i32>(), -12..12_i32)
        .prop_map(|(digits, power)| f64::from(digits) * 10_f64.powi(power))
        .prop_filter_map("JSON has no such number", Number::from_f64);
    let number = prop_oneof![
        float,
        decimal,
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
    ];
    let numbers = texts::some(&number);
    let json: Vec<String> = numbers.iter().map(Number::to_string).collect();
    let written: Vec<String> = numbers.iter().map(quantity::number_text).collect();
    let expected = reference::values("quantity", json.iter().map(String::as_str));
    let ours = reference::values("quantity", written.iter().map(String::as_str));
    for (index, json) in json.iter().enumerate() {
        assert!(expected[index].is_some(), "{json} is no quantity");
        // A double halfway between two shortest texts is written as either.
        let is_same = written[index].parse::<f64>() == json.parse::<f64>();
        let is_tie = numbers[index].is_f64() && is_same && ours[index].is_some();
        let found = &ours[index];
        assert!(
            is_tie || *found == expected[index],
            "{json} as {}: {found:?}",
            written[index]
        );
    }
}

#[test]
fn clients_find_the_virtual_host_in_a_url() {
    if is_skipped("virtual hosts") {
        return;
    }
    let of_file = texts::of_file("vhost").into_iter();
    let vhosts: Vec<String> = of_file.chain(texts::some(&any::<String>())).collect();
    let encoded: Vec<String> = vhosts
        .iter()
        .map(|vhost| {
            let vhost = Some(vhost.clone());
            let broker = RabbitMq {
                vhost,
                ..RabbitMq::default()
            };
            broker.encoded_vhost()
        })
        .collect();
    let found = reference::values("vhost", encoded.iter().map(String::as_str));
    for (index, vhost) in vhosts.iter().enumerate() {
        assert_eq!(found[index].as_ref(), Some(vhost), "{}", encoded[index]);
    }
}
