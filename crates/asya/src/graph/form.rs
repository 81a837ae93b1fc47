//! A graph as a text tree, Mermaid, DOT and JSON.

use std::collections::BTreeMap;

use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use super::{Actor, Graph};
use crate::visible::visible_line;

/// A node of a drawing.
struct Node {
    id: String,
    label: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Actor,
    Flavor,
    Queue,
    Workload,
    Scaler,
    End,
}

/// An arrow of a drawing.
struct Edge {
    from: String,
    to: String,
    label: &'static str,
    is_dashed: bool,
}

/// A small tree for each actor, and the routes.
pub fn tree(graph: &Graph) -> String {
    let next = graph.next();
    let mut text = String::new();
    for actor in &graph.actors {
        let after = next.get(actor.route_name.as_str());
        let after = after.map(|names| names.iter().copied().collect::<Vec<_>>().join(", "));
        text.push_str(&format!(
            "{}\n",
            visible_line(&format!("{}/{}", actor.namespace, actor.name)).bold()
        ));
        if let Some(problem) = &actor.problem {
            let problem = visible_line(problem);
            text.push_str(&format!("└─ {}: {problem}\n", "cannot be rendered".red()));
            continue;
        }
        let flavors = Some(actor.flavors.join(", ")).filter(|it| !it.is_empty());
        let transport = actor
            .transport
            .as_ref()
            .map_or_else(String::new, |it| format!(" ({it})"));
        let branches = [
            ("flavors", flavors),
            (
                "queue",
                actor
                    .queue
                    .as_ref()
                    .map(|queue| format!("{queue}{transport}")),
            ),
            ("workload", actor.workload.clone()),
            ("scaling", actor.scaler.clone()),
            ("next", after),
        ];
        let branches: Vec<_> = branches
            .into_iter()
            .filter_map(|(name, it)| Some((name, it?)))
            .collect();
        for (index, (name, what)) in branches.iter().enumerate() {
            let corner = if index + 1 == branches.len() {
                "└─"
            } else {
                "├─"
            };
            text.push_str(&format!("{corner} {name:8}  {}\n", visible_line(what)));
        }
    }
    for route in &graph.routes {
        let names = route
            .iter()
            .map(String::as_str)
            .chain([graph.ends.sink.as_str()]);
        let names: Vec<&str> = names.collect();
        let names = names.join(" → ");
        text.push_str(&format!("route: {}\n", visible_line(&names)));
    }
    text
}

/// Nodes and arrows.
fn drawn(graph: &Graph) -> (Vec<Node>, Vec<Edge>) {
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let mut flavors: BTreeMap<&str, String> = BTreeMap::new();
    let mut by_route: BTreeMap<&str, (String, String)> = BTreeMap::new();
    for (index, actor) in graph.actors.iter().enumerate() {
        let Actor {
            namespace, name, ..
        } = actor;
        let id = |letter: char| format!("{letter}{index}");
        let mut node = |letter: char, label: String, kind: Kind| {
            nodes.push(Node {
                id: id(letter),
                label,
                kind,
            });
            id(letter)
        };
        let own = node('a', format!("{namespace}/{name}"), Kind::Actor);
        let queue = actor
            .queue
            .as_ref()
            .map(|it| node('q', it.clone(), Kind::Queue));
        let workload = actor
            .workload
            .as_ref()
            .map(|it| node('w', it.clone(), Kind::Workload));
        let scaler = actor
            .scaler
            .as_ref()
            .map(|it| node('s', it.clone(), Kind::Scaler));
        let mut edge = |from: &String, to: &String, label, is_dashed| {
            edges.push(Edge {
                from: from.clone(),
                to: to.clone(),
                label,
                is_dashed,
            });
        };
        if let Some(queue) = &queue {
            edge(&own, queue, "", true);
        }
        if let (Some(queue), Some(workload)) = (&queue, &workload) {
            edge(queue, workload, "messages", false);
        }
        if let (Some(scaler), Some(workload)) = (&scaler, &workload) {
            edge(scaler, workload, "scales", true);
        }
        let entry = queue.unwrap_or_else(|| own.clone());
        by_route.insert(
            &actor.route_name,
            (entry, workload.unwrap_or_else(|| own.clone())),
        );
        for flavor in &actor.flavors {
            let count = flavors.len();
            let of = flavors.entry(flavor).or_insert_with(|| format!("f{count}"));
            edges.push(Edge {
                from: of.clone(),
                to: own.clone(),
                label: "",
                is_dashed: true,
            });
        }
    }
    nodes.extend(flavors.iter().map(|(name, id)| Node {
        id: id.clone(),
        label: format!("flavor {name}"),
        kind: Kind::Flavor,
    }));
    let mut others: BTreeMap<&str, String> = BTreeMap::new();
    for (from, names) in graph.next() {
        for to in names {
            let place = |name: &'_ str| -> Option<(String, String)> { by_route.get(name).cloned() };
            let mut other = |name| {
                let count = others.len();
                let id: &String = others.entry(name).or_insert_with(|| format!("e{count}"));
                id.clone()
            };
            let from = place(from).map_or_else(|| other(from), |(_, exit)| exit);
            let to = place(to).map_or_else(|| other(to), |(entry, _)| entry);
            edges.push(Edge {
                from,
                to,
                label: "route",
                is_dashed: false,
            });
        }
    }
    nodes.extend(others.into_iter().map(|(name, id)| Node {
        id,
        label: name.to_owned(),
        kind: Kind::End,
    }));
    (nodes, edges)
}

/// A Mermaid flowchart.
pub fn mermaid(graph: &Graph) -> String {
    let (nodes, edges) = drawn(graph);
    let mut text = "flowchart LR\n".to_owned();
    for Node { id, label, kind } in &nodes {
        let label = visible_line(label).replace('"', "#quot;");
        let (open, close) = match kind {
            Kind::Actor => ("([", "])"),
            Kind::Queue => ("[(", ")]"),
            Kind::Flavor => ("{{", "}}"),
            Kind::Workload | Kind::Scaler => ("[", "]"),
            Kind::End => ("((", "))"),
        };
        text.push_str(&format!("  {id}{open}\"{label}\"{close}\n"));
    }
    for Edge {
        from,
        to,
        label,
        is_dashed,
    } in &edges
    {
        let arrow = match (label.is_empty(), is_dashed) {
            (true, true) => "-.->".to_owned(),
            (true, false) => "-->".to_owned(),
            (false, true) => format!("-. {label} .->"),
            (false, false) => format!("-- {label} -->"),
        };
        text.push_str(&format!("  {from} {arrow} {to}\n"));
    }
    text
}

/// A graph in the DOT language of Graphviz.
pub fn dot(graph: &Graph) -> String {
    let (nodes, edges) = drawn(graph);
    let quoted = |text: &str| {
        let text = visible_line(text).replace('\\', "\\\\");
        format!("\"{}\"", text.replace('"', "\\\""))
    };
    let mut text = "digraph asya {\n  rankdir=LR\n".to_owned();
    for Node { id, label, kind } in &nodes {
        let shape = match kind {
            Kind::Actor => "ellipse",
            Kind::Queue => "cylinder",
            Kind::Flavor => "hexagon",
            Kind::Workload => "box",
            Kind::Scaler => "component",
            Kind::End => "doublecircle",
        };
        text.push_str(&format!("  {id} [shape={shape} label={}]\n", quoted(label)));
    }
    for Edge {
        from,
        to,
        label,
        is_dashed,
    } in &edges
    {
        let style = if *is_dashed { "dashed" } else { "solid" };
        text.push_str(&format!(
            "  {from} -> {to} [style={style} label={}]\n",
            quoted(label)
        ));
    }
    text + "}\n"
}

/// Actors and routes as one JSON document.
pub fn json(graph: &Graph) -> Value {
    let actors = graph.actors.iter().map(|actor| {
        json!({
            "namespace": actor.namespace, "name": actor.name, "routeName": actor.route_name,
            "flavors": actor.flavors, "queue": actor.queue, "transport": actor.transport,
            "workload": actor.workload, "scaler": actor.scaler, "problem": actor.problem,
        })
    });
    json!({"actors": actors.collect::<Value>(), "routes": graph.routes})
}
