//! A strict parser of the Mermaid diagrams that the pages use: flowchart, sequenceDiagram and
//! stateDiagram-v2. It accepts less than Mermaid does: what it accepts, Mermaid draws.

use std::collections::{BTreeMap, BTreeSet};

/// Words that Mermaid's flowcharts read as statements, so no node can have them as its name.
const FLOWCHART_KEYWORDS: [&str; 10] = [
    "call",
    "class",
    "classDef",
    "click",
    "default",
    "end",
    "flowchart",
    "graph",
    "style",
    "subgraph",
];

/// Shapes of nodes: how they open and close, longer ones first.
const SHAPES: [(&str, &str); 8] = [
    ("([", "])"),
    ("[(", ")]"),
    ("[[", "]]"),
    ("((", "))"),
    ("{{", "}}"),
    ("[", "]"),
    ("(", ")"),
    ("{", "}"),
];

/// Links without a text.
const LINKS: [&str; 5] = ["-.->", "<-->", "-->", "---", "==>"];

/// Links with a text in the middle: how they open and close.
const TEXT_LINKS: [(&str, &str); 3] = [("-. ", " .->"), ("-- ", " -->"), ("== ", " ==>")];

/// Messages of a sequence, longer arrows first.
const ARROWS: [&str; 8] = ["-->>", "->>", "-->", "--x", "--)", "->", "-x", "-)"];

/// Blocks of a sequence that end with `end`, and the keyword that divides them.
const BLOCKS: [(&str, &str); 5] = [
    ("alt", "else"),
    ("break", ""),
    ("loop", ""),
    ("opt", ""),
    ("par", "and"),
];

/// Checks a diagram; an error names the line, counted from 1.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("%%"));
    let (number, header) = lines.next().ok_or("the diagram is empty")?;
    let lines: Vec<(usize, &str)> = lines.collect();
    let (checked, is_whole) = match header.split_once(' ') {
        Some(("flowchart", "BT" | "LR" | "RL" | "TB" | "TD")) => flowchart(&lines),
        None if header == "sequenceDiagram" => sequence(&lines),
        None if header == "stateDiagram-v2" => states(&lines),
        _ => return Err(format!("line {number}: unknown diagram {header:?}")),
    };
    checked.map_err(|(number, error)| format!("line {number}: {error}"))?;
    is_whole
}

/// Errors of single lines, then of the diagram as a whole.
type Outcome = (Result<(), (usize, String)>, Result<(), String>);

fn over(
    lines: &[(usize, &str)],
    mut line_is_valid: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), (usize, String)> {
    for (number, line) in lines {
        line_is_valid(line).map_err(|error| (*number, error))?;
    }
    Ok(())
}

fn flowchart(lines: &[(usize, &str)]) -> Outcome {
    let mut chart = Flowchart::default();
    let checked = over(lines, |line| chart.line(line));
    (checked, chart.end())
}

#[derive(Default)]
struct Flowchart {
    open: usize,
    subgraphs: BTreeSet<String>,
    /// Nodes with their text, once that is given.
    nodes: BTreeMap<String, Option<String>>,
}

impl Flowchart {
    fn line(&mut self, line: &str) -> Result<(), String> {
        match line.split_once(' ') {
            Some(("subgraph", rest)) => {
                let (id, rest) = identifier(rest)?;
                if !rest.is_empty() {
                    let title = rest
                        .strip_prefix(" [")
                        .and_then(|rest| rest.strip_suffix(']'));
                    label(title.ok_or_else(|| format!("{rest:?} is not a title in brackets"))?)?;
                }
                self.open += 1;
                if !self.subgraphs.insert(id.to_owned()) {
                    return Err(format!("subgraph {id:?} is there twice"));
                }
                Ok(())
            }
            Some(("direction", "BT" | "LR" | "RL" | "TB" | "TD")) if self.open > 0 => Ok(()),
            None if line == "end" => {
                self.open = self.open.checked_sub(1).ok_or("'end' ends no subgraph")?;
                Ok(())
            }
            _ => self.statement(line),
        }
    }

    /// Nodes, and links between them.
    fn statement(&mut self, line: &str) -> Result<(), String> {
        let mut rest = self.nodes_of(line)?;
        while !rest.is_empty() {
            rest = self.nodes_of(link(rest)?)?;
        }
        Ok(())
    }

    /// Text after one node, or after several with `&` between them.
    fn nodes_of<'a>(&mut self, text: &'a str) -> Result<&'a str, String> {
        let mut rest = self.node(text)?;
        while let Some(next) = rest.strip_prefix(" & ") {
            rest = self.node(next)?;
        }
        Ok(rest)
    }

    fn node<'a>(&mut self, text: &'a str) -> Result<&'a str, String> {
        let (id, rest) = identifier(text)?;
        if FLOWCHART_KEYWORDS.contains(&id) {
            return Err(format!("{id:?} is a keyword and names no node"));
        }
        let known = self.nodes.entry(id.to_owned()).or_default();
        let shape = SHAPES.iter().find(|(open, _)| rest.starts_with(open));
        let Some((open, close)) = shape else {
            return Ok(rest);
        };
        let inner = &rest[open.len()..];
        let (inner, after) = match inner.strip_prefix('"') {
            Some(quoted) => {
                let (inner, after) = quoted.split_once('"').ok_or("a quotation has no end")?;
                (inner, after.strip_prefix(close))
            }
            None => match inner.split_once(close) {
                Some((inner, after)) => (label(inner)?, Some(after)),
                None => (inner, None),
            },
        };
        let after = after.ok_or_else(|| format!("node {id:?} has no {close:?} at its end"))?;
        if known.replace(inner.to_owned()).is_some() {
            return Err(format!("node {id:?} has two texts"));
        }
        Ok(after)
    }

    fn end(&self) -> Result<(), String> {
        if self.open > 0 {
            return Err("a subgraph has no 'end'".to_owned());
        }
        let bare = self
            .nodes
            .iter()
            .find(|(id, text)| text.is_none() && !self.subgraphs.contains(*id));
        match bare {
            Some((id, _)) => Err(format!("node {id:?} has no text: a misspelt name?")),
            None if self.nodes.len() < 2 => Err("there are no two nodes".to_owned()),
            None => Ok(()),
        }
    }
}

/// Text after a link.
fn link(text: &str) -> Result<&str, String> {
    let text = text
        .strip_prefix(' ')
        .ok_or_else(|| format!("no link begins at {text:?}"))?;
    for link in LINKS {
        let Some(rest) = text.strip_prefix(link) else {
            continue;
        };
        let rest = match rest.strip_prefix('|') {
            Some(rest) => {
                let (inner, rest) = rest.split_once('|').ok_or("a link's text has no end")?;
                label(inner)?;
                rest
            }
            None => rest,
        };
        return rest
            .strip_prefix(' ')
            .ok_or_else(|| format!("a link leads to no node: {rest:?}"));
    }
    for (open, close) in TEXT_LINKS {
        if let Some(rest) = text.strip_prefix(open) {
            let (inner, rest) = rest
                .split_once(close)
                .ok_or_else(|| format!("a link has no {close:?} at its end"))?;
            label(inner)?;
            return rest
                .strip_prefix(' ')
                .ok_or_else(|| format!("a link leads to no node: {rest:?}"));
        }
    }
    Err(format!("no link begins at {text:?}"))
}

/// A text without quotation marks, as Mermaid reads it in nodes and on links.
fn label(text: &str) -> Result<&str, String> {
    let is_allowed = |letter: char| !"[](){}|<>\"`;#".contains(letter);
    if text.is_empty() || text.trim() != text {
        Err(format!("the text {text:?} is empty or padded"))
    } else if text.contains("--") || !text.chars().all(is_allowed) {
        Err(format!("the text {text:?} needs quotation marks"))
    } else if text.split_whitespace().any(|word| word == "end") {
        Err(format!("the text {text:?} has the keyword 'end'"))
    } else {
        Ok(text)
    }
}

/// A name at the beginning, and what stands after it.
fn identifier(text: &str) -> Result<(&str, &str), String> {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_inside(letter)).unwrap_or(text.len());
    let (id, rest) = text.split_at(end);
    if id.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        Ok((id, rest))
    } else {
        Err(format!("no name begins at {text:?}"))
    }
}

fn sequence(lines: &[(usize, &str)]) -> Outcome {
    let mut participants = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut messages = 0;
    let checked = over(lines, |line| {
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "autonumber" if rest.is_empty() => Ok(()),
            "participant" | "actor" => {
                let (id, rest) = identifier(rest)?;
                if !rest.is_empty() {
                    let name = rest.strip_prefix(" as ");
                    spoken(name.ok_or_else(|| format!("no name begins at {rest:?}"))?)?;
                }
                if participants.insert(id.to_owned()) {
                    Ok(())
                } else {
                    Err(format!("participant {id:?} is declared twice"))
                }
            }
            "Note" => note(rest, &participants),
            "end" if rest.is_empty() => match open.pop() {
                Some(_) => Ok(()),
                None => Err("'end' ends no block".to_owned()),
            },
            _ => {
                if let Some((_, divider)) = BLOCKS.iter().find(|(name, _)| *name == first) {
                    open.push(divider);
                    return spoken(rest);
                }
                if BLOCKS.iter().any(|(_, divider)| *divider == first) {
                    return match open.last() {
                        Some(divider) if *divider == first => spoken(rest),
                        _ => Err(format!("{first:?} divides no block")),
                    };
                }
                messages += 1;
                message(line, &participants)
            }
        }
    });
    let is_whole = match (open.last(), messages) {
        (Some(_), _) => Err("a block has no 'end'".to_owned()),
        (None, 0) => Err("there are no messages".to_owned()),
        _ => Ok(()),
    };
    (checked, is_whole)
}

fn message(line: &str, participants: &BTreeSet<String>) -> Result<(), String> {
    let (from, rest) = identifier(line)?;
    let arrow = ARROWS.iter().find_map(|arrow| rest.strip_prefix(arrow));
    let rest = arrow.ok_or_else(|| format!("no arrow begins at {rest:?}"))?;
    let (to, rest) = identifier(rest.strip_prefix(['+', '-']).unwrap_or(rest))?;
    declared(from, participants)?;
    declared(to, participants)?;
    spoken(
        rest.strip_prefix(": ")
            .ok_or_else(|| format!("the message to {to:?} has no ': ' and text"))?,
    )
}

fn note(text: &str, participants: &BTreeSet<String>) -> Result<(), String> {
    let beside = ["over ", "left of ", "right of "];
    let rest = beside.iter().find_map(|place| text.strip_prefix(place));
    let rest = rest.ok_or_else(|| format!("a note is over, left of or right of, not {text:?}"))?;
    let (names, text) = rest.split_once(": ").ok_or("a note has no text")?;
    for name in names.split(',') {
        declared(name, participants)?;
    }
    spoken(text)
}

fn declared(name: &str, participants: &BTreeSet<String>) -> Result<(), String> {
    if participants.contains(name) {
        Ok(())
    } else {
        Err(format!("{name:?} is not declared as a participant"))
    }
}

/// A text to the end of the line.
fn spoken(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        Err("a text is empty".to_owned())
    } else if text.contains([';', '#']) {
        Err(format!("the text {text:?} has a character that ends it"))
    } else if text.split_whitespace().any(|word| word == "end") {
        Err(format!("the text {text:?} has the keyword 'end'"))
    } else {
        Ok(())
    }
}

fn states(lines: &[(usize, &str)]) -> Outcome {
    let mut transitions = 0;
    let mut open = 0_usize;
    let checked = over(lines, |line| match line.split_once(' ') {
        Some(("direction", "BT" | "LR" | "RL" | "TB")) => Ok(()),
        Some(("state", rest)) => {
            if let Some(rest) = rest.strip_prefix('"') {
                let (text, rest) = rest.split_once('"').ok_or("a quotation has no end")?;
                spoken(text)?;
                let rest = rest.strip_prefix(" as ");
                whole_state(rest.ok_or_else(|| format!("{text:?} has no ' as ' and name"))?)
            } else {
                let id = rest.strip_suffix(" {").ok_or("a state opens no ' {'")?;
                open += 1;
                whole_state(id)
            }
        }
        None if line == "}" => {
            open = open.checked_sub(1).ok_or("'}' closes no state")?;
            Ok(())
        }
        Some(("note", rest)) => {
            let beside = ["left of ", "right of "];
            let rest = beside.iter().find_map(|place| rest.strip_prefix(place));
            let rest = rest.ok_or("a note is left of or right of a state")?;
            let (id, text) = rest
                .split_once(" : ")
                .ok_or("a note has no ' : ' and text")?;
            whole_state(id)?;
            spoken(text)
        }
        _ => {
            transitions += 1;
            transition(line)
        }
    });
    let is_whole = match (open, transitions) {
        (0, 0) => Err("there are no transitions".to_owned()),
        (0, _) => Ok(()),
        _ => Err("a state has no '}'".to_owned()),
    };
    (checked, is_whole)
}

fn transition(line: &str) -> Result<(), String> {
    let (from, rest) = line
        .split_once(" --> ")
        .ok_or_else(|| format!("{line:?} is not a transition"))?;
    let (to, text) = match rest.split_once(": ") {
        Some((to, text)) => (to.trim_end(), Some(text)),
        None => (rest, None),
    };
    for end in [from, to] {
        if end != "[*]" {
            whole_state(end)?;
        }
    }
    text.map_or(Ok(()), spoken)
}

fn whole_state(text: &str) -> Result<(), String> {
    match identifier(text)? {
        (_, "") => Ok(()),
        (_, rest) => Err(format!("a state's name ends at {rest:?}")),
    }
}
