//! Pages about kinds: what may be written, and what is reported.

use actor::schema;
use actor::spec::INFRASTRUCTURE;
use anyhow::{Context as _, Result};
use serde_json::Value;

use super::page::Page;
use super::schema::{Field, fields, rules, text};

const FIELDS: [&str; 3] = ["Field", "Type", "Meaning"];

/// Fields of an AsyncActor.
pub(super) fn actor() -> Result<String> {
    let xrd = schema::xrd();
    let version = &xrd["spec"]["versions"][0];
    let kind = of_version(version)?;
    let mut page = Page::new("AsyncActor");
    page.text("`apiVersion: asya.sh/v1alpha1`, namespaced. Short names `asya`, `asyas`; category `asya`. No field has a default in the schema, because flavors are merged first. `asya explain` shows the effective value of each field.");
    page.heading("spec");
    page.table(FIELDS, rows(&kind["spec"]));
    page.heading("status");
    page.table(FIELDS, rows(&kind["status"]));
    page.heading("Rules of the API server");
    page.text("The API server refuses objects that break a rule, with these messages. The functions and `asya lint` check the merged spec.");
    page.list(rules(&version["schema"]["openAPIV3Schema"]));
    page.heading("Columns");
    page.text("Columns of `-o wide` are marked. Crossplane appends `SYNCED`, `READY`, `COMPOSITION` and `AGE`.");
    page.table(["Column", "From", "Wide"], columns(version));
    Ok(page.end())
}

/// Fields that a flavor may set.
pub(super) fn flavors() -> Result<String> {
    let schema = schema::spec();
    let properties = schema["properties"]
        .as_object()
        .context("the spec has no properties")?;
    let mut page = Page::new("Fields of a flavor");
    page.text("`data` of a flavor is a part of an actor's `spec`. [AsyncActor](actor.md) describes the fields in detail, [flavors](../flavors.md) the merge.");
    page.table(
        ["Field", "Two flavors that both set it", "What it is"],
        properties
            .iter()
            .filter(|(name, _)| !INFRASTRUCTURE.contains(&name.as_str()))
            .map(|(name, property)| {
                let (name, property) = match name.as_str() {
                    // The rest of it is the actor's alone.
                    "queue" => ("queue.deadLetter", &property["properties"]["deadLetter"]),
                    name => (name, property),
                };
                [
                    format!("`{name}`"),
                    merged(property).to_owned(),
                    text(property),
                ]
            }),
    );
    page.text(&format!(
        "A flavor cannot set {}: they are ignored. `queue.adopt` and `queue.deletionPolicy` can only be set in an actor: if a flavor sets one, every actor that names it fails.",
        INFRASTRUCTURE.map(|name| format!("`{name}`")).join(", ")
    ));
    Ok(page.end())
}

/// Returns the rule by which the values of two flavors are merged.
fn merged(property: &Value) -> &'static str {
    match property["type"].as_str() {
        Some("array") => "appended, in order",
        Some("object") => "merged key by key; the same leaf twice is a conflict",
        _ => "conflict",
    }
}

/// The platform's settings.
pub(super) fn platform() -> String {
    let mut page = Page::new("Platform settings");
    page.text("`data` of the EnvironmentConfig `asya-platform`. `\"\"` and `null` mean *not set*. [Transports](../transports.md) shows examples.");
    page.table(FIELDS, rows(&schema::settings()));
    page.end()
}

/// The kinds of the provider.
pub(super) fn provider() -> Result<String> {
    let mut page = Page::new("Kinds of the provider");
    page.text("`apiVersion: provider.asya.sh/v1alpha1`. Actors render Queue, WorkloadBinding and ActorHealth; you write the configs.");
    for crd in [
        schema::queue_crd(),
        schema::cluster_provider_config_crd(),
        schema::provider_config_crd(),
        schema::binding_crd(),
        schema::health_crd(),
        schema::usage_crd(),
    ] {
        let name = crd["spec"]["names"]["kind"].as_str();
        let version = &crd["spec"]["versions"][0];
        page.heading(name.context("a CRD has no kind")?);
        page.text(&text(&version["schema"]["openAPIV3Schema"]));
        page.text(&format!(
            "{}.",
            crd["spec"]["scope"].as_str().unwrap_or_default()
        ));
        page.table(FIELDS, of_kind(of_version(version)?));
        let rules = rules(&version["schema"]["openAPIV3Schema"]);
        if !rules.is_empty() {
            page.text("The API server refuses objects that break a rule:");
            page.list(rules);
        }
    }
    Ok(page.end())
}

/// Inputs of the steps.
pub(super) fn inputs() -> Result<String> {
    let steps = [
        (
            "resolve-flavors",
            schema::input_crd::<function_resolve_flavors::Input>("resolve-flavors"),
        ),
        (
            "render-queue",
            schema::input_crd::<function_render_queue::Input>("render-queue"),
        ),
        (
            "render-deployment",
            schema::input_crd::<function_render_deployment::Input>("render-deployment"),
        ),
        (
            "inject-sidecar",
            schema::input_crd::<function_inject_sidecar::Input>("inject-sidecar"),
        ),
        (
            "render-scaledobject",
            schema::input_crd::<function_render_scaledobject::Input>("render-scaledobject"),
        ),
        (
            "report-status",
            schema::input_crd::<function_report_status::Input>("report-status"),
        ),
        ("asya", schema::input_crd::<function_asya::Input>("asya")),
    ];
    let mut page = Page::new("Inputs of the steps");
    page.text("No step requires an input. `platform` contains [platform settings](platform.md) that override those of the EnvironmentConfig key by key; its keys are not repeated here.");
    for (step, crd) in steps {
        let version = &crd["spec"]["versions"][0];
        let kind = of_version(version)?;
        page.heading(step);
        page.text(&text(&version["schema"]["openAPIV3Schema"]));
        let fields = fields(&serde_json::json!({"properties": kind}));
        let own = fields
            .iter()
            .filter(|field| !is_of_every_object(field) && !field.path.contains("platform."));
        page.table(FIELDS, own.map(Field::row));
    }
    Ok(page.end())
}

/// The properties of an object of that version.
fn of_version(version: &Value) -> Result<&Value> {
    let properties = version["schema"]["openAPIV3Schema"].get("properties");
    properties.context("a kind has no properties")
}

fn rows(schema: &Value) -> Vec<[String; 3]> {
    fields(schema).iter().map(Field::row).collect()
}

/// Rows of a kind's own fields.
fn of_kind(properties: &Value) -> Vec<[String; 3]> {
    let whole = serde_json::json!({"properties": properties});
    let fields = fields(&whole);
    let own = fields.iter().filter(|field| !is_of_every_object(field));
    own.map(Field::row).collect()
}

fn is_of_every_object(field: &Field) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&field.path.as_str())
}

fn columns(version: &Value) -> Vec<[String; 3]> {
    let columns = version["additionalPrinterColumns"].as_array();
    columns
        .into_iter()
        .flatten()
        .map(|column| {
            let text = |key: &str| column[key].as_str().unwrap_or_default();
            let is_wide = column["priority"] == 1;
            let wide = if is_wide { "yes" } else { "" };
            [
                text("name").to_owned(),
                format!("`{}`", text("jsonPath")),
                wide.to_owned(),
            ]
        })
        .collect()
}
