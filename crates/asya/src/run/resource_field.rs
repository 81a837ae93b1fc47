//! `resourceFieldRef`: a container's request or limit as a number.

use serde_json::Value;

/// The value that the kubelet would give the variable: the quantity divided by `divisor`, rounded up. A
/// limit that is not set is the machine's number of CPUs; other resources that are not set have none.
pub(super) fn value(reference: &Value, container: &Value) -> Option<String> {
    let path = reference["resource"].as_str()?;
    let (kind, resource) = path.split_once('.')?;
    let quantity = match &container["resources"][kind][resource] {
        Value::Null if path == "limits.cpu" => {
            let cpus = std::thread::available_parallelism().ok()?;
            number(&Value::from(cpus.get()))?
        }
        found => number(found)?,
    };
    let divisor = match &reference["divisor"] {
        Value::Null => 1.0,
        divisor => Some(number(divisor)?).filter(|it| *it > 0.0).unwrap_or(1.0),
    };
    Some(format!("{:.0}", (quantity / divisor).ceil()))
}

/// A quantity as a number.
fn number(quantity: &Value) -> Option<f64> {
    const SUFFIXES: [(&str, f64); 14] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
    ];
    let text = actor::quantity::text(quantity).ok()?;
    let suffix = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    match suffix {
        Some((digits, factor)) => Some(digits.parse::<f64>().ok()? * factor),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_divided_and_rounded_up() {
        let container = json!({"resources": {"limits": {"cpu": "1500m", "memory": "1Gi"},
            "requests": {"memory": 1000}}});
        let cases = [
            (json!({"resource": "limits.cpu"}), Some("2")),
            (
                json!({"resource": "limits.cpu", "divisor": "1m"}),
                Some("1500"),
            ),
            (
                json!({"resource": "limits.memory", "divisor": "1Mi"}),
                Some("1024"),
            ),
            (json!({"resource": "requests.memory"}), Some("1000")),
            (json!({"resource": "requests.cpu"}), None),
        ];
        for (reference, expected) in cases {
            assert_eq!(
                value(&reference, &container).as_deref(),
                expected,
                "{reference}"
            );
        }
    }
}
