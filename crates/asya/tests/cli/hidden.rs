//! Control characters in objects: no command writes them.

use crate::program::{ACTOR, Folder, PLATFORM};

/// Clears the screen, sets the title, overwrites the line, and reverses the text, in YAML.
const HOSTILE: &str = r"\e[2J\e]0;owned\a\e[31mred\rover\b\x9b2J\u202ereversed\u2066";

/// A live actor whose Queue has such a condition.
const LIVE: &str = r#"
apiVersion: asya.sh/v1alpha1
kind: AsyncActor
metadata: {name: one, namespace: prod}
spec: {image: i, handler: a.b}
status:
  flavors: []
  status: TransportError
  message: "HOSTILE"
  conditions:
  - {type: TransportReady, status: "False", reason: TransportError, message: "HOSTILE"}
  - {type: ActorReady, status: "False", reason: TransportError, message: "HOSTILE"}
---
apiVersion: provider.asya.sh/v1alpha1
kind: Queue
metadata: {name: one, namespace: prod, labels: {crossplane.io/composite: one}}
status: {conditions: [{type: Synced, status: "False", reason: ReconcileError, message: "the broker: HOSTILE"}]}
"#;

fn folder() -> Folder {
    let hostile = |text: &str| text.replace("HOSTILE", HOSTILE);
    let actor = |handler: &str| {
        let actor = ACTOR.replace("handler:", "podLabels: {x: \"HOSTILE\"}, handler:");
        hostile(&actor.replace("app.handle", handler))
    };
    Folder::with(&[
        ("live.yaml", &hostile(LIVE)),
        ("actor.yaml", &actor("app.handle")),
        ("new.yaml", &actor("app.other")),
        (
            "wrong.yaml",
            &hostile(&ACTOR.replace("handler:", "\"HOSTILE\": 1, handler:")),
        ),
        ("platform.yaml", PLATFORM),
    ])
}

fn is_hidden(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || "\u{202e}\u{2066}".contains(letter)
}

#[test]
fn control_characters_of_objects_are_escaped_by_every_command() {
    let folder = folder();
    let cases = [
        (
            "status -f live.yaml",
            "the broker: \\u001b[2J\\u001b]0;owned\\u0007",
        ),
        ("explain actor.yaml -e platform.yaml", "\\u001b[2J"),
        (
            "diff platform.yaml --old actor.yaml --new new.yaml",
            "app.other",
        ),
        (
            "diff platform.yaml --old live.yaml --new wrong.yaml -o diff",
            "",
        ),
        (
            "diff platform.yaml --old platform.yaml --new actor.yaml",
            "",
        ),
        ("lint wrong.yaml platform.yaml", "u{1b}[2J"),
        ("lint wrong.yaml platform.yaml -o github", ""),
        ("render wrong.yaml -e platform.yaml", ""),
    ];
    for (arguments, expected) in cases {
        let run = folder.run(arguments);
        for text in [&run.output, &run.stderr] {
            assert!(!text.contains(is_hidden), "{arguments}: {text:?}");
        }
        let both = format!("{}{}", run.output, run.stderr);
        assert!(both.contains(expected), "{arguments}: {both}");
    }
}
