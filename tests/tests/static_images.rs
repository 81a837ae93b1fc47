//! Images whose programs are built statically, with nothing around them but what a pod adds: they resolve names
//! as pods do, and answer probes. A static C library could fail at both without its shared parts.
//!
//! Ignored by default, because a static build takes many minutes. It runs as root, which `chroot` needs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;
use test_cluster::ports;
use tests::packages::{self, SIDECAR};
use tests::program::talk;

const REGISTRY: &str = "registry.example.org/asya";
/// Folder with static programs; without it they are built.
const PROGRAMS: &str = "ASYA_STATIC_PROGRAMS";
/// Address of the name server, of its own on loopback.
const NAME_SERVER: &str = "127.53.0.1";
/// What the name server knows: a Service, as the cluster's DNS knows it.
const SERVICE: &str = "broker.queues.svc.cluster.local";
/// Names for which programs ask, and by what they are found.
const NAMES: [(&str, &str); 3] = [
    (SERVICE, "DNS"),
    ("broker.queues", "DNS, by a search domain"),
    ("aliased", "/etc/hosts, as hostAliases are"),
];
const TIMEOUT: Duration = Duration::from_mins(1);

/// The unpacked image of a program, with the files that a pod adds.
struct Root(TempDir);

impl Root {
    fn of(name: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let layout = images().join("oci").join(name);
        let read =
            |path: PathBuf| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
        let blob = |descriptor: &Value| {
            let digest = descriptor["digest"].as_str().unwrap();
            layout.join("blobs").join(digest.replace(':', "/"))
        };
        let index = read(layout.join("index.json"));
        let manifest = read(blob(&index["manifests"][0]));
        let config = read(blob(&manifest["config"]));
        assert_eq!(
            config["config"]["Entrypoint"],
            serde_json::json!(["/program"])
        );
        for layer in manifest["layers"].as_array().unwrap() {
            let content = GzDecoder::new(fs::File::open(blob(layer)).unwrap());
            tar::Archive::new(content).unpack(root.path()).unwrap();
        }
        let add = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let resolver = format!(
            "search queues.svc.cluster.local svc.cluster.local cluster.local\nnameserver {NAME_SERVER}\noptions ndots:5\n"
        );
        add("etc/resolv.conf", &resolver);
        add("etc/hosts", "127.0.0.1\tlocalhost\n127.0.0.1\taliased\n");
        fs::create_dir_all(root.path().join("socket")).unwrap();
        Self(root)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program in its image.
    fn command(&self) -> Command {
        let mut command = Command::new("/usr/sbin/chroot");
        command.arg(self.path()).arg("/program").env_clear();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Folder of the images, made once for all tests.
fn images() -> &'static Path {
    static IMAGES: OnceLock<PathBuf> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static-images");
        if output.exists() {
            fs::remove_dir_all(&output).unwrap();
        }
        let built = std::env::var(PROGRAMS).ok();
        let source: Vec<&str> = match &built {
            Some(folder) => vec!["--programs", folder],
            None => vec!["--profile", "dev"],
        };
        let only = ["--only", SIDECAR, "provider-asya"];
        let done = packages::package(REGISTRY, &output, &[&source[..], &only].concat());
        assert!(done.status.success(), "{}", talk(&done));
        start_name_server();
        output
    })
}

/// Answers for [`SERVICE`] with 127.0.0.1, and for every other name that it does not exist.
fn start_name_server() {
    let socket = UdpSocket::bind((NAME_SERVER, 53)).expect("root may bind the port of DNS");
    thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, asker)) = socket.recv_from(&mut buffer) {
            let answer = answer(&buffer[..length]);
            drop(socket.send_to(&answer, asker));
        }
    });
}

/// The answer to a query with one question. Source: RFC 1035, section 4.
fn answer(query: &[u8]) -> Vec<u8> {
    let (mut name, mut at) = (Vec::new(), 12);
    while query[at] != 0 {
        let end = at + 1 + usize::from(query[at]);
        name.push(String::from_utf8_lossy(&query[at + 1..end]).to_ascii_lowercase());
        at = end;
    }
    let end_of_question = at + 5;
    let is_known = name.join(".") == SERVICE;
    let is_ipv4 = query[at + 1..at + 3] == [0, 1];
    let answers = u8::from(is_known && is_ipv4);
    let code = if is_known { 0x80 } else { 0x83 };
    let mut text = [&query[..2], &[0x85, code, 0, 1, 0, answers, 0, 0, 0, 0]].concat();
    text.extend(&query[12..end_of_question]);
    if answers == 1 {
        text.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 127, 0, 0, 1]);
    }
    text
}

/// Asks until there is an answer.
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(start.elapsed() < TIMEOUT, "{what}: not within {TIMEOUT:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn is_healthy(port: u16) -> Option<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let request = "GET /healthz HTTP/1.1\r\nHost: pod\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.starts_with("HTTP/1.1 200").then_some(())
}

/// A server that only accepts connections.
fn server() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
#[ignore = "builds static programs, and needs root"]
fn the_sidecar_resolves_names_and_answers_probes() {
    let root = Root::of(SIDECAR);
    for (name, by) in NAMES {
        let (listener, broker) = server();
        let [probes] = ports::reserve();
        let url = format!("amqp://u:p@{name}:{broker}/%2F");
        let configure = |command: &mut Command| {
            command
                .env("ASYA_ACTOR_NAME", "a")
                .env("ASYA_NAMESPACE", "shop")
                .env("ASYA_TRANSPORT", "rabbitmq")
                .env("ASYA_SOCKET_DIR", "/socket")
                .env("ASYA_RABBITMQ_URL", &url)
                .env("ASYA_METRICS_ADDR", format!("127.0.0.1:{probes}"));
        };
        let mut command = root.command();
        configure(&mut command);
        let _pod = Running(command.spawn().unwrap());
        until("the probe is answered", || is_healthy(probes));
        let mut command = root.command();
        configure(&mut command);
        let _send = Running(command.args(["send", "a", "{}"]).spawn().unwrap());
        until(&format!("{name} is found by {by}"), || {
            listener.accept().ok()
        });
    }
}

#[test]
#[ignore = "builds static programs, and needs root"]
fn the_provider_resolves_names_and_answers_probes() {
    let root = Root::of("provider-asya");
    for (name, by) in NAMES {
        let (listener, kubernetes) = server();
        let [probes] = ports::reserve();
        let kubeconfig = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{name}:{kubernetes}")}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        fs::write(root.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        let mut command = root.command();
        let address = format!("127.0.0.1:{probes}");
        command
            .env("KUBECONFIG", "/kubeconfig")
            .args(["--metrics-address", &address]);
        let _pod = Running(command.spawn().unwrap());
        until("the probe is answered", || is_healthy(probes));
        until(&format!("{name} is found by {by}"), || {
            listener.accept().ok()
        });
    }
}
