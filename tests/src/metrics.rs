//! Metrics of a process, as a scraper gets them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

/// The text that is served there.
///
/// # Panics
/// When none is.
pub fn scrape(address: SocketAddr) -> String {
    let mut connection = TcpStream::connect(address).expect("metrics are served");
    // By HTTP/1.0 the answer comes in one piece: the lengths of pieces would stand in the middle of lines.
    let request = "GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n";
    connection
        .write_all(request.as_bytes())
        .expect("the request is sent");
    let mut text = String::new();
    connection
        .read_to_string(&mut text)
        .expect("the answer is read");
    text
}

/// The sum of a family's counters that have that label.
pub fn sum(text: &str, family: &str, label: &str) -> u64 {
    let counters = text.lines().filter(|line| {
        let rest = line.strip_prefix(family);
        rest.is_some_and(|rest| rest.starts_with('{') && rest.contains(label))
    });
    let count = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    let sum: f64 = counters.filter_map(count).sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count"
    )]
    let sum = sum as u64;
    sum
}

/// The sums of a family's counters by the value of a label, such as `verb`.
pub fn sums_by(text: &str, family: &str, label: &str) -> BTreeMap<String, u64> {
    let key = format!("{label}=\"");
    let values = text.lines().filter_map(|line| {
        let labels = line.strip_prefix(family)?.strip_prefix('{')?;
        let value = labels.split(key.as_str()).nth(1)?.split('"').next()?;
        Some(value.to_owned())
    });
    let values: BTreeSet<String> = values.collect();
    let sum_of = |value: String| {
        let sum = sum(text, family, &format!("{key}{value}\""));
        (value, sum)
    };
    values.into_iter().map(sum_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_one_family_and_label_are_added() {
        let text = "# TYPE calls_total counter\n\
            calls_total{to=\"a\",code=\"OK\"} 3\n\
            calls_total{to=\"a\",code=\"Unknown\"} 2\n\
            calls_total{to=\"b\",code=\"OK\"} 8\n\
            calls_total_seconds{to=\"a\"} 16\n";
        assert_eq!(sum(text, "calls_total", "to=\"a\""), 5);
        assert_eq!(sum(text, "others_total", "to=\"a\""), 0);
        let by_target = [("a".to_owned(), 5), ("b".to_owned(), 8)];
        assert_eq!(
            sums_by(text, "calls_total", "to"),
            BTreeMap::from(by_target)
        );
    }
}
