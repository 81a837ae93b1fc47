//! Kubernetes of one node: control plane, container runtime, kubelet, Service network, DNS, registry.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::address::{CONTAINERD, NODE, REGISTRY_PORT, SERVICES};
use super::certificates::FRONT_PROXY;
use super::instance::Instance;
use super::process::Processes;
use crate::workspace::output_of;

/// Timeout of the start of each component.
const TIMEOUT: Duration = Duration::from_mins(3);

/// Starts everything, and returns when pods can run.
pub(super) fn start(instance: &Instance, processes: &mut Processes<'_>) -> Result<()> {
    let program = |name: &str| Command::new(instance.program(name));
    let kubectl = |line: &str| kubectl(instance, line);
    let mut etcd = program("etcd");
    args(
        &mut etcd,
        "--data-dir etcd --unsafe-no-fsync --log-level error --listen-peer-urls http://127.0.0.1:0 \
         --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379",
    );
    processes.start("etcd", &mut etcd)?;
    let mut containerd = Command::new("containerd");
    args(&mut containerd, "--config containerd.toml");
    processes.start("containerd", &mut containerd)?;
    let mut registry = program("registry");
    registry.args(["--port", &REGISTRY_PORT.to_string()]);
    processes.start("registry", &mut registry)?;
    let mut api_server = program("kube-apiserver");
    args(
        &mut api_server,
        &format!(
            "--etcd-servers http://127.0.0.1:2379 --bind-address 0.0.0.0 --advertise-address {NODE} \
             --cert-dir certs --client-ca-file pki/ca.crt --tls-cert-file pki/apiserver.crt \
             --tls-private-key-file pki/apiserver.key --kubelet-client-certificate pki/admin.crt \
             --kubelet-client-key pki/admin.key --kubelet-preferred-address-types InternalIP \
             --service-account-issuer https://kubernetes.default.svc \
             --service-account-key-file pki/sa.pub --service-account-signing-key-file pki/sa.key \
             --service-cluster-ip-range {SERVICES} --authorization-mode Node,RBAC \
             --enable-admission-plugins NodeRestriction --allow-privileged \
             --enable-priority-and-fairness=false \
             --requestheader-client-ca-file pki/front-proxy.crt \
             --requestheader-allowed-names {FRONT_PROXY} \
             --requestheader-username-headers X-Remote-User \
             --requestheader-group-headers X-Remote-Group \
             --requestheader-extra-headers-prefix X-Remote-Extra- \
             --proxy-client-cert-file pki/front-proxy.crt \
             --proxy-client-key-file pki/front-proxy.key"
        ),
    );
    processes.start("kube-apiserver", &mut api_server)?;
    processes.wait("containerd answers", TIMEOUT, || ctr("version"))?;
    let pause = instance.path("pause.tar");
    output_of(ctr("--namespace k8s.io images import --base-name localhost/pause").arg(pause))?;
    processes.wait("API server ready", TIMEOUT, || kubectl("get --raw /readyz"))?;
    start_node(instance, processes)?;
    processes.wait("node Ready", TIMEOUT, || {
        kubectl("wait node/node --for=condition=Ready --timeout=2s")
    })?;
    for (what, url) in [
        ("CoreDNS ready", format!("http://{NODE}:8181/ready")),
        (
            "kube-proxy ready",
            "http://127.0.0.1:10256/healthz".to_owned(),
        ),
    ] {
        processes.wait(what, TIMEOUT, || {
            let mut curl = Command::new("curl");
            curl.args(["--fail", "--silent", "--show-error", &url]);
            curl
        })?;
    }
    // Pods are refused before it exists.
    processes.wait("pods can run", TIMEOUT, || {
        kubectl("get serviceaccount default")
    })
}

/// Starts what uses the API server: controllers, scheduler, kubelet, Service network, DNS.
fn start_node(instance: &Instance, processes: &mut Processes<'_>) -> Result<()> {
    let program = |name: &str| Command::new(instance.program(name));
    let mut manager = program("kube-controller-manager");
    args(
        &mut manager,
        "--kubeconfig admin.kubeconfig --bind-address 127.0.0.1 --leader-elect=false \
         --service-account-private-key-file pki/sa.key --root-ca-file pki/ca.crt \
         --flex-volume-plugin-dir /var/lib/kubelet/volume-plugins",
    );
    manager.args(["--controllers", "*,-cloud-node-lifecycle-controller"]);
    processes.start("kube-controller-manager", &mut manager)?;
    let mut scheduler = program("kube-scheduler");
    args(
        &mut scheduler,
        "--kubeconfig admin.kubeconfig --bind-address 127.0.0.1 --leader-elect=false",
    );
    processes.start("kube-scheduler", &mut scheduler)?;
    let mut kubelet = program("kubelet");
    args(
        &mut kubelet,
        &format!(
            "--config kubelet.yaml --kubeconfig node.kubeconfig --hostname-override node --node-ip {NODE}"
        ),
    );
    processes.start("kubelet", &mut kubelet)?;
    let mut proxy = program("kube-proxy");
    args(&mut proxy, "--config kube-proxy.yaml");
    processes.start("kube-proxy", &mut proxy)?;
    let mut dns = program("coredns");
    args(&mut dns, "-conf Corefile");
    processes.start("coredns", &mut dns)
}

/// A call of kubectl with these arguments, which have spaces between them.
pub(super) fn kubectl(instance: &Instance, line: &str) -> Command {
    let mut command = Command::new(instance.program("kubectl"));
    args(&mut command, line);
    command.env("KUBECONFIG", instance.kubeconfig());
    command
}

fn ctr(line: &str) -> Command {
    let mut command = Command::new("ctr");
    command.args(["--address", CONTAINERD]);
    args(&mut command, line);
    command
}

fn args(command: &mut Command, line: &str) {
    command.args(line.split_whitespace());
}
