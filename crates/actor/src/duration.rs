//! Go's duration notation, as actors write timeouts (`90s`, `1h30m`, `1.5m`).
//!
//! Follows the grammar of Go's `time.ParseDuration`: a sequence of decimal
//! numbers with units `ns`, `us`, `µs`, `ms`, `s`, `m`, `h`, less than 2^63
//! nanoseconds together. A lone `0` is allowed; days are not. Negative durations
//! make no sense here and are refused.

use std::time::Duration;

/// A text is not a Go duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a duration such as \"90s\", \"5m\" or \"1h30m\"")]
pub struct ParseDurationError {
    /// The text.
    pub text: String,
}

/// The micro sign is in Unicode twice, as itself and as the Greek letter.
const NANOS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a Go duration that is not negative.
pub fn parse(text: &str) -> Result<Duration, ParseDurationError> {
    parse_nanos(text)
        .filter(|nanos| i64::try_from(*nanos).is_ok())
        .map(Duration::from_nanos)
        .ok_or_else(|| ParseDurationError {
            text: text.to_owned(),
        })
}

/// Reads a Go duration or a whole number of seconds, as the sidecar does.
pub fn parse_or_seconds(text: &str) -> Result<Duration, ParseDurationError> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => parse(text),
    }
}

fn parse_nanos(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut nanos = 0_u64;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (digits, tail) = rest.split_at(number);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let scale = NANOS.iter().find(|(name, _)| *name == unit)?.1;
        nanos = nanos.checked_add(scaled(digits, scale)?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(nanos)
}

/// `digits`, a decimal number, times `scale`, in whole nanoseconds.
fn scaled(digits: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?
    };
    whole
        .checked_mul(scale)?
        .checked_add(scaled_fraction(fraction, scale))
}

/// The digits after the point times `scale`, rounded exactly as Go does, whose sidecar must not
/// see another timeout than the queue: 64-bit floats, of the digits that fit into 63 bits.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go rounds here, and the product is positive and less than an hour"
)]
fn scaled_fraction(fraction: &str, scale: u64) -> u64 {
    let (mut digits, mut power) = (0_u64, 1_f64);
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        let tens = digits.checked_mul(10);
        let next = tens.and_then(|tens| tens.checked_add(digit));
        let Some(next) = next.filter(|next| *next <= 1 << 63) else {
            break;
        };
        digits = next;
        power *= 10.0;
    }
    (digits as f64 * (scale as f64 / power)) as u64
}

/// Writes a duration the way people do: whole seconds as `300s`, and
/// milliseconds only where there are any.
pub fn format(duration: Duration) -> String {
    match duration.subsec_nanos() {
        0 => format!("{}s", duration.as_secs()),
        n if n % 1_000_000 == 0 => format!("{}ms", duration.as_millis()),
        _ => format!("{}ns", duration.as_nanos()),
    }
}

/// Whole seconds, rounded up: a limit derived from a timeout must not be
/// shorter than it.
pub fn seconds_up(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        const CASES: &[(&str, Option<u64>, &str)] = &[
            ("0", Some(0), "a lone zero needs no unit"),
            ("5s", Some(5_000_000_000), "seconds"),
            ("1h30m", Some(5_400_000_000_000), "several units"),
            ("1.5m", Some(90_000_000_000), "fractions"),
            (".5s", Some(500_000_000), "no digit before the point"),
            ("5.s", Some(5_000_000_000), "no digit after the point"),
            ("100ms", Some(100_000_000), "milliseconds are not minutes"),
            ("1\u{b5}s", Some(1_000), "the micro sign"),
            ("1\u{3bc}s", Some(1_000), "the Greek letter"),
            ("+2s", Some(2_000_000_000), "an explicit plus"),
            ("-2s", None, "negative makes no sense for a timeout"),
            ("2", None, "a unit is needed"),
            ("2d", None, "Go has no days"),
            ("", None, "nothing"),
            ("s", None, "a unit alone"),
            (".s", None, "a point alone"),
            ("1.2.3s", None, "two points"),
            ("1 s", None, "spaces"),
            (
                "9223372036854775807ns",
                Some(9_223_372_036_854_775_807),
                "the longest",
            ),
            ("9223372036854775808ns", None, "a nanosecond more"),
            ("99999999999h", None, "too long to hold"),
        ];
        for (text, nanos, reason) in CASES {
            let parsed = parse(text)
                .ok()
                .map(|d| u64::try_from(d.as_nanos()).unwrap());
            assert_eq!(parsed, *nanos, "{text:?}: {reason}");
        }
    }

    #[test]
    fn a_bare_number_is_seconds_where_the_sidecar_takes_it_so() {
        assert_eq!(parse_or_seconds("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_or_seconds("2m"), Ok(Duration::from_mins(2)));
        assert!(parse_or_seconds("soon").is_err());
    }

    #[test]
    fn limits_are_rounded_up_and_texts_read_back() {
        assert_eq!(seconds_up(Duration::from_millis(1500)), 2);
        for text in ["300s", "1500ms", "7ns"] {
            assert_eq!(format(parse(text).unwrap()), text);
        }
    }
}
