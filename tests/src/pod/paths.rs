//! Paths of a container, moved to where the rig keeps its volumes.

use std::collections::BTreeMap;

/// Paths of the rig's folders that are mounted, by path in the container.
pub(super) type Mounts = BTreeMap<String, String>;

/// The text with each path of a mount, or below it, in its place on this machine.
pub(super) fn moved(text: &str, mounts: &Mounts) -> String {
    let mut moved = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let begins = moved.chars().last().is_none_or(|last| !is_of_path(last));
        // The longest first: a mount may lie in another.
        let mount = mounts.iter().rev().find(|(path, _)| {
            let after = rest.strip_prefix(path.as_str());
            begins && after.is_some_and(ends_name)
        });
        if let Some((path, place)) = mount {
            moved.push_str(place);
            rest = &rest[path.len()..];
        } else {
            moved.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    moved
}

fn is_of_path(character: char) -> bool {
    character.is_alphanumeric() || "/._-".contains(character)
}

/// Returns whether a name of a path does not go on here.
fn ends_name(rest: &str) -> bool {
    rest.chars()
        .next()
        .is_none_or(|next| next == '/' || !is_of_path(next))
}

#[cfg(test)]
mod tests {
    use super::{Mounts, moved};

    #[test]
    fn paths_of_mounts_are_moved_and_nothing_else() {
        let mounts: Mounts = [("/tmp", "/x/tmp"), ("/run/a", "/x/a"), ("/run/a/b", "/x/b")]
            .map(|(path, place)| (path.to_owned(), place.to_owned()))
            .into();
        let cases = [
            ("a mount itself", "/tmp", "/x/tmp"),
            ("below a mount", "/run/a/file", "/x/a/file"),
            ("a mount in a mount", "/run/a/b/file", "/x/b/file"),
            (
                "inside a shell's command",
                "test -S /run/a/s && test -f '/tmp/f'",
                "test -S /x/a/s && test -f '/x/tmp/f'",
            ),
            ("another folder of a longer name", "/tmpfiles", "/tmpfiles"),
            ("the end of another path", "/var/tmp", "/var/tmp"),
            (
                "what was moved is not moved again",
                "/tmp:/tmp",
                "/x/tmp:/x/tmp",
            ),
            ("no path", "a handler", "a handler"),
        ];
        for (reason, text, expected) in cases {
            assert_eq!(moved(text, &mounts), expected, "{reason}");
        }
    }
}
