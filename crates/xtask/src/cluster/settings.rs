//! Configuration files of a cluster's components.

use std::fs;

use anyhow::{Context, Result};
use serde_json::json;

use super::address::{CONTAINERD, NODE, PODS, REGISTRY, REGISTRY_HOST};
use super::instance::Instance;
use crate::cannot;

/// Folders of the state, some of which are mounted elsewhere inside.
const FOLDERS: [&str; 9] = [
    "pki",
    "log",
    "kubelet",
    "cni",
    "varlog",
    "net.d",
    "registries/_default",
    "varlib/upper",
    "varlib/work",
];

/// Highest number of open files that the kubelet asks for.
const OPEN_FILES: u64 = 1_000_000;

/// Creates the folders of the state and all files but certificates.
pub(super) fn write(instance: &Instance) -> Result<()> {
    for folder in FOLDERS {
        let folder = instance.path(folder);
        fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
    }
    for (name, text) in [
        ("resolv.conf", resolv_conf()),
        ("Corefile", corefile(instance)),
        ("containerd.toml", containerd(instance)),
        ("registries/_default/hosts.toml", registries()),
        ("net.d/10-asya.conflist", network()),
        ("kubelet.yaml", kubelet(instance)),
        ("kube-proxy.yaml", kube_proxy(instance)),
    ] {
        let path = instance.path(name);
        fs::write(&path, text).with_context(|| cannot("write", &path))?;
    }
    Ok(())
}

/// The names of Services also for processes, as pods have them.
fn resolv_conf() -> String {
    format!(
        "nameserver {NODE}\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
    )
}

fn corefile(instance: &Instance) -> String {
    let kubeconfig = instance.kubeconfig();
    format!(
        ". {{\n  bind {NODE}\n  ready {NODE}:8181\n  errors\n  hosts /dev/null {{\n    \
         {NODE} {REGISTRY_HOST}\n    fallthrough\n  }}\n  \
         kubernetes cluster.local in-addr.arpa {{\n    kubeconfig {} asya\n  }}\n  \
         # There is no server to forward to.\n  \
         template ANY ANY . {{\n    rcode NXDOMAIN\n  }}\n}}\n",
        kubeconfig.display()
    )
}

/// `restrict_oom_score_adj`: the kubelet asks for scores below 0, which root without
/// `CAP_SYS_RESOURCE` cannot set; runc then fails with "can't get final child's PID from pipe".
fn containerd(instance: &Instance) -> String {
    let [root, registries, networks] =
        ["containerd", "registries", "net.d"].map(|name| instance.path(name).display().to_string());
    format!(
        r#"version = 2
root = "{root}"
state = "/run/containerd"
[grpc]
  address = "{CONTAINERD}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{registries}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{networks}"
"#
    )
}

/// Images of every registry are pulled from the cluster's own, under the same path.
fn registries() -> String {
    format!("[host.\"http://{REGISTRY}\"]\n  capabilities = [\"pull\", \"resolve\"]\n")
}

fn network() -> String {
    let network = json!({
        "cniVersion": "1.0.0", "name": "asya",
        "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
             "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses",
                      "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}},
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    network.to_string()
}

fn kubelet(instance: &Instance) -> String {
    let settings = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        // Its default refuses cgroup v1 since Kubernetes 1.35.
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        // Cgroups of all pods are below it.
        "cgroupRoot": format!("/{}", instance.cgroup()),
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "address": NODE,
        "authentication": {
            "anonymous": {"enabled": false}, "webhook": {"enabled": false},
            "x509": {"clientCAFile": instance.path("pki/ca.crt")}},
        "authorization": {"mode": "AlwaysAllow"},
        "clusterDNS": [NODE], "clusterDomain": "cluster.local",
        "resolvConf": "/etc/resolv.conf",
        "failSwapOn": false,
        "serializeImagePulls": false,
        // Else it creates /usr/libexec/kubernetes outside.
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
        // A lower score and a higher number of files need CAP_SYS_RESOURCE.
        "oomScoreAdj": 0,
        "maxOpenFiles": open_files(),
        // The disk is not the cluster's alone: that it is full is no reason to evict pods.
        "evictionHard": {
            "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%",
            "nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
    });
    settings.to_string()
}

fn open_files() -> u64 {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    hard_limit(&limits).map_or(OPEN_FILES, |limit| limit.min(OPEN_FILES))
}

/// Hard limit of open files in the text of `/proc/<pid>/limits`.
fn hard_limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn kube_proxy(instance: &Instance) -> String {
    let settings = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "hostnameOverride": "node",
        "clientConnection": {"kubeconfig": instance.kubeconfig()},
        "clusterCIDR": PODS,
        "metricsBindAddress": "127.0.0.1:10249",
        "healthzBindAddress": "127.0.0.1:10256",
        "oomScoreAdj": 0,
        // A network namespace cannot set them.
        "conntrack": {
            "maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    });
    settings.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_asks_for_no_more_files_than_the_hard_limit() {
        let limits = |hard: &str| format!("Max open files            1024    {hard}    files\n");
        assert_eq!(hard_limit(&limits("524288")), Some(524_288));
        assert_eq!(hard_limit(&limits("unlimited")), None);
    }
}
