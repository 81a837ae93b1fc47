//! Diagrams of the pages parse, and the parser refuses what Mermaid would not draw.

use tests::page::pages;

use crate::mermaid::check;

/// Diagrams that parse.
const ACCEPTED: [&str; 6] = [
    "flowchart LR\n  a[One] --> b([Two])\n  b -- then, if so --> c[(Three)] & d{{Four}}\n",
    "flowchart TD\n  subgraph g [A group]\n    direction LR\n    a[One] -->|yes| b\n  end\n  b(Two)\n  g -.-> a\n",
    "flowchart TD\n  %% a comment\n  a[\"f(x) --> y\"] ==> b{Two}\n  a -. maybe .-> b\n",
    "sequenceDiagram\n  autonumber\n  participant a as A part\n  actor b\n  a->>+b: hello\n  b-->>-a: hi\n  Note over a,b: later\n",
    "sequenceDiagram\n  participant a\n  alt it works\n    a->>a: go on\n  else it fails\n    a-xa: stop\n  end\n",
    "stateDiagram-v2\n  direction LR\n  [*] --> Creating\n  state \"Being deleted\" as Deleting\n  Creating --> Deleting: deleted\n  Deleting --> [*]\n  note right of Deleting : at most two minutes\n",
];

/// Diagrams that do not parse, and a part of the error.
const REFUSED: [(&str, &str); 30] = [
    ("", "empty"),
    ("graph LR\n  a[A] --> b[B]\n", "line 1: unknown diagram"),
    ("flowchart XY\n  a[A] --> b[B]\n", "line 1: unknown diagram"),
    ("pie\n  \"a\": 1\n", "line 1: unknown diagram"),
    ("flowchart LR\n  a[A] -> b[B]\n", "line 2: no link begins"),
    (
        "flowchart LR\n  a[A] -->\n",
        "line 2: a link leads to no node",
    ),
    (
        "flowchart LR\n  a[A] -->|yes b[B]\n",
        "line 2: a link's text has no end",
    ),
    (
        "flowchart LR\n  a[A] -- yes -> b[B]\n",
        "line 2: a link has no",
    ),
    ("flowchart LR\n  a[A --> b[B]\n", "line 2: the text"),
    (
        "flowchart LR\n  a[A] --> b[B\n",
        "line 2: node \"b\" has no \"]\"",
    ),
    (
        "flowchart LR\n  a[f(x)] --> b[B]\n",
        "line 2: the text \"f(x)\" needs",
    ),
    (
        "flowchart LR\n  a[\"A] --> b[B]\n",
        "line 2: a quotation has no end",
    ),
    (
        "flowchart LR\n  a[] --> b[B]\n",
        "line 2: the text \"\" is empty",
    ),
    (
        "flowchart LR\n  a[A] --> end[B]\n",
        "line 2: \"end\" is a keyword",
    ),
    (
        "flowchart LR\n  a[the end] --> b[B]\n",
        "line 2: the text \"the end\" has the keyword",
    ),
    (
        "flowchart LR\n  a[A] --> b[B]\n  a[C] --> b\n",
        "line 3: node \"a\" has two texts",
    ),
    (
        "flowchart LR\n  a[A] --> b[B]\n  b --> aa\n",
        "node \"aa\" has no text",
    ),
    ("flowchart LR\n  a[A]\n", "there are no two nodes"),
    (
        "flowchart LR\n  subgraph g [G]\n  a[A] --> b[B]\n",
        "a subgraph has no 'end'",
    ),
    (
        "flowchart LR\n  a[A] --> b[B]\n  end\n",
        "line 3: 'end' ends no subgraph",
    ),
    (
        "sequenceDiagram\n  participant a\n  a->>b: hi\n",
        "line 3: \"b\" is not declared",
    ),
    (
        "sequenceDiagram\n  participant a\n  a->>a\n",
        "line 3: the message to \"a\" has no",
    ),
    (
        "sequenceDiagram\n  participant a\n  a=>a: hi\n",
        "line 3: no arrow begins",
    ),
    (
        "sequenceDiagram\n  participant a\n  a->>a: one; two\n",
        "line 3: the text \"one; two\"",
    ),
    (
        "sequenceDiagram\n  participant a\n  loop always\n  a->>a: hi\n",
        "a block has no 'end'",
    ),
    (
        "sequenceDiagram\n  participant a\n  opt x\n  a->>a: hi\n  else y\n  end\n",
        "line 5: \"else\" divides no block",
    ),
    (
        "sequenceDiagram\n  participant a\n",
        "there are no messages",
    ),
    (
        "stateDiagram-v2\n  [*] -> A\n",
        "line 2: \"[*] -> A\" is not a transition",
    ),
    (
        "stateDiagram-v2\n  [*] --> two words\n",
        "line 2: a state's name ends",
    ),
    (
        "stateDiagram-v2\n  [*] --> A\n  state A {\n",
        "a state has no '}'",
    ),
];

#[test]
fn every_diagram_parses() {
    let mut errors = Vec::new();
    let mut found = 0;
    for page in pages() {
        for block in page.blocks() {
            if block.language == "mermaid" {
                found += 1;
                let error = check(&block.text).err();
                errors.extend(error.map(|error| format!("{}: {error}", block.place)));
            }
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(found >= 6, "only {found} diagrams were found");
}

#[test]
fn valid_diagrams_are_accepted() {
    for text in ACCEPTED {
        assert_eq!(check(text), Ok(()), "{text}");
    }
}

#[test]
fn malformed_diagrams_are_refused() {
    for (text, expected) in REFUSED {
        let error = check(text).expect_err(text);
        assert!(error.contains(expected), "{text}: {error}");
    }
}
