//! Positional arguments, by what they hold.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::InputError;
use super::example::Example;
use super::files::{Files, yaml_files};
use pipeline::{COMPOSITION, Object};

/// The positional arguments by their roles.
#[derive(Debug, Default)]
pub(super) struct Positional<'a> {
    pub(super) xrs: Vec<Xr<'a>>,
    pub(super) composition: Option<(PathBuf, Object)>,
    /// Name of each Function and the package that it installs.
    pub(super) functions: BTreeMap<String, String>,
}

/// An XR and where it stands.
#[derive(Debug)]
pub(super) struct Xr<'a> {
    pub(super) file: PathBuf,
    pub(super) object: Object,
    pub(super) example: Option<Example<'a>>,
}

impl<'a> Positional<'a> {
    /// Reads the files, and asks each object what it is.
    pub(super) fn read(paths: &'a [PathBuf], files: &mut Files) -> Result<Self, InputError> {
        let mut positional = Self::default();
        for path in paths {
            let example = Example::at(path);
            let found = match &example {
                Some(example) => vec![example.xr()],
                None => yaml_files(path)?,
            };
            for file in found {
                for object in files.objects_of(&file)? {
                    positional.take(file.clone(), object, example.clone())?;
                }
            }
        }
        Ok(positional)
    }

    fn take(
        &mut self,
        file: PathBuf,
        object: Object,
        example: Option<Example<'a>>,
    ) -> Result<(), InputError> {
        if (object.api_version(), object.kind()) == COMPOSITION {
            if let Some((_, first)) = &self.composition {
                return Err(InputError::SeveralCompositions {
                    first: first.name().to_owned(),
                    second: object.name().to_owned(),
                });
            }
            self.composition = Some((file, object));
        } else if object.kind() == "Function"
            && object.api_version().starts_with("pkg.crossplane.io/")
        {
            let package = object.get(&["spec", "package"]).and_then(Value::as_str);
            let package = package.unwrap_or_default().to_owned();
            self.functions.insert(object.name().to_owned(), package);
        } else {
            self.xrs.push(Xr {
                file,
                object,
                example,
            });
        }
        Ok(())
    }
}
