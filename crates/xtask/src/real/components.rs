//! The table of real components.

/// One thing that the tests need and that a Go module has.
#[derive(Debug)]
pub(crate) struct Component {
    /// Its name, which is what `--only` takes.
    pub(crate) name: &'static str,
    /// Folder below `crates/xtask/real/` that holds `go.mod` and `go.sum`.
    /// Components of one Go module share it.
    pub(crate) folder: &'static str,
    /// The Go module whose required version is the component's version.
    pub(crate) module: &'static str,
    /// Product of the module.
    pub(crate) part: Part,
    /// True if it is built only if it is named. Its tests are skipped while it is missing.
    pub(crate) is_optional: bool,
}

/// Product of a Go module.
#[derive(Debug)]
pub(crate) enum Part {
    /// A program, `bin/<name>` in the cache.
    Program {
        /// The package with the program's `main`.
        package: &'static str,
        /// Go variables set by the linker; `{version}` stands for the pinned version, `v` included.
        variables: &'static [(&'static str, &'static str)],
    },
    /// The objects of folders of the module, most often custom resource definitions, as one stream:
    /// `crds/<name>.yaml` in the cache.
    Definitions {
        /// The folders in the module, with a space between them.
        folders: &'static str,
    },
}

impl Part {
    /// Returns its package, or its folders, in the module.
    pub(crate) fn source(&self) -> &'static str {
        match self {
            Self::Program { package, .. } => package,
            Self::Definitions { folders } => folders,
        }
    }

    /// Variables that the linker sets.
    pub(crate) fn variables(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Program { variables, .. } => variables,
            Self::Definitions { .. } => &[],
        }
    }
}

/// A build from the module registry does not know its own version, and core without one refuses
/// every package that asks for a range of Crossplane versions.
const CROSSPLANE_VERSION: &[(&str, &str)] = &[
    (
        "github.com/crossplane/crossplane-runtime/v2/pkg/version.version",
        "{version}",
    ),
    // Its place until 2.2. The linker ignores what is not there.
    (
        "github.com/crossplane/crossplane/v2/internal/version.version",
        "{version}",
    ),
];

/// The API server reports this version, and clients decide by it what it can do.
const KUBERNETES_VERSION: &[(&str, &str)] =
    &[("k8s.io/component-base/version.gitVersion", "{version}")];

/// Kwok shows it as the version of its nodes.
const KWOK_VERSION: &[(&str, &str)] = &[("sigs.k8s.io/kwok/pkg/consts.Version", "{version}")];

/// The operator writes it to its log.
const KEDA_VERSION: &[(&str, &str)] =
    &[("github.com/kedacore/keda/v2/version.Version", "{version}")];

/// In the order in which they are built: core first, since the others reuse much of what Go then
/// has in its build cache. KEDA's operator last: it takes as long as half of the others.
pub(crate) const COMPONENTS: &[Component] = &[
    Component {
        name: "crossplane-core",
        folder: "crossplane-core",
        module: "github.com/crossplane/crossplane/v2",
        part: Part::Program {
            package: "github.com/crossplane/crossplane/v2/cmd/crossplane",
            variables: CROSSPLANE_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "crossplane",
        folder: "crossplane-cli",
        module: "github.com/crossplane/cli/v2",
        part: Part::Program {
            package: "github.com/crossplane/cli/v2/cmd/crossplane",
            variables: CROSSPLANE_VERSION,
        },
        is_optional: false,
    },
    Component {
        // The version that kubeadm of the pinned Kubernetes deploys (its `DefaultEtcdVersion`).
        name: "etcd",
        folder: "etcd",
        module: "go.etcd.io/etcd/server/v3",
        part: Part::Program {
            package: "go.etcd.io/etcd/server/v3",
            variables: &[],
        },
        is_optional: false,
    },
    Component {
        name: "kube-apiserver",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kube-apiserver",
            variables: KUBERNETES_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "kube-controller-manager",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kube-controller-manager",
            variables: KUBERNETES_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "kube-scheduler",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kube-scheduler",
            variables: KUBERNETES_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "kubectl",
        folder: "kubernetes",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kubectl",
            variables: KUBERNETES_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "kwok",
        folder: "kwok",
        module: "sigs.k8s.io/kwok",
        part: Part::Program {
            package: "sigs.k8s.io/kwok/cmd/kwok",
            variables: KWOK_VERSION,
        },
        is_optional: false,
    },
    Component {
        name: "kwok-stages",
        folder: "kwok",
        module: "sigs.k8s.io/kwok",
        part: Part::Definitions {
            folders: "kustomize/stage/node/fast kustomize/stage/node/heartbeat kustomize/stage/pod/fast",
        },
        is_optional: false,
    },
    Component {
        name: "registry",
        // Core reads packages with the same module.
        folder: "crossplane-core",
        module: "github.com/google/go-containerregistry",
        part: Part::Program {
            package: "github.com/google/go-containerregistry/cmd/registry",
            variables: &[],
        },
        is_optional: false,
    },
    Component {
        // A program of our own around the parsers of Kubernetes and Go.
        name: "reference-parsers",
        folder: "parsers",
        module: "k8s.io/apimachinery",
        part: Part::Program {
            package: "asya.sh/real/parsers",
            variables: &[],
        },
        is_optional: false,
    },
    Component {
        name: "crossplane-core-kinds",
        folder: "crossplane-core",
        module: "github.com/crossplane/crossplane/v2",
        part: Part::Definitions {
            folders: "cluster/crds",
        },
        is_optional: false,
    },
    Component {
        name: "keda-kinds",
        folder: "keda",
        module: "github.com/kedacore/keda/v2",
        part: Part::Definitions {
            folders: "config/crd/bases",
        },
        is_optional: false,
    },
    Component {
        // Checks the workflows in `.github/`.
        name: "actionlint",
        folder: "actionlint",
        module: "github.com/rhysd/actionlint",
        part: Part::Program {
            package: "github.com/rhysd/actionlint/cmd/actionlint",
            variables: &[],
        },
        is_optional: false,
    },
    Component {
        name: "keda-operator",
        folder: "keda",
        module: "github.com/kedacore/keda/v2",
        part: Part::Program {
            package: "github.com/kedacore/keda/v2/cmd/operator",
            variables: KEDA_VERSION,
        },
        is_optional: true,
    },
    // Those of `cargo xtask cluster`.
    Component {
        name: "keda-adapter",
        folder: "keda",
        module: "github.com/kedacore/keda/v2",
        part: Part::Program {
            package: "github.com/kedacore/keda/v2/cmd/adapter",
            variables: KEDA_VERSION,
        },
        is_optional: true,
    },
    Component {
        name: "keda-operator-manifests",
        folder: "keda",
        module: "github.com/kedacore/keda/v2",
        part: Part::Definitions {
            folders: "config/service_account config/rbac config/manager config/metrics-server",
        },
        is_optional: true,
    },
    Component {
        name: "crossplane-core-webhooks",
        folder: "crossplane-core",
        module: "github.com/crossplane/crossplane/v2",
        part: Part::Definitions {
            folders: "cluster/webhookconfigurations",
        },
        is_optional: true,
    },
    Component {
        // In another folder than the control plane, whose pins would change with these.
        name: "kubelet",
        folder: "node",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kubelet",
            variables: KUBERNETES_VERSION,
        },
        is_optional: true,
    },
    Component {
        name: "kube-proxy",
        folder: "node",
        module: "k8s.io/kubernetes",
        part: Part::Program {
            package: "k8s.io/kubernetes/cmd/kube-proxy",
            variables: KUBERNETES_VERSION,
        },
        is_optional: true,
    },
    Component {
        // A program of our own with few of CoreDNS's plugins.
        name: "coredns",
        folder: "coredns",
        module: "github.com/coredns/coredns",
        part: Part::Program {
            package: "asya.sh/real/coredns",
            variables: &[],
        },
        is_optional: true,
    },
];
