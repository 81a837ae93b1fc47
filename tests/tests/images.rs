//! `cargo xtask package`: its output follows the formats, is the same each time, and is what
//! `crossplane xpkg` reads. The programs are stand-ins: headers without a body.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use test_cluster::components;
use tests::function::PROGRAMS;
use tests::packages::{self, AMD64, ARM64, SIDECAR, programs, stand_ins};
use tests::program::{repository, talk};

const REGISTRY: &str = "registry.example.org/asya";
const CONFIGURATIONS: [&str; 3] = ["asya", "asya-one-step", "asya-legacy"];
const HANDLERS: [&str; 2] = ["asya-rest-adapter", "asya-end-actors"];

fn all_packages() -> impl Iterator<Item = &'static str> {
    programs().chain(CONFIGURATIONS)
}

fn package(output: &Path, arguments: &[&str]) -> Output {
    packages::package(REGISTRY, output, arguments)
}

/// Returns the folder of all packages, made once for all tests, and what was printed meanwhile.
fn everything() -> &'static (PathBuf, String) {
    static EVERYTHING: OnceLock<(PathBuf, String)> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("images");
        if output.exists() {
            fs::remove_dir_all(&output).unwrap();
        }
        let printed = package_everything(&output);
        (output, printed)
    })
}

/// Packages everything, the handlers on an image that one of our own stands for.
fn package_everything(output: &Path) -> String {
    let programs = stand_ins(AMD64);
    let programs = ["--programs", programs.path().to_str().unwrap()];
    let base = package(output, &["--only", "asya-legacy"]);
    assert!(base.status.success(), "{}", talk(&base));
    let base = output.join("base");
    fs::rename(output.join("oci/asya-legacy"), &base).unwrap();
    let base = ["--python-base", base.to_str().unwrap()];
    let done = package(output, &[programs, base].concat());
    assert!(done.status.success(), "{}", talk(&done));
    let printed = String::from_utf8(done.stdout).unwrap();
    let printed = printed.lines().filter(|line| !line.starts_with("in "));
    printed.collect::<Vec<_>>().join("\n")
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hash: Vec<String> = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hash.concat())
}

/// Contents by path.
type Files = BTreeMap<String, Vec<u8>>;

/// An image in the OCI layout.
struct Layout(PathBuf);

impl Layout {
    fn of(output: &Path, name: &str) -> Self {
        Self(output.join("oci").join(name))
    }

    fn index(&self) -> Value {
        let text = fs::read(self.0.join("index.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The content behind a descriptor, which must match the descriptor.
    fn blob(&self, descriptor: &Value) -> Vec<u8> {
        let named = descriptor["digest"].as_str().unwrap();
        let path = self.0.join("blobs").join(named.replace(':', "/"));
        let bytes = fs::read(&path).unwrap();
        assert_eq!(digest(&bytes), named, "{}", path.display());
        assert_eq!(descriptor["size"], bytes.len());
        bytes
    }

    fn document(&self, descriptor: &Value) -> Value {
        serde_json::from_slice(&self.blob(descriptor)).unwrap()
    }

    fn manifest(&self) -> Value {
        let index = self.index();
        assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
        self.document(&index["manifests"][0])
    }

    fn configuration(&self) -> Value {
        self.document(&self.manifest()["config"])
    }

    /// The files of each layer, and the value of Crossplane's annotation.
    fn layers(&self) -> Vec<(Option<String>, Files)> {
        let (manifest, configuration) = (self.manifest(), self.configuration());
        let layers = manifest["layers"].as_array().unwrap();
        let diff_ids = configuration["rootfs"]["diff_ids"].as_array().unwrap();
        assert_eq!(layers.len(), diff_ids.len());
        let layers = layers.iter().zip(diff_ids);
        layers
            .map(|(layer, diff_id)| {
                let tar = unzipped(&self.blob(layer));
                assert_eq!(digest(&tar), diff_id.as_str().unwrap());
                let role = &layer["annotations"]["io.crossplane.xpkg"];
                let digest = layer["digest"].as_str().unwrap();
                let label = format!("io.crossplane.xpkg:{digest}");
                assert_eq!(*role, configuration["config"]["Labels"][label]);
                (role.as_str().map(str::to_owned), files(&tar))
            })
            .collect()
    }

    /// The one file of the layer with that role.
    fn only_file(&self, role: &str) -> (String, String) {
        let layers = self.layers().into_iter();
        let mut of_role = layers.filter(|(found, _)| found.as_deref() == Some(role));
        let (_, files) = of_role.next().unwrap();
        assert!(of_role.next().is_none(), "one layer is {role}");
        let (path, content) = files.into_iter().next_back().unwrap();
        (path, String::from_utf8(content).unwrap())
    }
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut content).unwrap();
    content
}

/// The files of an archive; folders are left out.
fn files(tar: &[u8]) -> Files {
    let mut archive = tar::Archive::new(tar);
    let mut files = Files::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if entry.header().entry_type().is_file() {
            files.insert(path, content);
        }
    }
    files
}

/// Every file below a folder, by its path.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_same_sources_give_the_same_bytes() {
    let (first, printed) = everything();
    let second = tempfile::tempdir().unwrap();
    assert_eq!(*printed, package_everything(second.path()));
    let (first, second) = (tree(first), tree(second.path()));
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        second.keys().collect::<Vec<_>>()
    );
    for (path, content) in first {
        assert!(content == second[&path], "{} differs", path.display());
    }
}

#[test]
fn every_image_matches_its_digests_and_runs_without_root() {
    let (output, printed) = everything();
    for name in all_packages().chain(HANDLERS).chain([SIDECAR]) {
        let layout = Layout::of(output, name);
        let index = layout.index();
        let image = &index["manifests"][0];
        assert_eq!(
            image["platform"],
            json!({"architecture": "amd64", "os": "linux"})
        );
        let line = format!("{} {name}", image["digest"].as_str().unwrap());
        assert!(printed.contains(&line), "{line} in {printed}");
        let annotations = layout.manifest()["annotations"].clone();
        assert_eq!(annotations["org.opencontainers.image.title"], name);
        assert_eq!(
            annotations["org.opencontainers.image.version"],
            env!("CARGO_PKG_VERSION")
        );
        let configuration = layout.configuration();
        assert_eq!(configuration["architecture"], "amd64");
        let is_run = !CONFIGURATIONS.contains(&name);
        let user = if is_run {
            json!("2000:2000")
        } else {
            Value::Null
        };
        assert_eq!(configuration["config"]["User"], user, "{name}");
        let files = layout.layers().into_iter().flat_map(|(_, files)| files);
        // That of the base comes before.
        let mut boms = files.filter(|(path, _)| path.ends_with(".cdx.json"));
        let (path, bom) = boms.next_back().unwrap();
        assert_eq!(path, format!("{name}.cdx.json"));
        assert_eq!(bom, fs::read(output.join(path)).unwrap());
    }
}

#[test]
fn an_image_contains_only_its_program_which_starts_without_arguments() {
    let (output, _) = everything();
    for name in programs() {
        let layout = Layout::of(output, name);
        let config = &layout.configuration()["config"];
        assert_eq!(config["Entrypoint"], json!(["/program"]), "{name}");
        assert_eq!(config["Cmd"], Value::Null, "{name}");
        let ports = json!({"8080/tcp": {}, "9443/tcp": {}});
        assert_eq!(config["ExposedPorts"], ports, "{name}");
        let stop = name.starts_with("function-").then_some("SIGQUIT");
        assert_eq!(config["StopSignal"].as_str(), stop, "{name}");
        let (role, files) = layout.layers().swap_remove(0);
        assert_eq!(role, None);
        let bom = format!("{name}.cdx.json");
        let mut expected = vec!["program", &bom];
        if name == "provider-asya" {
            expected.push("etc/ssl/certs/ca-certificates.crt");
        }
        expected.sort_unstable();
        assert_eq!(files.keys().collect::<Vec<_>>(), expected, "{name}");
        assert!(files["program"].ends_with(name.as_bytes()));
        let bom: Value = serde_json::from_slice(&files[&bom]).unwrap();
        let components = bom["components"].as_array().unwrap();
        let has = |name: &str| components.iter().any(|component| component["name"] == name);
        assert!(has(name) && has("rustls") && has("tokio"), "{name}");
        assert!(!has("proptest") && !has("syn"), "{name}: what is linked");
        assert_eq!(has("webpki-root-certs"), name == "provider-asya");
    }
}

#[test]
fn sidecar_image_is_named_by_the_functions_that_inject_it() {
    let (output, _) = everything();
    let sidecar = Layout::of(output, SIDECAR);
    let config = &sidecar.configuration()["config"];
    assert_eq!(config["Entrypoint"], json!(["/program"]));
    assert_eq!(config["ExposedPorts"], json!({"9464/tcp": {}}));
    let (_, files) = sidecar.layers().swap_remove(0);
    assert!(files.contains_key("etc/ssl/certs/ca-certificates.crt"));
    let tag = format!("{REGISTRY}/{SIDECAR}:v{}", env!("CARGO_PKG_VERSION"));
    for name in programs() {
        let injects = ["function-inject-sidecar", "function-asya"].contains(&name);
        let expected = injects.then(|| json!([format!("ASYA_SIDECAR_IMAGE={tag}")]));
        let config = &Layout::of(output, name).configuration()["config"];
        assert_eq!(config.get("Env").cloned(), expected, "{name}");
    }
}

#[test]
fn crossplane_accepts_every_package() {
    if components::is_skipped("the crossplane CLI") {
        return;
    }
    let (output, _) = everything();
    for name in all_packages() {
        let (path, stream) = Layout::of(output, name).only_file("base");
        assert_eq!(path, "package.yaml", "{name}");
        let folder = tempfile::tempdir().unwrap();
        let crossplane = |arguments: &[&str]| {
            let done = Command::new(components::program("crossplane"))
                .arg("xpkg")
                .args(arguments)
                .current_dir(folder.path())
                .output()
                .unwrap();
            assert!(done.status.success(), "{name}: {}", talk(&done));
        };
        let archive = output.join(format!("{name}.xpkg"));
        crossplane(&["extract", "--from-xpkg", archive.to_str().unwrap()]);
        let extracted = unzipped(&fs::read(folder.path().join("out.gz")).unwrap());
        assert_eq!(String::from_utf8(extracted).unwrap(), stream, "{name}");
        // Building it anew checks it as a registry's or a cluster's linter would.
        fs::create_dir(folder.path().join("root")).unwrap();
        fs::write(folder.path().join("root/package.yaml"), stream).unwrap();
        crossplane(&["build", "--package-root=root", "--package-file=again.xpkg"]);
    }
}

#[test]
fn packages_have_metadata_and_name_functions_as_crossplane_installs_them() {
    let (output, _) = everything();
    for name in all_packages() {
        let (_, stream) = Layout::of(output, name).only_file("base");
        let documents = actor::yaml::documents(&stream).unwrap();
        assert_eq!(documents[0]["metadata"]["name"], name);
        let needed = documents[0]["spec"]["dependsOn"].as_array();
        for needed in needed.into_iter().flatten() {
            let package = needed["package"].as_str().unwrap();
            assert!(package.starts_with(REGISTRY), "{name}: {package}");
        }
        let run = documents.iter().filter(|d| d["kind"] == "Composition");
        for step in run.flat_map(|d| d["spec"]["pipeline"].as_array().unwrap()) {
            let function = step["functionRef"]["name"].as_str().unwrap();
            let package = function.strip_prefix("asya-").unwrap();
            assert!(PROGRAMS.contains(&package), "{name}: {function}");
        }
        let (path, examples) = Layout::of(output, name).only_file("upbound");
        assert_eq!(path, ".up/examples.yaml");
        assert!(!actor::yaml::documents(&examples).unwrap().is_empty());
    }
}

#[test]
fn an_archive_is_both_an_oci_archive_and_one_for_docker() {
    let (output, _) = everything();
    let archive = fs::read(output.join("asya-rest-adapter.tar")).unwrap();
    let files = files(&archive);
    for (path, content) in tree(&Layout::of(output, "asya-rest-adapter").0) {
        assert!(
            content == files[path.to_str().unwrap()],
            "{}",
            path.display()
        );
    }
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let tag = format!(
        "{REGISTRY}/asya-rest-adapter:v{}",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(manifest[0]["RepoTags"], json!([tag]));
    let layers = manifest[0]["Layers"].as_array().unwrap();
    assert!(
        layers
            .iter()
            .all(|path| files.contains_key(path.as_str().unwrap()))
    );
}

#[test]
fn handlers_are_layered_on_the_base_image_and_skipped_without_one() {
    let (output, _) = everything();
    let base = Layout(output.join("base"));
    for (name, file) in [
        (HANDLERS[0], "app/adapters/kserve_v2.py"),
        (HANDLERS[1], "app/end_actors/__init__.py"),
    ] {
        let layout = Layout::of(output, name);
        let below = base.manifest()["layers"].as_array().unwrap().len();
        let layers = layout.layers();
        assert_eq!(layers.len(), below + 1, "{name}");
        assert!(layers[below].1.contains_key(file), "{name}");
        let annotations = &layout.manifest()["annotations"];
        assert_eq!(
            annotations["org.opencontainers.image.base.digest"],
            base.index()["manifests"][0]["digest"]
        );
        let config = &layout.configuration()["config"];
        assert_eq!(config["WorkingDir"], "/app");
        let path = json!("PYTHONPATH=/app");
        assert!(config["Env"].as_array().unwrap().contains(&path));
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let done = package(elsewhere.path(), &["--only", "asya-legacy", HANDLERS[0]]);
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    let left_out = format!("left out: {}, for it needs --python-base", HANDLERS[0]);
    assert!(
        done.status.success() && printed.contains(&left_out),
        "{printed}"
    );
    let alone = package(elsewhere.path(), &["--only", HANDLERS[0]]);
    assert_eq!(alone.status.code(), Some(2));
    assert!(talk(&alone).contains("give --python-base"));
}

#[test]
fn an_image_for_another_platform_differs_only_in_its_programs() {
    let output = tempfile::tempdir().unwrap();
    let programs = stand_ins(ARM64);
    let programs = programs.path().to_str().unwrap();
    let arm64 = ["--only", "function-asya", "--programs", programs];
    let done = package(
        output.path(),
        &[&arm64[..], &["--platform", "linux/arm64"]].concat(),
    );
    assert!(done.status.success(), "{}", talk(&done));
    let layout = Layout::of(output.path(), "function-asya");
    assert_eq!(layout.configuration()["architecture"], "arm64");
    let amd64 = package(output.path(), &arm64);
    assert_eq!(amd64.status.code(), Some(2));
    let expected = "is for another machine (ELF number 183) than linux/amd64";
    assert!(talk(&amd64).contains(expected), "{}", talk(&amd64));
}

#[test]
fn the_dockerfile_makes_images_of_the_same_form() {
    let text = fs::read_to_string(repository().join("Dockerfile")).unwrap();
    for line in [
        "ENTRYPOINT [\"/program\"]",
        "USER 2000:2000",
        "EXPOSE 8080 9443",
        "ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1",
        "WORKDIR /app",
        "COPY runtime/adapters/*.py adapters/",
        "COPY runtime/end_actors/*.py end_actors/",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}
