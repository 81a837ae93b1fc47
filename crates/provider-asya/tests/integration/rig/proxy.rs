//! A TCP proxy on loopback that does to a broker's connections what networks and load balancers do.
//!
//! The mode is read for each request, also on connections that are open already, so a
//! client with a pool of them meets a fault at once and meets nothing of it afterwards.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Bytes of an answer that arrive before a connection is cut: less than its first line.
const BEFORE_THE_CUT: usize = 10;

/// Handling of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is passed on, and so is its answer.
    Pass,
    /// It is passed on, and the connection is reset in the middle of the answer: it is done, and the
    /// client does not know.
    Cut,
    /// It is taken and never answered, nor passed on.
    HalfOpen,
    /// It is passed on after this time, which the client may not have.
    Delay(Duration),
    /// It is not passed on; this HTTP status, such as `404 Not Found`, and this body are the answer.
    Answer(&'static str, &'static str),
    /// Connections are refused; open ones are reset.
    Refuse,
}

/// Requests to which the mode applies. Others are forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Requests other than `GET`.
    Writes,
}

/// Current handling of requests.
#[derive(Debug, Clone, Copy)]
struct Rule {
    mode: Mode,
    which: Which,
}

impl Rule {
    fn of(self, request: &[u8]) -> Mode {
        match self.which {
            Which::Writes if request.starts_with(b"GET ") => Mode::Pass,
            Which::All | Which::Writes => self.mode,
        }
    }
}

/// A running proxy. It ends, with its connections, when this value is dropped.
pub struct Proxy {
    /// URL of the server as it is seen through the proxy.
    pub endpoint: String,
    rule: watch::Sender<Rule>,
    /// True if somebody listens.
    listens: watch::Receiver<bool>,
    met: Arc<Mutex<u64>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy before the server of this `http` URL, which forwards everything.
    pub async fn start(target: &str) -> Self {
        let address = target.strip_prefix("http://").expect("an http URL");
        let target: SocketAddr = address.parse().expect("an address");
        let socket = bound("127.0.0.1:0".parse().expect("an address"));
        let own = socket.local_addr().expect("a bound socket");
        let (rule, rules) = watch::channel(Rule {
            mode: Mode::Pass,
            which: Which::All,
        });
        let (is_listening, listens) = watch::channel(false);
        let met = Arc::new(Mutex::new(0));
        let way = Way {
            target,
            rules,
            met: met.clone(),
        };
        let mut proxy = Self {
            endpoint: format!("http://{own}"),
            rule,
            listens,
            met,
            task: tokio::spawn(listen(socket, way, is_listening)),
        };
        proxy.until_listening(true).await;
        proxy
    }

    /// Does this from now on; it is in force when this returns.
    pub async fn set(&mut self, mode: Mode, which: Which) {
        self.rule.send_replace(Rule { mode, which });
        self.until_listening(mode != Mode::Refuse).await;
    }

    /// Passes everything from now on.
    pub async fn forward(&mut self) {
        self.set(Mode::Pass, Which::All).await;
    }

    /// Returns the number of requests that have met another mode than [`Mode::Pass`]. Refused connections
    /// have none.
    pub fn met(&self) -> u64 {
        *self.met.lock().expect("no holder panics")
    }

    async fn until_listening(&mut self, expected: bool) {
        let seen = self.listens.wait_for(|listens| *listens == expected);
        seen.await.expect("the proxy runs");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// State that each connection needs.
#[derive(Clone)]
struct Way {
    target: SocketAddr,
    rules: watch::Receiver<Rule>,
    met: Arc<Mutex<u64>>,
}

/// A socket that has a port and refuses connections, as nobody listens on it.
fn bound(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an option of sockets");
    socket.bind(address).expect("a port of our own");
    socket
}

async fn listen(mut socket: TcpSocket, mut way: Way, is_listening: watch::Sender<bool>) {
    let own = socket.local_addr().expect("a bound socket");
    loop {
        let refuses = |rule: &Rule| rule.mode == Mode::Refuse;
        if way.rules.wait_for(|rule| !refuses(rule)).await.is_err() {
            return;
        }
        let listener = socket.listen(64).expect("nobody else has the port");
        is_listening.send_replace(true);
        accept_until(&listener, &mut way, refuses).await;
        drop(listener);
        socket = bound(own);
        is_listening.send_replace(false);
    }
}

/// Serves connections until the rule is such; then they are all at an end.
async fn accept_until(listener: &TcpListener, way: &mut Way, is_over: impl Fn(&Rule) -> bool) {
    let mut connections = JoinSet::new();
    let mut rules = way.rules.clone();
    let over = rules.wait_for(|rule| is_over(rule));
    tokio::pin!(over);
    loop {
        tokio::select! {
            _ = &mut over => return,
            Ok((client, _)) = listener.accept() => {
                // A connection that is dropped is reset: no port of it is left waiting.
                client.set_zero_linger().expect("an option of sockets");
                let way = way.clone();
                connections.spawn(async move { drop(serve(client, way).await) });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection until either side ends it.
async fn serve(mut client: TcpStream, way: Way) -> std::io::Result<()> {
    let mut server = TcpStream::connect(way.target).await?;
    let (mut asked, mut answered) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    let mut mode = Mode::Pass;
    loop {
        tokio::select! {
            length = client.read(&mut asked) => {
                let bytes = match length? {
                    0 => return Ok(()),
                    length => &asked[..length],
                };
                if is_head(bytes) {
                    mode = way.rules.borrow().of(bytes);
                    if mode != Mode::Pass {
                        *way.met.lock().expect("no holder panics") += 1;
                    }
                }
                match mode {
                    Mode::Pass | Mode::Cut => server.write_all(bytes).await?,
                    Mode::Delay(time) => {
                        tokio::time::sleep(time).await;
                        server.write_all(bytes).await?;
                    }
                    Mode::HalfOpen => {}
                    Mode::Answer(status, body) => {
                        client.write_all(response(status, body).as_bytes()).await?;
                        client.shutdown().await?;
                        return drain(client).await;
                    }
                    Mode::Refuse => return Ok(()),
                }
            }
            length = server.read(&mut answered) => {
                let bytes = match length? {
                    0 => return Ok(()),
                    length => &answered[..length],
                };
                if mode == Mode::Cut {
                    return client.write_all(&bytes[..BEFORE_THE_CUT.min(bytes.len())]).await;
                }
                client.write_all(bytes).await?;
            }
        }
    }
}

/// Returns whether a request begins here: the body of one of the provider's is a JSON object.
fn is_head(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_uppercase)
}

fn response(status: &str, body: &str) -> String {
    let kind = if body.starts_with('{') {
        "application/json"
    } else {
        "text/html"
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

/// Reads until the client has closed the connection, so that nothing of the answer is lost to a reset.
async fn drain(mut client: TcpStream) -> std::io::Result<()> {
    let mut rest = [0; 1024];
    while client.read(&mut rest).await? > 0 {}
    Ok(())
}
