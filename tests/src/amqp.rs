//! A connection to RabbitMQ with one channel, as far as sidecars and their callers need it.

use std::collections::BTreeSet;

use amqprs::callbacks::{ChannelCallback, DefaultConnectionCallback};
use amqprs::channel::{
    BasicAckArguments, BasicConsumeArguments, BasicNackArguments, BasicPublishArguments,
    BasicQosArguments, Channel, ConfirmSelectArguments, ConsumerMessage, ExchangeDeclareArguments,
    QueueDeclareArguments,
};
use amqprs::connection::{Connection, OpenConnectionArguments};
use amqprs::error::Error;
use amqprs::{Ack, BasicProperties, Cancel, CloseChannel, Nack, Return};
use anyhow::{Context as _, Result, bail};
use async_trait::async_trait;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Address of the broker, and the credentials.
#[derive(Debug, Clone)]
pub struct Login {
    /// Host name or address.
    pub host: String,
    /// Port of AMQP.
    pub port: u16,
    /// User.
    pub username: String,
    /// Password.
    pub password: String,
}

/// One connection with one channel.
pub struct Link {
    // The connection lives as long as the channel is used.
    connection: Connection,
    channel: Channel,
    confirms: Option<Confirms>,
}

/// A message that waits for its acknowledgement.
#[derive(Debug)]
pub struct Delivery {
    /// By which it is acknowledged, on the link that it came by.
    pub tag: u64,
    /// The envelope.
    pub body: Vec<u8>,
}

/// The messages of a queue, in their order.
pub struct Deliveries(UnboundedReceiver<ConsumerMessage>);

impl Link {
    /// Connects. With `confirms` the broker confirms each message.
    ///
    /// # Errors
    /// When the broker does not answer or refuses the login.
    pub async fn open(login: &Login, confirms: bool) -> Result<Self> {
        let Login {
            host,
            port,
            username,
            password,
        } = login;
        let arguments = OpenConnectionArguments::new(host, *port, username, password);
        let connection = Connection::open(&arguments).await?;
        connection
            .register_callback(DefaultConnectionCallback)
            .await?;
        let channel = connection.open_channel(None).await?;
        let (confirmations, answers) = unbounded_channel();
        channel
            .register_callback(Listener { confirmations })
            .await?;
        let confirms = if confirms {
            let select = ConfirmSelectArguments::default();
            channel.confirm_select(select).await?;
            Some(Confirms::of(answers))
        } else {
            None
        };
        Ok(Self {
            connection,
            channel,
            confirms,
        })
    }

    /// Makes sure that the topic exchange is there.
    ///
    /// # Errors
    /// When the connection is lost, or there is another exchange of that name.
    pub async fn declare_exchange(&self, name: &str) -> Result<()> {
        let arguments = ExchangeDeclareArguments::new(name, "topic")
            .durable(true)
            .finish();
        Ok(self.channel.exchange_declare(arguments).await?)
    }

    /// Returns the number of messages that wait in a queue, which must exist; those at a consumer
    /// do not count.
    ///
    /// # Errors
    /// When the connection is lost, or the queue is not there.
    pub async fn waiting(&self, queue: &str) -> Result<u32> {
        let arguments = QueueDeclareArguments::new(queue).passive(true).finish();
        let declared = self.channel.queue_declare(arguments).await?;
        let (_, count, _) = declared.context("the broker reports how many messages there are")?;
        Ok(count)
    }

    /// Starts to receive a queue's messages, of which at most `prefetch` are here at a time.
    ///
    /// # Errors
    /// When the connection is lost, or the queue is not there.
    pub async fn consume(&self, queue: &str, prefetch: u16) -> Result<Deliveries> {
        self.waiting(queue).await?;
        let limit = BasicQosArguments::new(0, prefetch, false);
        self.channel.basic_qos(limit).await?;
        let arguments = BasicConsumeArguments::new(queue, "");
        let (_, messages) = self.channel.basic_consume_rx(arguments).await?;
        Ok(Deliveries(messages))
    }

    /// Sends a message that survives a restart of the broker. It is lost if no queue is bound.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn publish(&mut self, exchange: &str, key: &str, body: Vec<u8>) -> Result<()> {
        let properties = BasicProperties::default()
            .with_persistence(true)
            .with_content_type("application/json")
            .finish();
        let arguments = BasicPublishArguments::new(exchange, key);
        self.channel
            .basic_publish(properties, body, arguments)
            .await?;
        if let Some(confirms) = &mut self.confirms {
            confirms.sent();
        }
        Ok(())
    }

    /// Waits until the broker keeps every message that was sent; at once on a link without confirms.
    ///
    /// # Errors
    /// When the connection is lost, or the broker does not keep one.
    pub async fn confirmed(&mut self) -> Result<()> {
        match &mut self.confirms {
            Some(confirms) => confirms.all().await,
            None => Ok(()),
        }
    }

    /// Acknowledges a message, which removes it from the queue.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn acknowledge(&self, tag: u64) -> Result<()> {
        let arguments = BasicAckArguments::new(tag, false);
        Ok(self.channel.basic_ack(arguments).await?)
    }

    /// Gives a message back, so that it is delivered again.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn give_back(&self, tag: u64) -> Result<()> {
        let arguments = BasicNackArguments::new(tag, false, true);
        Ok(self.channel.basic_nack(arguments).await?)
    }

    /// Ends the connection when all that was sent is on its way. What was not acknowledged is delivered
    /// again.
    ///
    /// # Errors
    /// When the connection is lost.
    pub async fn close(self) -> Result<()> {
        self.channel.close().await?;
        Ok(self.connection.close().await?)
    }
}

impl Deliveries {
    /// The next message, as soon as there is one.
    ///
    /// # Errors
    /// If the connection is lost, or the queue is deleted.
    pub async fn next(&mut self) -> Result<Delivery> {
        let message = self.0.recv().await.context("the consumer has ended")?;
        let delivered = message.deliver.context("a delivery has a tag")?;
        Ok(Delivery {
            tag: delivered.delivery_tag(),
            body: message.content.unwrap_or_default(),
        })
    }
}

/// The broker's answers about messages that were sent.
struct Confirms {
    answers: UnboundedReceiver<Answer>,
    // Tags count from 1 on each channel.
    last: u64,
    open: BTreeSet<u64>,
}

struct Answer {
    tag: u64,
    /// True if it applies to all tags up to this one.
    is_multiple: bool,
    is_kept: bool,
}

impl Confirms {
    fn of(answers: UnboundedReceiver<Answer>) -> Self {
        Self {
            answers,
            last: 0,
            open: BTreeSet::new(),
        }
    }

    fn sent(&mut self) {
        self.last += 1;
        self.open.insert(self.last);
    }

    async fn all(&mut self) -> Result<()> {
        while !self.open.is_empty() {
            let answer = self
                .answers
                .recv()
                .await
                .context("the connection is lost")?;
            if !answer.is_kept {
                bail!("the broker did not keep message {}", answer.tag);
            }
            if answer.is_multiple {
                self.open = self.open.split_off(&(answer.tag + 1));
            } else {
                self.open.remove(&answer.tag);
            }
        }
        Ok(())
    }
}

/// Forwards what the broker sends of its own accord; the receiver may be dropped.
struct Listener {
    confirmations: UnboundedSender<Answer>,
}

#[async_trait]
impl ChannelCallback for Listener {
    async fn close(&mut self, _: &Channel, _: CloseChannel) -> Result<(), Error> {
        Ok(())
    }

    async fn cancel(&mut self, _: &Channel, _: Cancel) -> Result<(), Error> {
        Ok(())
    }

    async fn flow(&mut self, _: &Channel, is_active: bool) -> Result<bool, Error> {
        Ok(is_active)
    }

    async fn publish_ack(&mut self, _: &Channel, ack: Ack) {
        let (tag, is_multiple) = (ack.delivery_tag(), ack.mutiple());
        drop(self.confirmations.send(Answer {
            tag,
            is_multiple,
            is_kept: true,
        }));
    }

    async fn publish_nack(&mut self, _: &Channel, nack: Nack) {
        let (tag, is_multiple) = (nack.delivery_tag(), nack.multiple());
        drop(self.confirmations.send(Answer {
            tag,
            is_multiple,
            is_kept: false,
        }));
    }

    // Nothing is sent so that it comes back.
    async fn publish_return(&mut self, _: &Channel, _: Return, _: BasicProperties, _: Vec<u8>) {}
}
