//! One spelling for each number.
//!
//! Documents that travelled as a protobuf Struct hold nothing but doubles, the same documents
//! read from a file hold integers. Without one spelling for both, the output would depend on the
//! way the input came.

use serde_json::{Number, Value};

/// 2^53: every integral double up to here stands for exactly one integer.
const LARGEST_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A copy of `value` in which every integral number up to 2^53 is an integer, at any depth.
///
/// `-0.0` becomes `0`. Larger and fractional numbers stay as they are.
pub(crate) fn normalised(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(normalised_number(number)),
        Value::Array(items) => items.iter().map(normalised).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| (key.clone(), normalised(field)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}

fn normalised_number(number: &Number) -> Number {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(double) if double.fract() == 0.0 && double.abs() <= LARGEST_EXACT_INTEGER => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "integral, and far within the range of i64"
            )]
            let integer = double as i64;
            Number::from(integer)
        }
        _ => number.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::normalised;

    #[test]
    fn integral_numbers_up_to_two_to_the_53_are_written_as_integers() {
        for (input, expected, reason) in [
            (json!(3.0), "3", "an integral double is an integer"),
            (json!(3), "3", "an integer stays one"),
            (json!(-2.0), "-2", "negative ones too"),
            (json!(-0.0), "0", "there is one zero"),
            (json!(0.5), "0.5", "a fraction stays"),
            (
                json!(9_007_199_254_740_992.0),
                "9007199254740992",
                "2^53 is still exact",
            ),
            (
                json!(-9_007_199_254_740_992.0),
                "-9007199254740992",
                "and so is its negative",
            ),
            (
                json!(9_007_199_254_740_994.0),
                "9007199254740994.0",
                "2^53 + 2 is not touched",
            ),
            (
                json!(9_007_199_254_740_993_u64),
                "9007199254740993",
                "no integer is rounded",
            ),
            (
                json!(u64::MAX),
                "18446744073709551615",
                "an integer of any size stays",
            ),
            (json!(1e300), "1e+300", "a huge double stays"),
            (json!([{"a": [1.0]}]), r#"[{"a":[1]}]"#, "at any depth"),
        ] {
            assert_eq!(normalised(&input).to_string(), expected, "{reason}");
        }
    }
}
