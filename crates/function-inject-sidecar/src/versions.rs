//! The released runtime scripts, each of them embedded for good: a newer function
//! must be able to leave running pods as they are.

use std::sync::LazyLock;

use crate::runtime_script::Script;

macro_rules! released {
    ($($version:literal),+ $(,)?) => {
        [$((
            $version,
            include_str!(concat!(
                "../../../runtime/versions/", $version, "/asya_runtime.py"
            )),
            state_files($version),
        )),+]
    };
}

macro_rules! state_files_of {
    ($version:literal) => {
        &[
            (
                "asya_state_client.py",
                include_str!(concat!(
                    "../../../runtime/versions/",
                    $version,
                    "/asya_state_client.py"
                )),
            ),
            (
                "asya_state_files.py",
                include_str!(concat!(
                    "../../../runtime/versions/",
                    $version,
                    "/asya_state_files.py"
                )),
            ),
            (
                "asya_state_proxy.py",
                include_str!(concat!(
                    "../../../runtime/versions/",
                    $version,
                    "/asya_state_proxy.py"
                )),
            ),
        ]
    };
}

/// The modules for state proxies of a version; 0.1.0 has none.
fn state_files(version: &str) -> &'static [(&'static str, &'static str)] {
    match version {
        "0.2.0" => state_files_of!("0.2.0"),
        _ => &[],
    }
}

/// Versions with their scripts, oldest first; a test holds the list against the
/// folder `runtime/versions`.
static RELEASED: LazyLock<Vec<(&str, Script)>> = LazyLock::new(|| {
    released!["0.1.0", "0.2.0"]
        .map(|(version, text, files)| (version, Script::with_modules(text, files)))
        .into()
});

/// The script of a version, or the newest.
pub(crate) fn script(version: Option<&str>) -> Option<&'static Script> {
    let mut released = RELEASED.iter();
    match version {
        None => released.next_back(),
        Some(version) => released.find(|(released, _)| *released == version),
    }
    .map(|(_, script)| script)
}

/// All versions, oldest first.
pub(crate) fn all() -> Vec<&'static str> {
    RELEASED.iter().map(|(version, _)| *version).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(version: &str) -> Vec<u32> {
        version
            .split('.')
            .map(|part| part.parse().unwrap())
            .collect()
    }

    #[test]
    fn every_released_script_is_embedded_oldest_first() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime/versions");
        let mut in_folder: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        in_folder.sort_by_key(|version| numbers(version));
        assert_eq!(all(), in_folder);
    }

    #[test]
    fn the_newest_is_meant_unless_a_version_is_named() {
        let newest = all().pop();
        assert_eq!(script(None), script(newest));
        assert_eq!(script(Some("0.0.0")), None);
    }
}
