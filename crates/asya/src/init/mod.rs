//! A first actor with a flavor, the platform's settings and a case for `asya test`.
//!
//! Pure: [`crate::commands`] writes the files.

use actor::names::ActorName;

/// Values of the first actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Name of the actor.
    pub name: ActorName,
    /// Its namespace.
    pub namespace: String,
    /// Where its queue is.
    pub transport: Transport,
}

/// Queueing systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Transport {
    /// `RabbitMQ`
    #[default]
    Rabbitmq,
    /// Amazon SQS
    Sqs,
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// A short description of its content.
    pub holds: &'static str,
    /// Its text.
    pub text: String,
}

/// The flavor, which `asya install platform` has as its sample too.
const FLAVOR: &str = include_str!("../../../../install/flavors/small.yaml");

/// The files of a folder that every command of this program takes as it is.
pub fn files(first: &Project) -> Vec<File> {
    let platform = match first.transport {
        Transport::Rabbitmq => include_str!("platform-rabbitmq.yaml"),
        Transport::Sqs => include_str!("platform-sqs.yaml"),
    };
    let templates = [
        ("xr.yaml", "the actor", include_str!("xr.yaml")),
        ("flavors.yaml", "a flavor", FLAVOR),
        ("platform.yaml", "the platform's settings", platform),
        (
            "tests.yaml",
            "a case for asya test",
            include_str!("tests.yaml"),
        ),
    ];
    let module = first.name.as_str().replace('-', "_");
    templates
        .into_iter()
        .map(|(name, holds, template)| File {
            name,
            holds,
            text: template
                .replace(
                    "name: my-actor",
                    &format!("name: {}", scalar(first.name.as_str())),
                )
                .replace("my-namespace", &scalar(&first.namespace))
                .replace("my-actor", first.name.as_str())
                .replace("my_actor", &module),
        })
        .collect()
}

/// A name as YAML, in quotes where it would be read as something else.
pub(crate) fn scalar(name: &str) -> String {
    let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && actor::yaml::document(name).is_ok_and(|value| value == name)
        && !BARE_BOOLEANS.contains(&name);
    if is_word {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

/// Names that the tools of Kubernetes read as booleans.
const BARE_BOOLEANS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];
