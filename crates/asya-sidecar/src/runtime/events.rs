//! Server-sent events, as far as runtimes write them: fields `event` and `data`, ended by an empty
//! line.

use bytes::{Buf as _, Bytes, BytesMut};

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: Bytes,
}

/// Splits a stream of bytes into events.
#[derive(Debug, Default)]
pub(super) struct Parser {
    buffer: BytesMut,
    // How far the buffer has been searched for the end of a line.
    searched: usize,
    name: String,
    data: BytesMut,
    has_data: bool,
}

impl Parser {
    /// Adds bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that are held.
    pub(super) fn held(&self) -> usize {
        self.buffer.len() + self.data.len()
    }

    /// The next complete event.
    pub(super) fn next(&mut self) -> Option<Event> {
        while let Some(line) = self.line() {
            if line.is_empty() {
                let name = std::mem::take(&mut self.name);
                let data = std::mem::take(&mut self.data).freeze();
                if std::mem::take(&mut self.has_data) || !name.is_empty() {
                    return Some(Event { name, data });
                }
                continue;
            }
            let colon = line.iter().position(|byte| *byte == b':');
            let (field, mut value) = match colon {
                Some(colon) => (line.slice(..colon), line.slice(colon + 1..)),
                None => (line, Bytes::new()),
            };
            if value.first() == Some(&b' ') {
                value.advance(1);
            }
            match &*field {
                b"event" => self.name = String::from_utf8_lossy(&value).into_owned(),
                b"data" => {
                    if self.has_data {
                        self.data.extend_from_slice(b"\n");
                    }
                    self.data.extend_from_slice(&value);
                    self.has_data = true;
                }
                // Comments, which keep connections alive, and fields without meaning here.
                _ => {}
            }
        }
        None
    }

    /// A complete line, without its end.
    fn line(&mut self) -> Option<Bytes> {
        let unsearched = &self.buffer[self.searched..];
        let Some(found) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let mut line = self.buffer.split_to(self.searched + found);
        self.buffer.advance(1);
        self.searched = 0;
        if line.last() == Some(&b'\r') {
            line.truncate(line.len() - 1);
        }
        Some(line.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &[u8], piece: usize) -> Vec<(String, String)> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in stream.chunks(piece) {
            parser.push(piece);
            while let Some(event) = parser.next() {
                let data = String::from_utf8(event.data.to_vec()).unwrap();
                events.push((event.name, data));
            }
        }
        events
    }

    #[test]
    fn a_stream_reads_the_same_however_it_is_cut() {
        let stream = b": hello\r\nevent: downstream\r\ndata: {\"a\":1}\r\n\r\n\
            event:upstream\ndata:x\ndata: y\nid: 1\n\nevent: done\ndata:\n\nevent: done\n\ndata: cut";
        let expected = [
            ("downstream", "{\"a\":1}"),
            ("upstream", "x\ny"),
            ("done", ""),
            ("done", ""),
        ]
        .map(|(name, data)| (name.to_owned(), data.to_owned()));
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(events(stream, piece), expected, "in pieces of {piece}");
        }
    }
}
