//! The table of real components.

/// One Go program that is built for the tests.
#[derive(Debug)]
pub(crate) struct Component {
    /// File name in the cache's `bin/`, and what `--only` takes.
    pub(crate) name: &'static str,
    /// Folder below `crates/xtask/real/` that holds `go.mod` and `go.sum`.
    /// Programs of one Go module share it.
    pub(crate) folder: &'static str,
    /// The Go module whose required version is the component's version.
    pub(crate) module: &'static str,
    /// The package with the program's `main`.
    pub(crate) package: &'static str,
    /// Go variables set by the linker; `{version}` stands for the pinned version, `v` included.
    pub(crate) variables: &'static [(&'static str, &'static str)],
}

/// A build from the module registry does not know its own version, and core without one refuses
/// every package that asks for a range of Crossplane versions.
const CROSSPLANE_VERSION: &[(&str, &str)] = &[(
    "github.com/crossplane/crossplane-runtime/v2/pkg/version.version",
    "{version}",
)];

/// The API server reports this version, and clients decide by it what it can do.
const KUBERNETES_VERSION: &[(&str, &str)] =
    &[("k8s.io/component-base/version.gitVersion", "{version}")];

/// In the order in which they are built: core first, since the others reuse much of what Go then
/// has in its build cache.
pub(crate) const COMPONENTS: &[Component] = &[
    Component {
        name: "crossplane-core",
        folder: "crossplane-core",
        module: "github.com/crossplane/crossplane/v2",
        package: "github.com/crossplane/crossplane/v2/cmd/crossplane",
        variables: CROSSPLANE_VERSION,
    },
    Component {
        name: "crossplane",
        folder: "crossplane-cli",
        module: "github.com/crossplane/cli/v2",
        package: "github.com/crossplane/cli/v2/cmd/crossplane",
        variables: CROSSPLANE_VERSION,
    },
    Component {
        name: "kube-apiserver",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        variables: KUBERNETES_VERSION,
    },
    Component {
        name: "kube-controller-manager",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        variables: KUBERNETES_VERSION,
    },
    Component {
        name: "kubectl",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        package: "k8s.io/kubernetes/cmd/kubectl",
        variables: KUBERNETES_VERSION,
    },
];
