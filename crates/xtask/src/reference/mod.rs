//! `docs/reference/`: pages that are written from types, schemas, tables and command lines, so that
//! they cannot contradict the code.

mod command_line;
mod kinds;
mod page;
mod schema;
mod tables;

use std::path::Path;

use anyhow::Result;

/// Makes the content of a page; reads sources below the root only.
pub(crate) type Content = fn(root: &Path) -> Result<String>;

/// Every page, by path.
pub(crate) const PAGES: &[(&str, Content)] = &[
    ("docs/reference/README.md", |_| Ok(index())),
    ("docs/reference/actor.md", |_| kinds::actor()),
    ("docs/reference/cli.md", |_| Ok(command_line::asya())),
    ("docs/reference/conditions.md", |_| Ok(tables::conditions())),
    ("docs/reference/environment.md", |_| {
        Ok(tables::environment())
    }),
    ("docs/reference/flavors.md", |_| kinds::flavors()),
    ("docs/reference/inputs.md", |_| kinds::inputs()),
    ("docs/reference/metrics.md", tables::metrics),
    ("docs/reference/platform.md", |_| Ok(kinds::platform())),
    ("docs/reference/programs.md", command_line::programs),
    ("docs/reference/provider.md", |_| kinds::provider()),
];

/// The list of pages.
fn index() -> String {
    let mut page = page::Page::new("Reference");
    page.text("Written by `cargo xtask generate` from the types, schemas, tables and command lines of the code, and checked to be fresh by the test suite.");
    page.table(
        ["Page", "What is in it"],
        [
            ["[actor.md](actor.md)", "every field of an AsyncActor, the columns of `kubectl get`, the rules that the API server holds"],
            ["[flavors.md](flavors.md)", "what a flavor may set, and how it is merged"],
            ["[platform.md](platform.md)", "the platform's settings"],
            ["[provider.md](provider.md)", "Queue, WorkloadBinding, ActorHealth and the configs of the provider"],
            ["[inputs.md](inputs.md)", "inputs of the steps, for a Composition of your own"],
            ["[environment.md](environment.md)", "environment variables"],
            ["[metrics.md](metrics.md)", "metrics"],
            ["[conditions.md](conditions.md)", "words, conditions and their reasons"],
            ["[cli.md](cli.md)", "`asya` and `kubectl asya`"],
            ["[programs.md](programs.md)", "flags of the functions and of the provider"],
        ],
    );
    page.end()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_page_is_in_the_index() {
        let index = index();
        for (path, _) in PAGES {
            let name = Path::new(path).file_name().unwrap().to_str().unwrap();
            let is_listed = index.contains(&format!("[{name}]({name})"));
            assert!(is_listed || name == "README.md", "{path}");
        }
    }
}
