//! The real programs and definitions that tests judge our output with, from Go modules at pinned
//! versions.
//!
//! Every component is a row of [`components::COMPONENTS`] and a folder `real/<folder>/` with its
//! `go.mod` and `go.sum`, which alone decide the versions, and with Go files where the program is
//! our own.
//! They are built into a cache outside the target folder, `cargo clean` leaves them alone, and a
//! binary whose stamp matches its pins is never built again.

mod cache;
mod components;
mod go;
mod go_version;
mod pins;

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;

pub(crate) use self::cache::Cache;
use self::components::{COMPONENTS, Component};
use self::go::Go;
use self::pins::Pins;
use crate::Verdict;

/// Variable that names the cache folder. Tests read it to find the binaries in its `bin/`.
pub(crate) const DIR_VARIABLE: &str = "ASYA_REAL_DIR";

/// Variable that names a folder with Crossplane core at another version.
pub(crate) const CORE_VARIABLE: &str = "ASYA_CROSSPLANE_DIR";

const UP_TO_DATE: &str = "up to date";

/// Interval at which a build that takes longer is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(30);

/// Action, and components.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only these components; an optional one is built only if it is named
    #[arg(long, num_args = 1.., value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// Show each component's version and state, and build nothing
    #[arg(long)]
    list: bool,
    /// Print the cache folder, and build nothing
    #[arg(long, conflicts_with_all = ["list", "only"])]
    print_dir: bool,
}

impl Options {
    fn selects(&self, component: &Component) -> bool {
        if self.only.is_empty() {
            // A list builds nothing, and shows what there is to ask for.
            self.list || !component.is_optional
        } else {
            self.only.iter().any(|name| name == component.name)
        }
    }
}

fn names() -> PossibleValuesParser {
    COMPONENTS.iter().map(|component| component.name).into()
}

/// Runs `cargo xtask real`.
pub(crate) fn run(root: &Path, options: &Options, out: &mut impl Write) -> Result<Verdict> {
    let cache = Cache::from_environment()?;
    if options.print_dir {
        writeln!(out, "{}", cache.dir().display())?;
        return Ok(Verdict::Holds);
    }
    let pins = pins_of(root, |component| options.selects(component))?;
    if options.list {
        list(&cache, &pins, out)?;
    } else {
        provide(&cache, &Go::on_path(), &pins, out)?;
    }
    Ok(Verdict::Holds)
}

/// The components that a task needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Required components, and optional ones that were built before.
    Usual,
    /// Required components, and the optional ones of these names.
    With(&'static [&'static str]),
    /// Those of these names.
    Only(&'static [&'static str]),
}

/// Builds the components that are not in the cache at their pinned versions, and returns the cache
/// folder.
pub(crate) fn provide_all(root: &Path, extent: Extent, out: &mut impl Write) -> Result<PathBuf> {
    let cache = Cache::from_environment()?;
    let pins = needed(root, &cache, extent)?;
    provide(&cache, &Go::on_path(), &pins, out)?;
    Ok(cache.dir().to_owned())
}

/// Builds Crossplane core at another version, with the pins of its authors, and collects its kinds. Returns the
/// folder that has both, which tests prefer to the cache if [`CORE_VARIABLE`] names it.
pub(crate) fn provide_core(root: &Path, version: &str, out: &mut impl Write) -> Result<PathBuf> {
    let (cache, go) = (Cache::from_environment()?, Go::on_path());
    let cache = Cache::at(cache.dir().join(format!("crossplane-{version}")));
    let mut pins = Vec::new();
    for component in COMPONENTS {
        if component.name.starts_with("crossplane-core") {
            let module = format!("{}@{version}", component.module);
            let source = go.download(&folder(root).join(component.folder), &module)?;
            pins.push(Pins::of_module(component, version, source)?);
        }
    }
    provide(&cache, &go, &pins, out)?;
    Ok(cache.dir().to_owned())
}

/// Returns why the components that must be built cannot be, if Go is missing or too old.
pub(crate) fn go_error(root: &Path, extent: Extent) -> Result<Option<String>> {
    let cache = Cache::from_environment()?;
    let go = Go::on_path();
    for pins in needed(root, &cache, extent)? {
        if !cache.holds(&pins)?
            && let Err(error) = go.check(&pins)
        {
            return Ok(Some(format!("{error:#}")));
        }
    }
    Ok(None)
}

/// Returns whether the component of this name is built only if it is named.
pub(crate) fn is_optional(name: &str) -> bool {
    COMPONENTS
        .iter()
        .any(|component| component.name == name && component.is_optional)
}

/// An optional component that was built once is kept at its pinned version: tests use what is there.
fn needed(root: &Path, cache: &Cache, extent: Extent) -> Result<Vec<Pins>> {
    let mut pins = pins_of(root, |component| match extent {
        Extent::Usual => true,
        Extent::With(names) => !component.is_optional || names.contains(&component.name),
        Extent::Only(names) => names.contains(&component.name),
    })?;
    if extent == Extent::Usual {
        pins.retain(|pins| !pins.component.is_optional || cache.path_of(pins).is_file());
    }
    Ok(pins)
}

/// The page about the components that lies beside their pins.
pub(crate) fn readme(root: &Path) -> Result<String> {
    let mut page = String::from(
        "<!-- Generated by `cargo xtask generate`; do not edit. -->\n\
         # Real components\n\n\
         `cargo xtask real` builds these programs, and collects these custom resource definitions and stages, \
         for the tests, each from the `go.mod` and `go.sum` of its folder here.\n\
         To change a version, change both files with the Go tool, then run \
         `cargo xtask generate`.\n\
         An optional component is built only if it is named, as by \
         `cargo xtask real --only keda-operator`; without it, the tests that need it \
         are skipped, and `cargo xtask test` counts them.\n\n\
         | Name | Version | Folder | Go package, or folders of the module with definitions |\n|---|---|---|---|\n",
    );
    for pins in pins_of(root, |_| true)? {
        let Component {
            name, folder, part, ..
        } = pins.component;
        let source = part.source();
        let version = pins.version;
        let mark = if pins.component.is_optional {
            " (optional)"
        } else {
            ""
        };
        writeln!(
            page,
            "| `{name}`{mark} | {version} | `{folder}` | `{source}` |"
        )?;
    }
    Ok(page)
}

/// The pinned version of Kubernetes, such as `v1.35.4`.
pub(crate) fn kubernetes_version(root: &Path) -> Result<String> {
    Ok(kubernetes(root)?.version)
}

/// Returns the folder of the pinned Kubernetes in Go's cache; its sources are fetched if they are
/// missing.
pub(crate) fn kubernetes_module(root: &Path) -> Result<PathBuf> {
    Go::on_path().module_folder(&kubernetes(root)?)
}

fn kubernetes(root: &Path) -> Result<Pins> {
    let pins = pins_of(root, |component| component.name == "kube-apiserver")?;
    let mut pins = pins.into_iter();
    pins.next().context("no component is kube-apiserver")
}

/// Returns the folder that contains those of the pins.
fn folder(root: &Path) -> PathBuf {
    root.join("crates/xtask/real")
}

fn pins_of(root: &Path, is_wanted: impl Fn(&Component) -> bool) -> Result<Vec<Pins>> {
    COMPONENTS
        .iter()
        .filter(|component| is_wanted(component))
        .map(|component| Pins::read(&folder(root), component))
        .collect()
}

fn list(cache: &Cache, pins: &[Pins], out: &mut impl Write) -> Result<()> {
    for pins in pins {
        let state = match (cache.holds(pins)?, pins.component.is_optional) {
            (true, _) => UP_TO_DATE,
            (false, true) => "not built, optional",
            (false, false) => "not built",
        };
        report(cache, pins, state, out)?;
    }
    Ok(())
}

fn provide(cache: &Cache, go: &Go, pins: &[Pins], out: &mut impl Write) -> Result<()> {
    let mut missing = Vec::new();
    for pins in pins {
        if cache.holds(pins)? {
            report(cache, pins, UP_TO_DATE, out)?;
        } else {
            missing.push(pins);
        }
    }
    for (index, pins) in missing.iter().enumerate() {
        let position = format!("[{}/{}] ", index + 1, missing.len());
        build(cache, go, pins, &position, out)?;
    }
    Ok(())
}

fn build(cache: &Cache, go: &Go, pins: &Pins, position: &str, out: &mut impl Write) -> Result<()> {
    go.check(pins)?;
    let _lock = cache.lock(out)?;
    if cache.holds(pins)? {
        return report(cache, pins, "built by another run", out);
    }
    let start = Instant::now();
    writeln!(
        out,
        "{position}{pins}: building (minutes, while Go's build cache is cold)"
    )?;
    out.flush()?;
    let store = || cache.store(pins, |output| go.make(pins, output));
    with_progress(store, || {
        let elapsed = start.elapsed().as_secs();
        writeln!(out, "{position}{pins}: building, {elapsed} s so far")?;
        Ok(out.flush()?)
    })?
    .with_context(|| format!("cannot build {:?}", pins.component.name))?;
    let state = format!("built in {} s", start.elapsed().as_secs());
    write!(out, "{position}")?;
    report(cache, pins, &state, out)
}

/// Does `work` in another thread, and calls `report` every now and then until it has ended.
fn with_progress<T: Send>(
    work: impl FnOnce() -> T + Send,
    mut report: impl FnMut() -> Result<()>,
) -> Result<T> {
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        scope.spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(PROGRESS_INTERVAL) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => report()?,
                Err(error @ RecvTimeoutError::Disconnected) => {
                    return Err(error).context("a build ended without a result");
                }
            }
        }
    })
}

fn report(cache: &Cache, pins: &Pins, state: &str, out: &mut impl Write) -> Result<()> {
    let path = cache.path_of(pins);
    Ok(writeln!(out, "{pins}: {state} ({})", path.display())?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::components::Part;
    use super::*;

    const DEMO: Component = Component {
        name: "demo",
        folder: "demo",
        module: "example.org/demo/v2",
        part: Part::Program {
            package: "example.org/demo/v2/cmd/demo",
            variables: &[("example.org/demo/v2/version.version", "{version}")],
        },
        is_optional: false,
    };

    /// A cache, the pins of one component, and what stands for a Go toolchain.
    struct Workbench {
        folder: tempfile::TempDir,
    }

    impl Workbench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let pins = folder.path().join("pins/demo");
            fs::create_dir_all(&pins).unwrap();
            let module = "module asya.sh/real/demo\n\ngo 1.26.0\n\n\
                          require example.org/demo/v2 v2.1.0\n";
            fs::write(pins.join("go.mod"), module).unwrap();
            fs::write(pins.join("go.sum"), "example.org/demo/v2 v2.1.0 h1:x=\n").unwrap();
            Self { folder }
        }

        /// Provides the program with the script `testdata/<go>` in place of Go.
        fn provide(&self, go: &str) -> Result<String> {
            self.provide_component(&DEMO, go)
        }

        fn provide_component(&self, component: &'static Component, go: &str) -> Result<String> {
            let go = Go::at(
                Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("testdata")
                    .join(go),
            );
            let cache = Cache::at(self.folder.path().join("cache"));
            let pins = Pins::read(&self.folder.path().join("pins"), component)?;
            let mut out = Vec::new();
            provide(&cache, &go, &[pins], &mut out)?;
            // The folder differs from run to run.
            let folder = self.folder.path().display().to_string();
            Ok(String::from_utf8(out).unwrap().replace(&folder, ""))
        }

        /// Output of the stand-in for Go in place of the program: its own command line.
        fn built(&self) -> String {
            fs::read_to_string(self.folder.path().join("cache/bin/demo")).unwrap()
        }
    }

    #[test]
    fn a_missing_component_is_built_with_its_pinned_version_inside() {
        let bench = Workbench::new();
        let printed = bench.provide("go-works").unwrap();
        assert!(
            printed.contains("\n[1/1] demo v2.1.0: built in "),
            "{printed:?}"
        );
        assert!(printed.ends_with(" s (/cache/bin/demo)\n"), "{printed:?}");
        let built = bench.built();
        for part in [
            "-mod=readonly",
            "-trimpath",
            "-ldflags -s -w -X example.org/demo/v2/version.version=v2.1.0 ",
            "CGO_ENABLED=0",
        ] {
            assert!(built.contains(part), "no {part:?} in {built:?}");
        }
    }

    #[test]
    fn an_optional_component_is_built_only_if_it_is_named_and_always_listed() {
        let names = |options: &Options| -> Vec<&str> {
            let selected = COMPONENTS
                .iter()
                .filter(|component| options.selects(component));
            selected.map(|component| component.name).collect()
        };
        let operator = "keda-operator";
        for (reason, only, list, expected) in [
            ("all of the usual ones", None, false, false),
            ("it is named", Some(operator), false, true),
            ("another is named", Some("kubectl"), false, false),
            ("the list shows what there is", None, true, true),
        ] {
            let only = only.into_iter().map(str::to_owned).collect();
            let options = Options {
                only,
                list,
                print_dir: false,
            };
            assert_eq!(names(&options).contains(&operator), expected, "{reason}");
        }
    }

    #[test]
    fn the_definitions_of_a_module_become_one_stream() {
        const DEFINITIONS: Component = Component {
            name: "kinds",
            part: Part::Definitions {
                folders: "crds more",
            },
            ..DEMO
        };
        let bench = Workbench::new();
        let module = bench.folder.path().join("pins/demo/module");
        let (crds, more) = (module.join("crds"), module.join("more"));
        fs::create_dir_all(&crds).unwrap();
        fs::create_dir_all(&more).unwrap();
        fs::write(crds.join("b.yaml"), "---\nkind: B\n").unwrap();
        fs::write(crds.join("a.yaml"), "kind: A\n").unwrap();
        fs::write(crds.join("README.md"), "not one of them").unwrap();
        fs::write(more.join("kustomization.yaml"), "neither is this").unwrap();
        fs::write(more.join("0.yaml"), "kind: C\n").unwrap();
        bench.provide_component(&DEFINITIONS, "go-works").unwrap();
        let stream = fs::read_to_string(bench.folder.path().join("cache/crds/kinds.yaml")).unwrap();
        assert_eq!(stream, "---\nkind: A\n---\nkind: B\n---\nkind: C\n");
    }

    #[test]
    fn a_component_is_built_once_and_needs_no_go_afterwards() {
        let bench = Workbench::new();
        bench.provide("go-works").unwrap();
        assert_eq!(
            bench.provide("go-is-absent").unwrap(),
            "demo v2.1.0: up to date (/cache/bin/demo)\n"
        );
    }

    #[test]
    fn a_changed_pin_or_a_lost_binary_is_built_again() {
        for (reason, change) in [
            ("a checksum differs", "pins/demo/go.sum"),
            ("a file of our own is new", "pins/demo/main.go"),
            ("the stamp is of something else", "cache/bin/demo.stamp"),
        ] {
            let bench = Workbench::new();
            bench.provide("go-works").unwrap();
            fs::write(bench.folder.path().join(change), "changed\n").unwrap();
            assert!(
                bench.provide("go-works").unwrap().contains(": built in"),
                "{reason}"
            );
        }
        let bench = Workbench::new();
        bench.provide("go-works").unwrap();
        fs::remove_file(bench.folder.path().join("cache/bin/demo")).unwrap();
        assert!(
            bench.provide("go-works").unwrap().contains(": built in"),
            "the binary is missing"
        );
    }

    #[test]
    fn a_failed_build_shows_the_last_lines_and_leaves_no_artifact() {
        let bench = Workbench::new();
        let error = format!("{:#}", bench.provide("go-fails").unwrap_err());
        assert_eq!(
            error,
            "cannot build \"demo\": `go build` of example.org/demo/v2/cmd/demo ended with exit \
             status: 1, its last lines:\n  main.go:3: undefined: x\n  too many errors"
        );
        let left = fs::read_dir(bench.folder.path().join("cache/bin"))
            .unwrap()
            .count();
        assert_eq!(left, 0, "neither binary nor stamp");
    }

    #[test]
    fn an_old_or_absent_go_is_named_with_the_version_that_is_needed() {
        for (go, message) in [
            (
                "go-is-old",
                "Go 1.25.3 is too old to build \"demo\": install Go 1.26.0 or later",
            ),
            (
                "go-is-absent",
                "Go is not installed, but needed to build \"demo\": install Go 1.26.0 or later",
            ),
        ] {
            let error = format!("{:#}", Workbench::new().provide(go).unwrap_err());
            assert_eq!(error, message);
        }
    }
}
