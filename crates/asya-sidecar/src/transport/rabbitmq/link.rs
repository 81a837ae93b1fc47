//! One connection to the broker.

use std::time::Duration;

use lapin::options::ConfirmSelectOptions;
use lapin::tcp::OwnedTLSConfig;
use lapin::uri::AMQPUri;
use lapin::{Channel, Connection, ConnectionProperties};
use tokio::sync::Mutex;

/// Time in which a broker must accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time in which a connection must close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Reply code of a connection that is closed in good order. Source: AMQP 0.9.1, 1.1.
pub(super) const SUCCESS: u16 = 200;

/// A connection, and the channel on which messages are published.
pub(super) struct Link {
    connection: Connection,
    publish: Mutex<Option<Channel>>,
    get: Mutex<Option<Channel>>,
}

impl Link {
    pub(super) async fn open(
        uri: &AMQPUri,
        tls: &OwnedTLSConfig,
        queue: &str,
    ) -> Result<Self, String> {
        let properties = ConnectionProperties::default()
            .with_connection_name(format!("asya-sidecar {queue}").into());
        let runtime = lapin::runtime::default_runtime().map_err(|error| error.to_string())?;
        let connecting =
            Connection::connect_uri_with_config(uri.clone(), properties, tls.clone(), runtime);
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(Ok(connection)) => Ok(Self {
                connection,
                publish: Mutex::new(None),
                get: Mutex::new(None),
            }),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {CONNECT_TIMEOUT:?}")),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.connection.status().connected()
    }

    /// Returns whether the broker takes nothing from publishers, such as one with a resource alarm.
    pub(super) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// A new channel.
    pub(super) async fn channel(&self) -> lapin::Result<Channel> {
        self.connection.create_channel().await
    }

    /// The channel with confirms. A refused publish ends it, and the next one gets a new one.
    pub(super) async fn publishing(&self) -> lapin::Result<Channel> {
        let mut place = self.publish.lock().await;
        if let Some(channel) = still_open(place.as_ref()) {
            return Ok(channel);
        }
        let channel = self.channel().await?;
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await?;
        *place = Some(channel.clone());
        Ok(channel)
    }

    /// The channel on which operators take messages. Those that are not settled go back with it.
    pub(super) async fn getting(&self) -> lapin::Result<Channel> {
        let mut place = self.get.lock().await;
        if let Some(channel) = still_open(place.as_ref()) {
            return Ok(channel);
        }
        let channel = self.channel().await?;
        *place = Some(channel.clone());
        Ok(channel)
    }

    pub(super) async fn close(&self) {
        let closing = self.connection.close(SUCCESS, "the sidecar ends".into());
        match tokio::time::timeout(CLOSE_TIMEOUT, closing).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "connection not closed in good order"),
            Err(_) => tracing::debug!("the broker does not answer the end of the connection"),
        }
    }
}

/// The channel, unless it has ended.
fn still_open(channel: Option<&Channel>) -> Option<Channel> {
    channel
        .filter(|channel| channel.status().connected())
        .cloned()
}
