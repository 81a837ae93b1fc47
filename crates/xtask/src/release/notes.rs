//! Release notes, out of the changelog.

/// The content below the heading `## <name>`, up to the next of its level. The heading may go on with
/// a date, as in `## 0.2.0 - 2026-12-01`, and may be in brackets, as for links.
pub(super) fn of(changelog: &str, name: &str) -> Option<String> {
    let is_heading = |line: &str| {
        line.strip_prefix("## ").is_some_and(|heading| {
            let title = heading.split(" - ").next().unwrap_or(heading).trim();
            title.trim_start_matches('[').trim_end_matches(']') == name
        })
    };
    let mut lines = changelog.lines().skip_while(|line| !is_heading(line));
    lines.next()?;
    let section: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(format!("{}\n", section.join("\n").trim()))
}

#[cfg(test)]
mod tests {
    use super::of;

    const CHANGELOG: &str = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 - 2026-12-01\n\n### Fixed\n\n- a bug\n\n## [0.1.0]\n\n- first\n";

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let cases = [
            ("Unreleased", Some("- new\n")),
            ("0.2.0", Some("### Fixed\n\n- a bug\n")),
            ("0.1.0", Some("- first\n")),
            ("0.3.0", None),
        ];
        for (name, expected) in cases {
            assert_eq!(of(CHANGELOG, name).as_deref(), expected, "{name}");
        }
    }
}
