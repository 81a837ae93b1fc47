//! Kubernetes quantities (`500m`, `2`, `8Gi`, `1e3`).
//!
//! The grammar is the API server's (`apimachinery/pkg/api/resource`): a signed
//! decimal number with one of the suffixes `n u m k M G T P E`, `Ki Mi Gi Ti
//! Pi Ei`, or a decimal exponent. Only the form is checked and numbers are
//! written as texts; nothing is computed, so nothing is rounded.
//! Stricter than the API server in two places: there must be a digit, where it reads
//! `Gi` as 0, and an exponent has a bound, [`EXPONENT_MAX`].

use merge::FieldPath;
use serde_json::{Map, Number, Value};

/// A value is not a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not a quantity such as \"500m\", \"2\" or \"8Gi\"")]
pub struct ParseQuantityError {
    /// The value, as JSON.
    pub found: String,
}

const SUFFIXES: [&str; 16] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
];

/// Largest exponent, and with a minus the least. Kubernetes accepts any: it cuts them to
/// 32 bits, and computes `1e999999999` digit by digit, which keeps its API server and
/// scheduler busy for minutes. The largest quantity that it can hold is below `1e19`.
pub const EXPONENT_MAX: i16 = 999;

/// The quantity as the text that Kubernetes stores: `2` becomes `"2"`, `0.5`
/// becomes `"0.5"`, a valid text stays as it is.
pub fn text(value: &Value) -> Result<String, ParseQuantityError> {
    let text = match value {
        Value::String(text) if is_quantity(text) => Some(text.clone()),
        Value::Number(number) => Some(number_text(number)),
        _ => None,
    };
    text.ok_or_else(|| ParseQuantityError {
        found: value.to_string(),
    })
}

/// Writes the quantities of a ResourceRequirements as [`text`] does. `report` is called with what
/// is none, with its path from there, such as `limits.cpu`.
pub fn normalise(resources: &mut Map<String, Value>, mut problem: impl FnMut(FieldPath, String)) {
    for field in ["limits", "requests"] {
        match resources.get_mut(field) {
            None => {}
            Some(Value::Object(quantities)) => {
                for (name, value) in quantities {
                    match text(value) {
                        Ok(text) => *value = Value::String(text),
                        Err(error) => {
                            let path = FieldPath::from([field, name.as_str()]);
                            problem(path, error.to_string());
                        }
                    }
                }
            }
            Some(_) => problem(
                FieldPath::from([field]),
                "expected a map of quantities".to_owned(),
            ),
        }
    }
}

/// Adds missing requests of cpu and memory to a ResourceRequirements: one container of a
/// pod without a request breaks every autoscaler that counts in percent of requests.
/// A missing request is set to its own limit, since a request must not exceed it,
/// else to the request of `others`, else to that of `least`.
pub fn complete_requests(
    resources: &mut Map<String, Value>,
    others: Option<&Map<String, Value>>,
    least: [(&str, &str); 2],
) {
    let mut requests = match resources.remove("requests") {
        Some(Value::Object(requests)) => requests,
        _ => Map::new(),
    };
    let limits = resources.get("limits");
    let of_others = others.and_then(|others| others.get("requests"));
    for (name, least) in least {
        let fallback = [limits, of_others]
            .into_iter()
            .find_map(|quantities| text(quantities?.get(name)?).ok());
        requests
            .entry(name)
            .or_insert_with(|| Value::from(fallback.as_deref().unwrap_or(least)));
    }
    resources.insert("requests".to_owned(), Value::Object(requests));
}

/// A number as a plain decimal text: integral ones without a fraction.
pub fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => format!("{float}"),
        _ => number.to_string(),
    }
}

fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    is_decimal(digits) && (SUFFIXES.contains(&suffix) || is_exponent(suffix))
}

fn is_decimal(digits: &str) -> bool {
    digits.matches('.').count() <= 1 && digits.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_exponent(suffix: &str) -> bool {
    let power = suffix.strip_prefix(['e', 'E']);
    let power = power.and_then(|power| power.parse::<i16>().ok());
    power.is_some_and(|power| (-EXPONENT_MAX..=EXPONENT_MAX).contains(&power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_are_written_as_the_api_server_stores_them() {
        let cases = [
            (json!(2), Some("2"), "a number"),
            (json!(0.5), Some("0.5"), "a fraction"),
            (json!(3.0), Some("3"), "integral numbers lose the fraction"),
            (json!("500m"), Some("500m"), "milli"),
            (json!("8Gi"), Some("8Gi"), "binary"),
            (json!("1Ei"), Some("1Ei"), "exbi"),
            (json!("1E"), Some("1E"), "exa, not an exponent"),
            (json!("1e3"), Some("1e3"), "exponent"),
            (json!("1E-3"), Some("1E-3"), "negative exponent"),
            (json!(".5"), Some(".5"), "no digit before the point"),
            (
                json!("12345678901234567890"),
                Some("12345678901234567890"),
                "never through a float",
            ),
            (
                json!(u64::MAX),
                Some("18446744073709551615"),
                "nor is a number",
            ),
            (json!("1e+0999"), Some("1e+0999"), "the largest exponent"),
            (json!("1e1000"), None, "an exponent beyond it"),
            (json!("1e99999999999999999999"), None, "one beyond all"),
            (json!("1e+"), None, "an exponent without digits"),
            (json!("Gi"), None, "a suffix alone"),
            (json!("8 Gi"), None, "no spaces"),
            (json!("lots"), None, "no number"),
            (json!("1.2.3"), None, "two points"),
            (json!("5gb"), None, "unknown suffix"),
            (json!(""), None, "nothing"),
            (json!(true), None, "not a number or text"),
        ];
        for (value, expected, reason) in cases {
            assert_eq!(text(&value).ok().as_deref(), expected, "{value}: {reason}");
        }
    }

    #[test]
    fn resources_are_normalised_and_errors_have_their_path() {
        let mut resources = json!({
            "limits": {"cpu": 2, "memory": "lots"}, "requests": [], "claims": [{"name": 1}],
        });
        let mut problems = Vec::new();
        normalise(resources.as_object_mut().unwrap(), |path, _| {
            problems.push(path.to_string());
        });
        assert_eq!(problems, ["limits.memory", "requests"]);
        assert_eq!(resources["limits"]["cpu"], "2");
        assert_eq!(
            resources["claims"],
            json!([{"name": 1}]),
            "claims have no quantities"
        );
    }
}
