//! Catalogue of packages and their content.

/// One thing that is packaged: an image, and for functions, the provider and Configurations also a
/// Crossplane package.
#[derive(Debug)]
pub(super) struct Product {
    /// Name of the image's repository and, for programs, of the folder below `package/`.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A function or provider: a program of that name in an image of its own.
    Program {
        /// True if it calls servers whose certificates it must be able to judge.
        calls_out: bool,
        /// Manifests that show its use, relative to the repository.
        examples: &'static [&'static str],
    },
    /// A program of that name in an image of its own, which pods run.
    Image {
        /// Description for people.
        description: &'static str,
        /// Ports that it listens on.
        ports: &'static [u16],
    },
    /// Definitions and Compositions.
    Configuration {
        /// Its package metadata, relative to the repository.
        metadata: &'static str,
        /// Its payload, relative to the repository.
        files: &'static [&'static str],
    },
    /// Handlers in Python, for the container `asya-runtime`.
    Handlers {
        /// Description for people.
        description: &'static str,
        /// Folder of the Python package, relative to the repository.
        folder: &'static str,
    },
}

/// Name of the sidecar, and of its image's repository.
pub(super) const SIDECAR: &str = "asya-sidecar";

const SIX_STEPS: &str = "apis/asyncactors.asya.sh/composition.yaml";
const ONE_STEP: &str = "apis/one-step.asyncactors.asya.sh/composition.yaml";

/// Definition of the kinds that users of a Configuration write; the same for all three.
pub(super) const ACTOR: &[&str] = &[
    "examples/gpu-inference/platform.yaml",
    "examples/gpu-inference/flavors.yaml",
    "examples/gpu-inference/xr.yaml",
];

/// A function is shown in the Composition that runs it.
const fn function(name: &'static str, examples: &'static [&'static str]) -> Product {
    let kind = Kind::Program {
        calls_out: false,
        examples,
    };
    Product { name, kind }
}

/// All products, programs first.
pub(super) const PRODUCTS: &[Product] = &[
    function("function-resolve-flavors", &[SIX_STEPS]),
    function("function-render-queue", &[SIX_STEPS]),
    function("function-render-deployment", &[SIX_STEPS]),
    function("function-inject-sidecar", &[SIX_STEPS]),
    function("function-render-scaledobject", &[SIX_STEPS]),
    function("function-report-status", &[SIX_STEPS]),
    function("function-asya", &[ONE_STEP]),
    Product {
        name: "provider-asya",
        kind: Kind::Program {
            calls_out: true,
            examples: &["package/provider-asya/examples/queue.yaml"],
        },
    },
    Product {
        name: SIDECAR,
        kind: Kind::Image {
            description: "The sidecar of actors: takes messages from a queue, calls the runtime, sends results on.",
            ports: &[9464],
        },
    },
    Product {
        name: "asya",
        kind: Kind::Configuration {
            metadata: "crossplane.yaml",
            files: &[
                "apis/asyncactors.asya.sh/definition.yaml",
                SIX_STEPS,
                ONE_STEP,
            ],
        },
    },
    Product {
        name: "asya-one-step",
        kind: Kind::Configuration {
            metadata: "package/asya-one-step/crossplane.yaml",
            files: &[
                "apis/one-step.asyncactors.asya.sh/definition.yaml",
                ONE_STEP,
            ],
        },
    },
    Product {
        name: "asya-legacy",
        kind: Kind::Configuration {
            metadata: "package/asya-legacy/crossplane.yaml",
            files: &[
                "apis/xasyncactors.asya.sh/definition.yaml",
                "apis/xasyncactors.asya.sh/composition.yaml",
            ],
        },
    },
    Product {
        name: "asya-rest-adapter",
        kind: Kind::Handlers {
            description: "Handlers that forward messages to inference servers.",
            folder: "runtime/adapters",
        },
    },
    Product {
        name: "asya-end-actors",
        kind: Kind::Handlers {
            description: "Handlers of the actors at which routes end.",
            folder: "runtime/end_actors",
        },
    },
];
