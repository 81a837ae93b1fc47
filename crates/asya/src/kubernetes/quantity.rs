//! Quantities as numbers, for comparisons.

use serde_json::Value;

/// The quantity in billionths, rounded up as Kubernetes rounds; none if the value is no quantity.
/// Values beyond what Kubernetes can hold are cut.
pub(super) fn billionths(value: &Value) -> Option<i128> {
    let text = actor::quantity::text(value).ok()?;
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(&text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, suffix) = digits.split_at(end.unwrap_or(digits.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // More digits than any quantity has would overflow.
    let whole: i128 = whole.get(..whole.len().min(24))?.parse().unwrap_or(0);
    let fraction = fraction.get(..fraction.len().min(12))?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let number = whole
        .saturating_mul(scale)
        .saturating_add(fraction.parse().unwrap_or(0));
    let (factor, divisor) = factor(suffix)?;
    let billionths = number.saturating_mul(1_000_000_000).saturating_mul(factor);
    let divisor = divisor.saturating_mul(scale);
    let rounded = billionths.saturating_add(divisor - 1) / divisor;
    Some(sign * rounded)
}

/// Returns the factor and the divisor of a suffix.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    let binary = |power: u32| Some((1_i128 << (10 * power), 1));
    let decimal = |power: i32| {
        let size = 10_i128.checked_pow(power.unsigned_abs().min(27))?;
        Some(if power < 0 { (1, size) } else { (size, 1) })
    };
    match suffix {
        "" => Some((1, 1)),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => decimal(exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_compared_by_what_they_amount_to() {
        let same = [
            (json!("1"), json!(1)),
            (json!("1000m"), json!("1")),
            (json!("0.5"), json!("500m")),
            (json!("1Gi"), json!("1024Mi")),
            (json!("1e3"), json!("1k")),
            (json!("2E"), json!("2e18")),
            (json!("1.5Gi"), json!("1536Mi")),
            (json!("-1"), json!("-1000m")),
        ];
        for (one, other) in same {
            assert_eq!(billionths(&one), billionths(&other), "{one} {other}");
        }
        assert!(billionths(&json!("1G")) < billionths(&json!("1Gi")));
        assert!(billionths(&json!("-1")) < Some(0));
        assert_eq!(billionths(&json!("lots")), None);
        assert!(billionths(&json!("1e999")).is_some());
    }
}
