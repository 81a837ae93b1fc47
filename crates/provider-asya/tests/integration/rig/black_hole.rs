//! A TCP proxy on loopback whose connections can lose their peer without a reset.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running proxy. It ends, with its connections, when this value is dropped.
pub struct BlackHole {
    /// Address on which it listens.
    pub address: SocketAddr,
    losses: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl BlackHole {
    /// A proxy before the server of this address, which forwards everything.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let losses = watch::Sender::new(0);
        let of_listener = losses.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(forward(client, target, of_listener.subscribe()));
            }
        });
        Self {
            address,
            losses,
            task,
        }
    }

    /// From now on nothing passes on the connections that are open, and none of them is closed. New
    /// ones are forwarded.
    pub fn lose(&self) {
        self.losses.send_modify(|losses| *losses += 1);
    }
}

impl Drop for BlackHole {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut losses: watch::Receiver<u64>) {
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    let before = *losses.borrow_and_update();
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
        _ = losses.wait_for(|losses| *losses > before) => {}
    }
    // Both stay open, and their kernels acknowledge what is sent.
    std::future::pending::<()>().await;
}
