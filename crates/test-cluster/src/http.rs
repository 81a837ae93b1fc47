//! Questions to the APIs of brokers, by HTTP/1.0, whose answers end with the connection.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Asks a port of 127.0.0.1, with these lines in the head beside those that HTTP wants. The answer
/// is the status, and the body or null.
///
/// # Errors
/// If the server does not answer.
pub(crate) async fn ask(
    port: u16,
    (method, path): (&str, &str),
    head: &[(&str, &str)],
    body: Option<&Value>,
) -> io::Result<(u16, Value)> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    let lines: Vec<String> = head
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = lines.concat();
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\n{head}Content-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no answer"))?;
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}
