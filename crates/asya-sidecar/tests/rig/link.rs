//! A TCP proxy on loopback, as a network that fails: with an end of connections, or without one.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A running proxy. It ends, with its connections, when this value is dropped.
pub struct Link {
    pub address: SocketAddr,
    target: SocketAddr,
    lost: watch::Sender<u64>,
    listener: Option<JoinHandle<()>>,
}

impl Link {
    /// A proxy before the server of this address, which forwards everything.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let lost = watch::Sender::new(0);
        let task = tokio::spawn(listen(listener, target, lost.clone()));
        Self {
            address,
            target,
            lost,
            listener: Some(task),
        }
    }

    /// Ends all connections, and refuses new ones until [`Self::restore`].
    pub async fn cut(&mut self) {
        if let Some(task) = self.listener.take() {
            task.abort();
            drop(task.await);
        }
    }

    /// Forwards connections again.
    pub async fn restore(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("its port");
        let task = tokio::spawn(listen(listener, self.target, self.lost.clone()));
        self.listener = Some(task);
    }

    /// From now on nothing passes on the connections that are open, and none of them is closed. New ones
    /// are forwarded.
    pub fn lose(&self) {
        self.lost.send_modify(|lost| *lost += 1);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(task) = &self.listener {
            task.abort();
        }
    }
}

async fn listen(listener: TcpListener, target: SocketAddr, lost: watch::Sender<u64>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(forward(client, target, lost.subscribe()));
    }
}

async fn forward(mut client: TcpStream, target: SocketAddr, mut lost: watch::Receiver<u64>) {
    let Ok(mut server) = TcpStream::connect(target).await else {
        return;
    };
    let before = *lost.borrow_and_update();
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => return,
        _ = lost.wait_for(|lost| *lost > before) => {}
    }
    // Both stay open, and their kernels acknowledge what is sent.
    std::future::pending::<()>().await;
}
