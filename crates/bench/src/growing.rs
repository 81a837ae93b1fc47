//! Actors and documents that grow in one dimension, to see what the work on them grows by.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use function_proto::v1::RunFunctionRequest;
use merge::Layer;
use serde_json::{Map, Value, json};

use crate::actors::{self, Size, Written};
use crate::requests::{Requests, STEPS, Step};

/// Input that grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Flavors of the same size, none of which sets what another sets.
    Flavors,
    /// Environment variables of the actor.
    Variables,
    /// Items of a list that two flavors give, half of them each.
    Items,
    /// Keys of a map that two flavors give, half of them each.
    Keys,
}

/// Program that works on the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// The merge of the flavors with the actor.
    Merge,
    /// The six steps, each on its request for a live actor.
    Pipeline,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Operation.
    pub work: Work,
    /// Items whose number grows.
    pub dimension: Dimension,
    /// Size of the dimension.
    pub size: usize,
}

impl Dimension {
    /// In the order of the tables.
    pub const ALL: [Self; 4] = [Self::Flavors, Self::Variables, Self::Items, Self::Keys];

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flavors => "flavors",
            Self::Variables => "variables",
            Self::Items => "items of a list",
            Self::Keys => "keys of a map",
        }
    }

    /// The sizes of a curve, each twice the one before. An actor names at most
    /// [`names::FLAVORS_MAX`](actor::names::FLAVORS_MAX) flavors; the merge takes more.
    pub fn sizes(self, work: Work) -> impl Iterator<Item = usize> {
        let (first, last) = match (self, work) {
            (Self::Flavors, Work::Merge) => (1, 64),
            (Self::Flavors, Work::Pipeline) => (1, actor::names::FLAVORS_MAX),
            (Self::Variables | Self::Items | Self::Keys, _) => (10, 2_560),
        };
        std::iter::successors(Some(first), |size| Some(size * 2)).take_while(move |n| *n <= last)
    }
}

impl Work {
    /// In the order of the tables.
    pub const ALL: [Self; 2] = [Self::Merge, Self::Pipeline];

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "the merge",
            Self::Pipeline => "the six steps",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            work,
            dimension,
            size,
        } = self;
        write!(f, "{}: {size} {}", work.name(), dimension.name())
    }
}

impl FromStr for Point {
    type Err = String;

    /// Reads what [`Display`](fmt::Display) writes.
    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (work, rest) = text.split_once(": ")?;
            let (size, dimension) = rest.split_once(' ')?;
            let mut works = Work::ALL.into_iter();
            let mut dimensions = Dimension::ALL.into_iter();
            Some(Self {
                work: works.find(|known| known.name() == work)?,
                dimension: dimensions.find(|known| known.name() == dimension)?,
                size: size.parse().ok()?,
            })
        };
        read().ok_or_else(|| format!("{text:?} is not a point of a curve"))
    }
}

impl Point {
    /// Prepares the work, then does it so often.
    ///
    /// # Errors
    /// When the actor is none that the steps accept, or its flavors conflict.
    pub fn repeat(self, times: usize) -> Result<(), String> {
        let written = written(self.dimension, self.size);
        match self.work {
            Work::Merge => merge_again(&written, times),
            Work::Pipeline => run_again(written, times),
        }
    }
}

fn merge_again(written: &Written, times: usize) -> Result<(), String> {
    let nothing = Map::new();
    // The first is the platform's.
    let flavors = written.environment_configs.iter().skip(1);
    let layers: Vec<Layer<'_>> = flavors
        .map(|flavor| Layer {
            name: flavor["metadata"]["name"].as_str().unwrap_or_default(),
            document: flavor["data"].as_object().unwrap_or(&nothing),
        })
        .collect();
    let top = written.xr["spec"].as_object();
    for _ in 0..times {
        let merged = merge::documents(black_box(&layers), top, &["actor", "flavors"]);
        black_box(merged).map_err(|conflicts| conflicts.to_string())?;
    }
    Ok(())
}

fn run_again(written: Written, times: usize) -> Result<(), String> {
    let recorded = Requests::of_live(written)?;
    let steps: Vec<(Step, RunFunctionRequest)> = STEPS
        .iter()
        .map(|(_, step)| *step)
        .zip(recorded.steps)
        .collect();
    for _ in 0..times {
        for (step, request) in &steps {
            black_box(step(black_box(request.clone())));
        }
    }
    Ok(())
}

/// An actor with so much of one thing, and a realistic amount of all others.
fn written(dimension: Dimension, size: usize) -> Written {
    let realistic = actors::written(Size::Realistic);
    match dimension {
        Dimension::Flavors => {
            // From the fourth on they are alike.
            let flavors =
                (3..3 + size).map(|index| (actors::flavor_name(index), actors::flavor(index)));
            with_flavors(realistic, flavors.collect())
        }
        Dimension::Variables => {
            let mut written = realistic;
            written.xr["spec"]["env"] = (0..size).map(actors::variable).collect();
            written
        }
        Dimension::Items => {
            let item = |index| json!({"key": format!("pool-{index}"), "operator": "Exists"});
            let flavors = halves(size).map(|(name, half)| {
                let items: Value = half.map(item).collect();
                (name, json!({"tolerations": items}))
            });
            with_flavors(realistic, flavors.into())
        }
        Dimension::Keys => {
            let key = |index| (format!("example.com/feature-{index}"), json!("true"));
            let flavors = halves(size).map(|(name, half)| {
                let keys: Map<String, Value> = half.map(key).collect();
                (name, json!({"nodeSelector": keys}))
            });
            with_flavors(realistic, flavors.into())
        }
    }
}

/// Two names, and the numbers below `size` shared between them.
fn halves(size: usize) -> [(String, std::ops::Range<usize>); 2] {
    [
        ("first-half".to_owned(), 0..size / 2),
        ("second-half".to_owned(), size / 2..size),
    ]
}

fn with_flavors(mut written: Written, flavors: Vec<(String, Value)>) -> Written {
    written.environment_configs.truncate(1);
    for (name, data) in &flavors {
        let flavor = actors::environment_config(name, data);
        written.environment_configs.push(flavor);
    }
    written.xr["spec"]["flavors"] = flavors.into_iter().map(|(name, _)| name).collect();
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_begins_with_work_that_succeeds_and_doubles() {
        for work in Work::ALL {
            for dimension in Dimension::ALL {
                let sizes: Vec<usize> = dimension.sizes(work).collect();
                assert!(sizes.len() > 3, "{dimension:?}");
                assert!(sizes.windows(2).all(|pair| pair[1] == 2 * pair[0]));
                let size = sizes[2];
                let point = Point {
                    work,
                    dimension,
                    size,
                };
                assert_eq!(point.repeat(1), Ok(()), "{point}");
                assert_eq!(point.to_string().parse(), Ok(point));
            }
        }
    }

    #[test]
    fn grown_input_is_part_of_the_actor() {
        let count = |dimension, pointer: &str| -> usize {
            let recorded = Requests::of_live(written(dimension, 8)).unwrap();
            // What the second step gets is merged.
            let desired = recorded.steps[1].desired.as_ref().unwrap();
            let xr = desired
                .composite
                .as_ref()
                .unwrap()
                .resource
                .as_ref()
                .unwrap();
            let xr = function_kit::value::struct_to_json(xr);
            match xr.pointer(pointer) {
                Some(Value::Array(list)) => list.len(),
                Some(Value::Object(map)) => map.len(),
                other => unreachable!("{other:?}"),
            }
        };
        assert_eq!(count(Dimension::Flavors, "/spec/volumes"), 8);
        assert_eq!(count(Dimension::Variables, "/spec/env"), 8);
        assert_eq!(count(Dimension::Items, "/spec/tolerations"), 8);
        assert_eq!(count(Dimension::Keys, "/spec/nodeSelector"), 8);
    }
}
