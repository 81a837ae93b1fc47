//! Certificates of the control plane, and the kubeconfigs that use them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::address::{API_SERVICE, NODE};
use super::instance::Instance;
use crate::cannot;
use crate::workspace::output_of;

/// Days for which certificates are valid: longer than anybody keeps such a cluster.
const DAYS: &str = "365";

/// Name by which the API server calls servers of further APIs.
pub(super) const FRONT_PROXY: &str = "front-proxy";

/// Writes the folder `pki`, and the kubeconfigs of the cluster-admin and of the node.
pub(super) fn write(instance: &Instance) -> Result<()> {
    let folder = instance.path("pki");
    let openssl = |line: &str| openssl(&folder, line);
    openssl("ecparam -name prime256v1 -genkey -noout -out ca.key")?;
    openssl(&format!(
        "req -x509 -new -key ca.key -subj /CN=asya-cluster -days {DAYS} -out ca.crt"
    ))?;
    let names = format!(
        "IP:{NODE},IP:{API_SERVICE},IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,\
         DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    );
    let leaves = [
        ("apiserver", "/CN=kube-apiserver", names.as_str()),
        ("admin", "/O=system:masters/CN=admin", "DNS:admin"),
        // The name by which the API server's Node authorizer knows the kubelet of node `node`.
        ("node", "/O=system:nodes/CN=system:node:node", "DNS:node"),
    ];
    for (name, subject, alternatives) in leaves {
        let extensions = folder.join(format!("{name}.ext"));
        let text =
            format!("subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n");
        fs::write(&extensions, text).with_context(|| cannot("write", &extensions))?;
        openssl(&format!(
            "ecparam -name prime256v1 -genkey -noout -out {name}.key"
        ))?;
        openssl(&format!(
            "req -new -key {name}.key -subj {subject} -out {name}.csr"
        ))?;
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days {DAYS} \
             -extfile {name}.ext -out {name}.crt"
        ))?;
    }
    // By its own authority, servers of further APIs know the API server, which forwards users to them.
    openssl("ecparam -name prime256v1 -genkey -noout -out front-proxy.key")?;
    openssl(&format!(
        "req -x509 -new -key front-proxy.key -subj /CN={FRONT_PROXY} -days {DAYS} -out front-proxy.crt"
    ))?;
    openssl("genrsa -out sa.key 2048")?;
    openssl("rsa -in sa.key -pubout -out sa.pub")?;
    write_kubeconfig(instance, "admin")?;
    write_kubeconfig(instance, "node")
}

fn openssl(folder: &Path, line: &str) -> Result<()> {
    let mut command = Command::new("openssl");
    command.args(line.split(' ')).current_dir(folder);
    output_of(&mut command).map(drop)
}

fn write_kubeconfig(instance: &Instance, user: &str) -> Result<()> {
    let pki = instance.path("pki");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "asya",
        "contexts": [{"name": "asya", "context": {"cluster": "asya", "user": user}}],
        "clusters": [{"name": "asya", "cluster": {
            "server": format!("https://{NODE}:6443"), "certificate-authority": pki.join("ca.crt")}}],
        "users": [{"name": user, "user": {
            "client-certificate": pki.join(format!("{user}.crt")),
            "client-key": pki.join(format!("{user}.key"))}}],
    });
    let path = instance.path(&format!("{user}.kubeconfig"));
    fs::write(&path, kubeconfig.to_string()).with_context(|| cannot("write", &path))
}
