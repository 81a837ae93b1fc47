//! Texts to parse: those of the case files, and as many as one likes that are made of them.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// Least number of texts that are made; `PROPTEST_CASES` may ask for more.
const AT_LEAST: u32 = 5_000;

/// The texts of `cases/<name>.yaml`. Each has a reason to be there.
pub(crate) fn of_file(name: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/parsers/cases")
        .join(format!("{name}.yaml"));
    let document = fs::read_to_string(&file).expect("a file of cases");
    let document = actor::yaml::document(&document).expect("YAML");
    let cases = document["cases"].as_array().expect("a list of cases");
    let texts = cases.iter().map(|case| {
        let reason = case["reason"].as_str().unwrap_or_default();
        assert!(!reason.is_empty(), "{name}: {case} gives no reason");
        case["text"].as_str().expect("a case has a text").to_owned()
    });
    texts.collect()
}

/// Texts that are near those of a grammar: some of `cases` after a few edits, the others put
/// together of `fragments`. The same ones each time.
pub(crate) fn made_of(cases: &[String], fragments: &'static [&'static str]) -> Vec<String> {
    let fragment = || select(fragments);
    let edit = (any::<Index>(), 0..3_usize, prop::option::of(fragment()));
    let edited = (select(cases.to_vec()), vec(edit, 0..4)).prop_map(|(mut text, edits)| {
        for (place, removed, inserted) in edits {
            text = edited(&text, place, removed, inserted.unwrap_or_default());
        }
        text
    });
    let composed = vec(fragment(), 0..8).prop_map(|fragments| fragments.concat());
    some(&prop_oneof![edited, composed])
}

/// Some values of the strategy, the same ones each time.
pub(crate) fn some<S: Strategy>(strategy: &S) -> Vec<S::Value> {
    let mut runner = TestRunner::deterministic();
    let count = ProptestConfig::default().cases.max(AT_LEAST);
    (0..count)
        .map(|_| {
            let tree = strategy.new_tree(&mut runner);
            tree.expect("nothing is filtered out").current()
        })
        .collect()
}

/// The text with some characters at a place replaced.
fn edited(text: &str, place: Index, removed: usize, inserted: &str) -> String {
    let characters = text.chars().count();
    let place = place.index(characters + 1);
    let before = text.chars().take(place);
    let after = text.chars().skip(place + removed);
    before.chain(inserted.chars()).chain(after).collect()
}
