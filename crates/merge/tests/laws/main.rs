//! The laws that the front page of the crate promises, on arbitrary documents.

mod arbitrary;
mod naive;

use std::collections::BTreeSet;

use merge::{
    Conflict, ConflictKind, Conflicts, FieldPath, Layer, Merged, Origin, Provenance, Segment,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use arbitrary::{document, layers, layers_without_conflicts, top, value};
use naive::normalised;

type Document = Map<String, Value>;

/// Merges documents under the names `0`, `1` and so on.
fn merge_all(layers: &[Document], top: Option<&Document>) -> Result<Merged, Conflicts> {
    let names: Vec<String> = (0..layers.len()).map(|index| index.to_string()).collect();
    let layers: Vec<Layer<'_>> = names
        .iter()
        .zip(layers)
        .map(|(name, document)| Layer { name, document })
        .collect();
    merge::documents(&layers, top, &[])
}

/// The position of the layer that [`merge_all`] called `name`.
fn position(name: &str) -> usize {
    name.parse().expect("layers are named by their position")
}

/// Value of `document` at `path`.
fn at<'a>(document: &'a Document, path: &FieldPath) -> Option<&'a Value> {
    let (first, rest) = path.segments().split_first()?;
    let Segment::Key(field) = first else {
        return None;
    };
    rest.iter()
        .try_fold(document.get(field)?, |value, segment| match segment {
            Segment::Key(key) => value.as_object()?.get(key),
            Segment::Index(index) => value.as_array()?.get(*index),
        })
}

/// Takes what is at `path`, which has keys only, out of `document`.
fn take_away(document: &mut Document, path: &FieldPath) {
    let keys: Vec<&str> = path
        .segments()
        .iter()
        .map(|segment| match segment {
            Segment::Key(key) => key.as_str(),
            Segment::Index(index) => unreachable!("{path} has the index {index}"),
        })
        .collect();
    let (last, parents) = keys.split_last().expect("a conflict is on a field");
    let parent = parents
        .iter()
        .try_fold(document, |fields, key| {
            fields.get_mut(*key)?.as_object_mut()
        })
        .expect("the second layer of a conflict has its path");
    parent.remove(*last);
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

proptest! {
    #[test]
    fn one_layer_is_itself_normalised(document in document()) {
        let merged = merge_all(std::slice::from_ref(&document), None)?;
        prop_assert_eq!(&Value::from(merged.document), &normalised(&Value::from(document.clone())));
        let expected: Document = document.keys().map(|key| (key.clone(), json!("0"))).collect();
        prop_assert_eq!(merged.provenance.to_json(), Value::from(expected));
    }

    #[test]
    fn a_top_alone_is_itself_normalised_less_its_nulls(top in document()) {
        let merged = merge_all(&[], Some(&top))?;
        let expected: Document = top.into_iter().filter(|(_, value)| !value.is_null()).collect();
        prop_assert_eq!(Value::from(merged.document), normalised(&Value::from(expected)));
        prop_assert_eq!(merged.provenance, Provenance::default());
    }

    #[test]
    fn an_empty_layer_changes_nothing(layers in layers(), at in any::<prop::sample::Index>()) {
        let names: Vec<String> = (0..layers.len()).map(|index| index.to_string()).collect();
        let mut named: Vec<Layer<'_>> =
            names.iter().zip(&layers).map(|(name, document)| Layer { name, document }).collect();
        let without = merge::documents(&named, None, &[]);
        let empty = Document::new();
        named.insert(at.index(named.len() + 1), Layer { name: "empty", document: &empty });
        prop_assert_eq!(merge::documents(&named, None, &[]), without);
    }

    #[test]
    fn the_result_is_that_of_a_naive_merge(layers in layers_without_conflicts(), top in top()) {
        let merged = merge_all(&layers, top.as_ref())?;
        prop_assert_eq!(merged.document, naive::merged(&layers, top.as_ref()));
    }

    #[test]
    fn the_same_arguments_give_the_same_bytes_and_are_not_changed(
        layers in layers(),
        top in top(),
    ) {
        let bytes = |result: Result<Merged, Conflicts>| match result {
            Ok(merged) => format!("{} {}", json!(merged.document), merged.provenance.to_json()),
            Err(conflicts) => conflicts.to_string(),
        };
        let copies = (layers.clone(), top.clone());
        let first = bytes(merge_all(&layers, top.as_ref()));
        prop_assert_eq!(&first, &bytes(merge_all(&layers, top.as_ref())));
        prop_assert_eq!(&first, &bytes(merge_all(&copies.0, copies.1.as_ref())));
        prop_assert_eq!((layers, top), copies);
    }

    #[test]
    fn every_leaf_has_exactly_one_origin_that_really_has_it(
        layers in layers_without_conflicts(),
        top in top(),
    ) {
        let Merged { document, provenance } = merge_all(&layers, top.as_ref())?;
        let leaves = provenance.leaves(&document);

        let paths: Vec<FieldPath> = leaves.iter().map(|(path, _)| path.clone()).collect();
        prop_assert_eq!(&paths, &naive::leaf_paths(&document));
        prop_assert!(paths.is_sorted());

        for (path, origin) in &leaves {
            prop_assert_eq!(provenance.of(path), Some(origin));
            // The index of an appended element is another in the layer, so up to the list only.
            let to_list: FieldPath = path
                .segments()
                .iter()
                .take_while(|segment| matches!(segment, Segment::Key(_)))
                .cloned()
                .collect();
            let giver = match origin {
                Origin::Layer(name) => &layers[position(name)],
                Origin::Top => top.as_ref().expect("without a top nothing comes from it"),
            };
            let given = at(giver, &to_list);
            if to_list == *path {
                prop_assert_eq!(given.map(normalised), at(&document, path).cloned());
            } else {
                prop_assert!(given.is_some_and(Value::is_array), "{}", path);
            }
        }
    }

    #[test]
    fn provenance_survives_its_journey_as_json(layers in layers_without_conflicts(), top in top()) {
        let merged = merge_all(&layers, top.as_ref())?;
        let json = merged.provenance.to_json();
        prop_assert_eq!(Provenance::from_json(&json), Some(merged.provenance));
    }

    #[test]
    fn any_json_is_read_as_a_provenance_or_refused(json in value()) {
        if let Some(provenance) = Provenance::from_json(&json) {
            prop_assert_eq!(Provenance::from_json(&provenance.to_json()), Some(provenance));
        }
        if let Some(path) = FieldPath::from_json(&json) {
            prop_assert_eq!(path.to_json(), json);
        }
    }

    #[test]
    fn any_document_has_each_leaf_once_under_any_provenance(json in value(), other in document()) {
        if let Some(provenance) = Provenance::from_json(&json) {
            let leaves = provenance.leaves(&other);
            let paths: Vec<FieldPath> = leaves.into_iter().map(|(path, _)| path).collect();
            prop_assert_eq!(paths, naive::leaf_paths(&other));
        }
    }

    #[test]
    fn layers_may_be_merged_in_groups(layers in layers(), at in any::<prop::sample::Index>()) {
        let (left, right) = layers.split_at(at.index(layers.len() + 1));
        let at_once = merge_all(&layers, None).ok().map(|merged| merged.document);
        let in_groups = merge_all(left, None).ok().zip(merge_all(right, None).ok()).and_then(
            |(left, right)| merge_all(&[left.document, right.document], None).ok(),
        );
        prop_assert_eq!(in_groups.map(|merged| merged.document), at_once);
    }

    #[test]
    fn documents_with_no_field_in_common_never_conflict(layers in layers()) {
        let mut apart: Vec<Document> = layers
            .into_iter()
            .enumerate()
            .map(|(index, layer)| {
                layer.into_iter().map(|(key, value)| (format!("{index} {key}"), value)).collect()
            })
            .collect();
        let forwards = merge_all(&apart, None)?.document;
        prop_assert_eq!(forwards.len(), apart.iter().map(Map::len).sum::<usize>());
        apart.reverse();
        prop_assert_eq!(merge_all(&apart, None)?.document, forwards);
    }

    #[test]
    fn every_conflict_exists_in_both_layers(layers in layers(), top in top()) {
        let Err(conflicts) = merge_all(&layers, top.as_ref()) else { return Ok(()) };
        for Conflict { path, first, second, kind } in &conflicts {
            let (first, second) = (position(first), position(second));
            prop_assert!(first < second, "{} before {}", first, second);
            let first = at(&layers[first], path).expect("the first layer has the path");
            let second = at(&layers[second], path).expect("the second layer has the path");
            let expected = if is_scalar(first) && is_scalar(second) {
                ConflictKind::SetTwice
            } else {
                ConflictKind::TypeMismatch { first: type_name(first), second: type_name(second) }
            };
            prop_assert_eq!(*kind, expected);

            let field = FieldPath::from(path.segments()[..1].to_vec());
            let replaced = top.as_ref().and_then(|top| at(top, &field));
            prop_assert!(replaced.is_none_or(Value::is_null), "the top settled {}", path);
        }
    }

    #[test]
    fn conflicts_are_sorted_and_unique(layers in layers()) {
        let Err(conflicts) = merge_all(&layers, None) else { return Ok(()) };
        let keys: Vec<_> = conflicts
            .iter()
            .map(|conflict| (conflict.path.clone(), position(&conflict.second)))
            .collect();
        prop_assert!(!keys.is_empty());
        prop_assert!(keys.is_sorted());
        prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }

    #[test]
    fn without_the_second_side_of_each_conflict_the_merge_succeeds(layers in layers()) {
        let mut fixed = layers.clone();
        if let Err(conflicts) = merge_all(&layers, None) {
            for conflict in &conflicts {
                take_away(&mut fixed[position(&conflict.second)], &conflict.path);
            }
        }
        prop_assert!(merge_all(&fixed, None).is_ok());
    }

    #[test]
    fn a_top_that_sets_every_field_settles_every_conflict(layers in layers(), value in value()) {
        let top: Document =
            layers.iter().flat_map(Map::keys).map(|key| (key.clone(), value.clone())).collect();
        prop_assume!(!value.is_null());
        let merged = merge_all(&layers, Some(&top))?;
        prop_assert_eq!(Value::from(merged.document), normalised(&Value::from(top)));
        prop_assert_eq!(merged.provenance, Provenance::default());
    }

    #[test]
    fn ignored_keys_keys_are_as_if_no_layer_had_them(layers in layers(), top in top()) {
        let named = |documents: &[Document], ignored_keys: &[&str]| {
            let layers: Vec<Layer<'_>> =
                documents.iter().map(|document| Layer { name: "same", document }).collect();
            merge::documents(&layers, top.as_ref(), ignored_keys)
        };
        let mut without = layers.clone();
        for layer in &mut without {
            layer.retain(|key, _| key != "a" && key != "b");
        }
        prop_assert_eq!(named(&layers, &["a", "b", "no such key"]), named(&without, &[]));
    }
}

#[test]
fn five_hundred_levels_of_nesting_are_merged() {
    let nested = |leaf: Value| {
        let mut document = leaf;
        for _ in 0..500 {
            document = Value::from(Document::from_iter([("deeper".to_owned(), document)]));
        }
        document.as_object().unwrap().clone()
    };
    let (left, right) = (
        nested(json!({"l": [1.0], "x": 1})),
        nested(json!({"l": [2.0]})),
    );

    let merged = merge_all(&[left.clone(), right.clone()], None).unwrap();
    assert_eq!(merged.document, nested(json!({"l": [1, 2], "x": 1})));
    let origins: Vec<_> = merged
        .provenance
        .leaves(&merged.document)
        .into_iter()
        .map(|(_, origin)| origin)
        .collect();
    let layer = |name: &str| Origin::Layer(name.to_owned());
    assert_eq!(origins, [layer("0"), layer("1"), layer("0")]);
    assert_eq!(
        Provenance::from_json(&merged.provenance.to_json()),
        Some(merged.provenance)
    );

    let conflicts = merge_all(&[left, nested(json!({"x": 2}))], None).unwrap_err();
    let lengths: Vec<_> = conflicts
        .iter()
        .map(|conflict| conflict.path.segments().len())
        .collect();
    assert_eq!(lengths, [501]);
}
