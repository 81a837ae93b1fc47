//! Findings as SARIF 2.1.0, which code scanning services and editors read.

use std::collections::BTreeMap;

use actor::diagnostic::{Code, Severity};
use serde_json::{Map, Value, json};

use super::finding::{Finding, Place};

/// URL of the format's schema.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One run of the linter with all findings. A rule is a diagnostic code.
pub fn sarif(findings: &[Finding]) -> Value {
    let mut rules: BTreeMap<Code, usize> = BTreeMap::new();
    for finding in findings {
        rules.insert(finding.code, 0);
    }
    for (index, place) in rules.values_mut().enumerate() {
        *place = index;
    }
    let results = findings.iter().map(|finding| result(finding, &rules));
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "asya",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.keys().map(|code| rule(*code)).collect::<Value>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Value>(),
        }],
    })
}

fn rule(code: Code) -> Value {
    let entry = code.entry();
    json!({
        "id": code,
        "name": format!("{code:?}"),
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.cause},
        "help": {"text": format!("{} Example: {}", entry.fix, entry.example)},
    })
}

fn result(finding: &Finding, rules: &BTreeMap<Code, usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "ruleIndex": rules.get(&finding.code),
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "note",
        },
        "message": {"text": finding.text()},
        "locations": [location(&finding.place)],
    });
    if !finding.related.is_empty() {
        let related = finding.related.iter().map(location);
        result["relatedLocations"] = related.collect();
    }
    result
}

fn location(place: &Place) -> Value {
    let path = place.path.to_string();
    let mut location = Map::new();
    location.insert(
        "physicalLocation".to_owned(),
        json!({
            "artifactLocation": {"uri": uri(&place.file.display().to_string())},
            "region": {
                "startLine": place.position.line.max(1),
                "startColumn": place.position.column.max(1),
            },
        }),
    );
    if !path.is_empty() {
        let name = json!([{"fullyQualifiedName": path}]);
        location.insert("logicalLocations".to_owned(), name);
    }
    Value::Object(location)
}

/// The path as a URI reference: `/` between folders, other characters than those of RFC 3986 in
/// percent.
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.replace('\\', "/").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uri_references() {
        let cases = [
            ("actors/a.yaml", "actors/a.yaml"),
            ("a b,1.yaml", "a%20b%2C1.yaml"),
            ("ä.yaml", "%C3%A4.yaml"),
        ];
        for (path, expected) in cases {
            assert_eq!(uri(path), expected);
        }
    }
}
