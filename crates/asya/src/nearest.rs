//! Suggestions for misspelt names.

/// Returns the most similar name by optimal string alignment distance: at most a third of the letters
/// may differ. Upper and lower case count as the same letter.
pub(crate) fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = key.to_lowercase();
    let allowed = (written.chars().count() / 3).max(1);
    known
        .map(|name| (strsim::osa_distance(&written, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let spec = actor::schema::spec();
        let known = spec["properties"].as_object().unwrap();
        let cases = [
            ("handlr", Some("handler"), "a letter missing"),
            ("sclaing", Some("scaling"), "two letters swapped"),
            ("Image", Some("image"), "upper case"),
            ("stateProxies", Some("stateProxy"), "a plural"),
            ("toleration", Some("tolerations"), "a singular"),
            ("gpuCount", None, "nothing like it"),
            ("x", None, "too short to tell"),
        ];
        for (key, expected, reason) in cases {
            assert_eq!(
                nearest(key, known.keys().map(String::as_str)),
                expected,
                "{key}: {reason}"
            );
        }
    }
}
