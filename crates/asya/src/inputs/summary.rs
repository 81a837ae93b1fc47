//! Counts of the input, which every command prints at its end.

use std::fmt;

/// Number of objects by role, and of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Actors.
    pub actors: usize,
    /// Flavors.
    pub flavors: usize,
    /// Platform settings.
    pub platforms: usize,
    /// Observed composed objects.
    pub observed: usize,
    /// Cases for `asya test`.
    pub tests: usize,
    /// Objects without a role.
    pub others: usize,
    /// Files with objects.
    pub files: usize,
    /// Files without Kubernetes objects, in folders.
    pub skipped: usize,
    /// Files with the output of `render`, which is not read as input.
    pub rendered: usize,
}

impl Summary {
    /// The counts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            actors: self.actors + other.actors,
            flavors: self.flavors + other.flavors,
            platforms: self.platforms + other.platforms,
            observed: self.observed + other.observed,
            tests: self.tests + other.tests,
            others: self.others + other.others,
            files: self.files + other.files,
            skipped: self.skipped + other.skipped,
            rendered: self.rendered + other.rendered,
        }
    }
}

/// `3 actors, 2 flavors, 1 platform in 4 files`; roles without objects are left out.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.actors, "actor"),
            (self.flavors, "flavor"),
            (self.platforms, "platform"),
            (self.tests, "test"),
            (self.observed, "observed object"),
            (self.others, "other object"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, noun)| counted(count, noun)).collect();
        match counts.as_slice() {
            [] => f.write_str("no objects")?,
            counts => f.write_str(&counts.join(", "))?,
        }
        if self.files > 0 {
            write!(f, " in {}", counted(self.files, "file"))?;
        }
        if self.skipped > 0 {
            let files = counted(self.skipped, "file");
            write!(f, "; {files} without Kubernetes objects skipped")?;
        }
        if self.rendered > 0 {
            let files = counted(self.rendered, "file");
            write!(f, "; {files} with output of render skipped")?;
        }
        Ok(())
    }
}

fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_without_objects_are_left_out() {
        let mut summary = Summary {
            actors: 3,
            flavors: 2,
            platforms: 1,
            files: 4,
            ..Summary::default()
        };
        let text = "3 actors, 2 flavors, 1 platform in 4 files";
        assert_eq!(summary.to_string(), text);
        summary.skipped = 1;
        summary.rendered = 2;
        assert_eq!(
            summary.to_string(),
            format!(
                "{text}; 1 file without Kubernetes objects skipped; 2 files with output of render skipped"
            )
        );
        assert_eq!(Summary::default().to_string(), "no objects");
    }
}
