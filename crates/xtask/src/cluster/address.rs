//! Addresses and names, the same in every cluster: each has a network namespace of its own.

/// Address of the node, and of the API server and CoreDNS.
pub(super) const NODE: &str = "10.250.0.1";

/// Range of pods.
pub(super) const PODS: &str = "10.244.0.0/24";

/// Range of Services.
pub(super) const SERVICES: &str = "10.96.0.0/16";

/// Address of the API server's Service: the first one of the range.
pub(super) const API_SERVICE: &str = "10.96.0.1";

/// Port of the registry, on loopback and on the node's address.
pub(super) const REGISTRY_PORT: u16 = 5000;

/// Host and port of the registry. Crossplane speaks plain HTTP to names that end with `.localhost`.
pub(super) const REGISTRY: &str = "registry.localhost:5000";

/// Host name of the registry.
pub(super) const REGISTRY_HOST: &str = "registry.localhost";

/// Registry and path of our packages and images.
pub(super) const PACKAGES: &str = "registry.localhost:5000/asya";

/// Port of moto, which stands in for SQS, on the node's address.
pub(super) const MOTO_PORT: u16 = 5001;

/// Socket of containerd, in the cluster's own `/run`.
pub(super) const CONTAINERD: &str = "/run/containerd/containerd.sock";
