//! A first actor with its handler, a flavor, the platform's settings, a case for `asya test`, the schema
//! for editors and a workflow that checks it all.
//!
//! Pure: [`crate::commands`] writes the files.

use actor::names::ActorName;

use crate::schema;

/// Values of the first actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Name of the actor.
    pub name: ActorName,
    /// Its namespace.
    pub namespace: String,
    /// Transport of its queue.
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
    /// Its path below the folder.
    pub name: String,
    /// A short description of its content.
    pub holds: &'static str,
    /// Its text.
    pub text: String,
    /// True if one that is there already is kept: a project has its own.
    pub is_optional: bool,
}

/// The flavor, which `asya install platform` has as its sample too.
const FLAVOR: &str = include_str!("../../../../install/flavors/small.yaml");

/// The first line of files with objects, by which editors find the schema.
const MODELINE: &str = "# yaml-language-server: $schema=asya.schema.json\n";

/// The files of a folder that every command of this program takes as it is.
pub fn files(first: &Project) -> Vec<File> {
    let platform = match first.transport {
        Transport::Rabbitmq => include_str!("platform-rabbitmq.yaml"),
        Transport::Sqs => include_str!("platform-sqs.yaml"),
    };
    let module = module(first.name.as_str());
    let handler = format!("{module}.py");
    let schema = format!("{:#}\n", schema::of(schema::Document::All));
    let needed = [
        ("xr.yaml", "the actor", include_str!("xr.yaml"), MODELINE),
        (&handler, "its handler", include_str!("handler.py"), ""),
        ("flavors.yaml", "a flavor", FLAVOR, MODELINE),
        (
            "platform.yaml",
            "the platform's settings",
            platform,
            MODELINE,
        ),
        (
            "tests.yaml",
            "a case for asya test",
            include_str!("tests.yaml"),
            "",
        ),
    ];
    let optional = [
        (
            "asya.schema.json",
            "the schema, for editors",
            schema.as_str(),
        ),
        (
            ".vscode/settings.json",
            "the same for VS Code",
            include_str!("settings.json"),
        ),
        (
            ".github/workflows/asya.yaml",
            "checks for pull requests",
            include_str!("workflow.yaml"),
        ),
        (
            ".gitignore",
            "files that are not committed",
            include_str!("gitignore"),
        ),
    ];
    let needed = needed.map(|(name, holds, template, modeline)| File {
        name: name.to_owned(),
        holds,
        text: modeline.to_owned() + &filled(template, first, &module),
        is_optional: false,
    });
    let optional = optional.map(|(name, holds, text)| File {
        name: name.to_owned(),
        holds,
        text: text.to_owned(),
        is_optional: true,
    });
    needed.into_iter().chain(optional).collect()
}

/// A template with the values of the first actor.
fn filled(template: &str, first: &Project, module: &str) -> String {
    let name = first.name.as_str();
    template
        .replace("name: my-actor", &format!("name: {}", scalar(name)))
        .replace("my-namespace", &scalar(&first.namespace))
        .replace("my-actor", name)
        .replace("my_actor", module)
}

/// The name of the actor as that of a Python module.
fn module(name: &str) -> String {
    let module = name.replace('-', "_");
    let is_identifier = module.starts_with(|first: char| first.is_ascii_alphabetic());
    if is_identifier && !KEYWORDS.contains(&module.as_str()) {
        module
    } else {
        format!("actor_{module}")
    }
}

/// Words that name no module. Source: the Python language reference, keywords in lower case.
const KEYWORDS: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

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
