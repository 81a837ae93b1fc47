//! One container of a pod template: command, environment, volumes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use test_cluster::ports;

use super::paths::{Mounts, moved};

/// Content of an image, as far as tests need it.
#[derive(Debug, Clone)]
pub struct Image {
    /// The program that runs where the container has no `command`.
    pub entry_point: Option<PathBuf>,
    /// The working directory.
    pub folder: PathBuf,
}

/// Images by the names that templates have.
pub type Images = BTreeMap<String, Image>;

/// Secrets of the pod's namespace: keys and values, by name.
pub type Secrets = BTreeMap<String, BTreeMap<String, String>>;

/// Start of a container's process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) working_directory: PathBuf,
}

/// Reads a container.
pub(super) fn process(
    container: &Value,
    mounts: &Mounts,
    images: &Images,
    secrets: &Secrets,
) -> Process {
    let name = text(&container["name"]);
    for field in ["lifecycle", "workingDir"] {
        assert!(
            container[field].is_null(),
            "{name}: the rig knows no {field}"
        );
    }
    let image = images.get(&text(&container["image"]));
    let image = image.unwrap_or_else(|| panic!("{name}: no image {}", container["image"]));
    let environment = environment(container, mounts, secrets);
    let mut command: Vec<String> = items(&container["command"])
        .iter()
        .chain(items(&container["args"]))
        .map(|part| moved(&argument(&text(part), &environment), mounts))
        .collect();
    let program = if items(&container["command"]).is_empty() {
        let entry_point = image.entry_point.clone();
        entry_point.unwrap_or_else(|| panic!("{name}: neither command nor entry point"))
    } else {
        command.remove(0).into()
    };
    Process {
        program,
        arguments: command,
        environment,
        working_directory: image.folder.clone(),
        name,
    }
}

/// The environment as a kubelet makes it: `envFrom`, then `env` in its order, with `$(NAME)` of what was
/// set before; and of the image only `PATH`, and that Python leaves no files in the repository.
fn environment(container: &Value, mounts: &Mounts, secrets: &Secrets) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::from([
        ("PATH".to_owned(), std::env::var("PATH").unwrap_or_default()),
        ("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()),
    ]);
    let secret = |name: &Value| {
        let name = text(name);
        let found = secrets.get(&name);
        found.unwrap_or_else(|| panic!("no Secret {name:?}"))
    };
    for source in items(&container["envFrom"]) {
        let found = secret(&source["secretRef"]["name"]);
        environment.extend(found.clone());
    }
    for variable in items(&container["env"]) {
        let reference = &variable["valueFrom"];
        let value = if reference.is_null() {
            let value = expanded(variable["value"].as_str().unwrap_or_default(), &environment);
            moved(&value, mounts)
        } else {
            let reference = &reference["secretKeyRef"];
            let found = secret(&reference["name"]).get(&text(&reference["key"]));
            found.unwrap_or_else(|| panic!("no {reference}")).clone()
        };
        environment.insert(text(&variable["name"]), value);
    }
    // Pods have addresses of their own; here all share one, and servers listen on loopback only.
    if let Some(address) = environment.get_mut("ASYA_METRICS_ADDR") {
        let [port] = ports::reserve();
        *address = format!("127.0.0.1:{port}");
    }
    environment
}

/// The text with `$(NAME)` replaced where `NAME` is set.
fn expanded(text: &str, environment: &BTreeMap<String, String>) -> String {
    let mut expanded = text.to_owned();
    for (name, value) in environment {
        expanded = expanded.replace(&format!("$({name})"), value);
    }
    expanded
}

/// An argument as a kubelet expands it: `$(NAME)` is replaced where `NAME` is set, and `$$` is `$`.
fn argument(text: &str, environment: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("$$");
    let first = expanded(parts.next().unwrap_or_default(), environment);
    parts.fold(first, |all, part| {
        format!("{all}${}", expanded(part, environment))
    })
}

/// Makes the volumes of a pod below its folder; by name, where each is.
pub(super) fn make_volumes(
    folder: &Path,
    spec: &Value,
    rendered: &[Value],
) -> BTreeMap<String, PathBuf> {
    let mut volumes = BTreeMap::new();
    for volume in items(&spec["volumes"]) {
        let name = text(&volume["name"]);
        let place = folder.join("volumes").join(&name);
        fs::create_dir_all(&place).expect("a folder for a volume");
        // The API server adds a projected volume with a token, which nothing here reads.
        if volume["emptyDir"].is_null() && volume["projected"].is_null() {
            let wanted = &volume["configMap"];
            let config_map = rendered
                .iter()
                .find(|object| {
                    object["kind"] == "ConfigMap" && object["metadata"]["name"] == wanted["name"]
                })
                .unwrap_or_else(|| panic!("volume {name:?}: nothing rendered for {volume}"));
            let mode = wanted["defaultMode"].as_u64().unwrap_or(0o644);
            let mode = u32::try_from(mode).expect("a mode");
            let data = config_map["data"].as_object().expect("data");
            for (key, value) in data {
                let file = place.join(key);
                fs::write(&file, text(value)).expect("a file");
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("its mode");
            }
        }
        volumes.insert(name, place);
    }
    volumes
}

/// Returns the paths of a container's mounts on this machine.
pub(super) fn mounts(container: &Value, volumes: &BTreeMap<String, PathBuf>) -> Mounts {
    let mounts = items(&container["volumeMounts"]).iter();
    mounts
        .map(|mount| {
            let name = text(&mount["name"]);
            let volume = volumes.get(&name);
            let mut place = volume
                .unwrap_or_else(|| panic!("no volume {name:?}"))
                .clone();
            if let Some(path) = mount["subPath"].as_str() {
                place.push(path);
            }
            let place = place.to_str().expect("a path in UTF-8").to_owned();
            (text(&mount["mountPath"]), place)
        })
        .collect()
}

/// The items of a list; none where there is no list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    let text = value.as_str();
    text.unwrap_or_else(|| panic!("expected a text, found {value}"))
        .to_owned()
}
