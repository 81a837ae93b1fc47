//! Where the words of a step point.
//!
//! A step names fields of the resolved spec, as people read them. Which document a
//! field stands in is what resolve-flavors has noted beside it.

use actor::spec::{ALIASES, KNOWN_FIELDS};
use merge::{FieldPath, Origin, Provenance, Segment};
use serde_json::Value;

use super::document::Document;

/// The documents that an actor is made of.
#[derive(Debug)]
pub(super) struct Places<'a> {
    pub(super) actor: &'a Document,
    /// The actor's flavors, in its order, as far as they are known.
    pub(super) flavors: Vec<&'a Document>,
    pub(super) platform: Option<&'a Document>,
    /// Who set which field of the resolved spec.
    pub(super) origins: Provenance,
}

impl<'a> Places<'a> {
    /// The document and field that a message is about; the actor itself where the
    /// message names none.
    pub(super) fn of(&self, message: &str) -> (&'a Document, FieldPath) {
        self.of_conflict(message)
            .or_else(|| self.of_flavor(message))
            .or_else(|| self.of_platform(message))
            .or_else(|| self.of_item(message))
            .or_else(|| self.of_name(message))
            .or_else(|| self.of_spec(message))
            .unwrap_or_else(|| (self.actor, FieldPath::default()))
    }

    /// Where a field of the resolved spec is written.
    pub(super) fn of_field(&self, path: &str) -> (&'a Document, FieldPath) {
        let keys = parse(path);
        match self.origins.of(&keys).and_then(Origin::layer) {
            Some(name) => match self.flavor(name) {
                Some(flavor) => (
                    flavor,
                    resolve(flavor, "data", &self.within_layer(&keys).to_string()),
                ),
                None => (self.actor, FieldPath::from(["spec"])),
            },
            None => (self.actor, resolve(self.actor, "spec", path)),
        }
    }

    /// The second flavor of a conflict: it sets the field again.
    fn of_conflict(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        let rest = message.strip_prefix("flavor merge conflict: flavors ")?;
        let (names, path) = rest.split_once(" conflict on ")?;
        let path = path.split(": type mismatch").next().unwrap_or(path);
        let (_, second) = names.split_once(" and ")?;
        let flavor = self.flavor(second.trim_matches('"'))?;
        Some((flavor, resolve(flavor, "data", path)))
    }

    /// `flavor "x": …`
    fn of_flavor(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        let rest = message.strip_prefix("flavor \"")?;
        let (name, fault) = rest.split_once("\": ")?;
        let flavor = self.flavor(name)?;
        let path = field_in(fault).unwrap_or_default();
        Some((flavor, resolve(flavor, "data", path)))
    }

    /// `EnvironmentConfig "x": data.…`, or a transport of the platform's.
    fn of_platform(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        let platform = self.platform?;
        if let Some(rest) = message.strip_prefix("EnvironmentConfig \"") {
            let (_, fault) = rest.split_once("\": ")?;
            let path = fault.split(": ").next()?.strip_prefix("data")?;
            let path = path.trim_start_matches('.');
            return Some((platform, resolve(platform, "data", path)));
        }
        let rest = message.strip_prefix("transport \"")?;
        let (name, _) = rest.split_once("\" is misconfigured in the platform's settings")?;
        let path = FieldPath::from(["data", "transports", name]);
        Some((platform, path))
    }

    /// `… "x" … by flavor "y" in env`, or `by the actor in env`; the last one that a
    /// message names. The item `x` of that field, where there is one.
    fn of_item(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        let of_flavor = message
            .rfind(" by flavor \"")
            .map(|at| (at, " by flavor \""));
        let of_actor = message
            .rfind(" by the actor in ")
            .map(|at| (at, " by the actor in "));
        let (at, words) = of_flavor.max(of_actor)?;
        let rest = &message[at + words.len()..];
        let (document, root, rest) = if Some((at, words)) == of_actor {
            (self.actor, "spec", rest)
        } else {
            let (name, rest) = rest.split_once("\" in ")?;
            (self.flavor(name)?, "data", rest)
        };
        let field = rest.split([')', ':', ',', ' ']).next()?;
        let path = resolve(document, root, field);
        let item = message.split('"').nth(1);
        let items = document.get(&[root, field]).and_then(Value::as_array);
        let index = items.and_then(|items| {
            let is_it = |value: &Value| item.is_some() && value.as_str() == item;
            items
                .iter()
                .position(|value| is_it(&value["name"]) || is_it(&value["mountPath"]))
        });
        let index = index.map(Segment::Index);
        let segments = path.segments().iter().cloned().chain(index);
        Some((document, segments.collect()))
    }

    /// A message on what is named after the actor.
    fn of_name(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        const SUBJECTS: [&str; 3] = ["actor \"", "queue name \"", "the object's name \""];
        let path = match self.actor.get(&["spec", "actor"]) {
            Some(_) => ["spec", "actor"],
            None => ["metadata", "name"],
        };
        let is_of_name = SUBJECTS.iter().any(|subject| message.starts_with(subject));
        is_of_name.then(|| (self.actor, path.into()))
    }

    fn of_spec(&self, message: &str) -> Option<(&'a Document, FieldPath)> {
        field_in(message).map(|path| self.of_field(path))
    }

    fn flavor(&self, name: &str) -> Option<&'a Document> {
        let mut flavors = self.flavors.iter();
        flavors.find(|flavor| flavor.object.name() == name).copied()
    }

    /// The path inside the layer that set it: lists of several layers are appended,
    /// so its index counts from the first item of the same layer.
    fn within_layer(&self, path: &FieldPath) -> FieldPath {
        let mut segments = path.segments().to_vec();
        let first = segments
            .iter()
            .enumerate()
            .find_map(|(at, segment)| match segment {
                Segment::Index(index) => Some((at, *index)),
                Segment::Key(_) => None,
            });
        if let Some((at, index)) = first {
            let origin_of = |index: usize| {
                let item = segments[..at].iter().cloned().chain([index.into()]);
                self.origins.of(&item.collect())
            };
            let own = origin_of(index);
            let before = (0..index).filter(|other| origin_of(*other) == own).count();
            segments[at] = Segment::Index(before);
        }
        segments.into()
    }
}

/// The first word of a message that is a field of a spec: it begins with `spec.`, or
/// leads from a field of the API to one inside it. Else a name of such a field that
/// is no word of everyday language.
fn field_in(message: &str) -> Option<&str> {
    let is_field = |word: &&str| {
        KNOWN_FIELDS.contains(word) && word.contains(|c: char| c.is_ascii_uppercase())
    };
    path_in(message).or_else(|| message.split(' ').find(is_field))
}

fn path_in(message: &str) -> Option<&str> {
    message.split(' ').find_map(|word| {
        let word = word.trim_matches(|c| "\"'(),;:.".contains(c));
        if let Some(path) = word.strip_prefix("spec.") {
            return Some(path);
        }
        let end = word.find(['.', '['])?;
        KNOWN_FIELDS.contains(&&word[..end]).then_some(word)
    })
}

/// The keys and indices of a path as it is shown, where no key has a dot.
fn parse(path: &str) -> FieldPath {
    path.split(['.', '['])
        .filter(|part| !part.is_empty())
        .map(|part| match part.strip_suffix(']') {
            Some(index) => index
                .parse()
                .map_or_else(|_| Segment::from(index), Segment::Index),
            None => Segment::from(part),
        })
        .collect()
}

/// The path below `root` of a document, as it is shown. Keys that are there are
/// found whole, whatever dots they have, and in the spelling that is there.
fn resolve(document: &Document, root: &str, path: &str) -> FieldPath {
    let mut segments = vec![Segment::from(root)];
    let mut value = document.object.get(&[root]);
    let mut rest = path;
    while let Some((segment, inner, tail)) = value.and_then(|value| step(value, rest)) {
        segments.push(segment);
        (value, rest) = (Some(inner), tail);
    }
    segments.extend(parse(rest).segments().iter().cloned());
    segments.into()
}

/// One step into a value, and what is left of the path.
fn step<'v, 'p>(value: &'v Value, path: &'p str) -> Option<(Segment, &'v Value, &'p str)> {
    match value {
        Value::Object(fields) => {
            let ends = |tail: &str| tail.is_empty() || tail.starts_with(['.', '[']);
            let strip = |key: &str| path.strip_prefix(key).filter(|tail| ends(tail));
            let whole = fields
                .iter()
                .filter_map(|(key, inner)| Some((key.as_str(), inner, strip(key)?)))
                .max_by_key(|(key, ..)| key.len());
            let aliased = || {
                ALIASES
                    .into_iter()
                    .find_map(|(alias, field)| Some((alias, fields.get(alias)?, strip(field)?)))
            };
            let (key, inner, tail) = whole.or_else(aliased)?;
            let tail = tail.strip_prefix('.').unwrap_or(tail);
            Some((Segment::from(key), inner, tail))
        }
        Value::Array(items) => {
            let (index, tail) = path.strip_prefix('[')?.split_once(']')?;
            let index: usize = index.parse().ok()?;
            let tail = tail.strip_prefix('.').unwrap_or(tail);
            Some((Segment::Index(index), items.get(index)?, tail))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::Object;
    use serde_json::json;

    fn document(text: &str) -> Document {
        let located = actor::yaml::located(text).unwrap().remove(0);
        let Value::Object(map) = located.value else {
            panic!("{text:?} is no map")
        };
        Document {
            file: "a.yaml".into(),
            object: Object::from(map),
            positions: located.positions,
            bare_keys: Vec::new(),
        }
    }

    #[test]
    fn messages_are_about_the_field_that_they_name_where_it_is_written() {
        let actor = document(
            "metadata: {name: a}\nspec: {env: [{name: A}], nodeSelector: {a.b/c: d}, scaling: {minReplicas: 1}}",
        );
        let gpu = document("metadata: {name: gpu}\ndata: {volumes: [{name: g}]}");
        let spot = document("metadata: {name: spot}\ndata: {volumes: [{name: s}, {name: t}]}");
        let platform = document("metadata: {name: asya-platform}\ndata: {transports: {q.1: {}}}");
        let data = |flavor: &Document| flavor.object.get(&["data"]).unwrap().clone();
        let (first, second) = (data(&gpu), data(&spot));
        let layer = |name, document: &'static Value| merge::Layer {
            name,
            document: document.as_object().unwrap(),
        };
        let (first, second) = (Box::leak(Box::new(first)), Box::leak(Box::new(second)));
        let merged = merge::documents(&[layer("gpu", first), layer("spot", second)], None, &[]);
        let places = Places {
            actor: &actor,
            flavors: vec![&gpu, &spot],
            platform: Some(&platform),
            origins: merged.unwrap().provenance,
        };
        let cases = [
            (
                "spec.env[0].name: wrong",
                "a",
                json!(["spec", "env", 0, "name"]),
                "the actor's",
            ),
            (
                "spec.image is not set: give it",
                "a",
                json!(["spec", "image"]),
                "a field that is missing",
            ),
            (
                "scaling.minReplicaCount 9 (the default) is above scaling.maxReplicaCount 1",
                "a",
                json!(["spec", "scaling", "minReplicas"]),
                "another spelling, without spec",
            ),
            (
                "spec.nodeSelector.a.b/c: wrong",
                "a",
                json!(["spec", "nodeSelector", "a.b/c"]),
                "a key with dots",
            ),
            (
                "spec.volumes[2]: wrong (set by flavor \"spot\")",
                "spot",
                json!(["data", "volumes", 1]),
                "the flavor's own index",
            ),
            (
                "flavor merge conflict: flavors \"gpu\" and \"spot\" conflict on volumes: type mismatch (list and map)",
                "spot",
                json!(["data", "volumes"]),
                "the flavor that sets it again",
            ),
            (
                "flavor \"gpu\": queue.adopt cannot come from a flavor",
                "gpu",
                json!(["data", "queue", "adopt"]),
                "a flavor by itself",
            ),
            (
                "EnvironmentConfig \"asya-platform\": data.transports: expected a map",
                "asya-platform",
                json!(["data", "transports"]),
                "the platform",
            ),
            (
                "transport \"q.1\" is misconfigured in the platform's settings: missing field `type`; it is the platform's default",
                "asya-platform",
                json!(["data", "transports", "q.1"]),
                "a transport",
            ),
            (
                "environment variable \"A\" (given by the actor in env) is set by Asya itself",
                "a",
                json!(["spec", "env", 0]),
                "an item by its name",
            ),
            (
                "volume \"t\" is given more than once, by flavor \"gpu\" in volumes and by flavor \"spot\" in volumes: keep one of them",
                "spot",
                json!(["data", "volumes", 1]),
                "the last of several",
            ),
            (
                "actor \"a\" has 53 characters",
                "a",
                json!(["metadata", "name"]),
                "the actor's name",
            ),
            ("something else", "a", json!([]), "no field"),
        ];
        for (message, name, path, reason) in cases {
            let (document, found) = places.of(message);
            assert_eq!(document.object.name(), name, "{reason}");
            assert_eq!(found.to_json(), path, "{reason}");
        }
    }
}
