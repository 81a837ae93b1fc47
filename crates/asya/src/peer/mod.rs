//! The functions of another version of this program, which runs them beside it.
//!
//! The other one is started with [`COMMAND`], and speaks over its standard input and output:
//! first a `Greeting`, a line of JSON, then an answer to each call. A call is a frame with
//! the name of a function and one with its `RunFunctionRequest`, an answer a frame with the
//! `RunFunctionResponse`; a frame is its length in four bytes, the highest first, and its
//! bytes. Crossplane keeps both messages compatible over versions, so versions of Asya can
//! be compared that know nothing of each other.

mod serve;

use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use function_proto::v1::{RunFunctionRequest, RunFunctionResponse};
use prost::Message as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use serve::serve;

use crate::diff::Version;
use pipeline::{Composition, Functions, Object};

/// What the other program is called with.
pub const COMMAND: &str = "serve-functions";
/// Longest greeting, in bytes: it holds two Compositions.
const GREETING_MAX: u64 = 1 << 22;

/// What a program says of itself before it takes calls.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// Its version.
    asya: String,
    /// Names of its functions.
    functions: Vec<String>,
    /// How they are called for actors, and for legacy XRs of actors.
    compositions: [Map<String, Value>; 2],
}

/// Why another program's functions are not to be had.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// It does not run.
    #[error("cannot run {path:?}: {source}")]
    Start {
        /// The program.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no `asya`, or one that does not do this.
    #[error("{path:?} does not offer its functions: {fault}")]
    Stranger {
        /// The program.
        path: PathBuf,
        /// What it said.
        fault: String,
    },
    /// It has ended, or answers in another way than it should.
    #[error("{path:?} failed in {function}: {source}")]
    Lost {
        /// The program.
        path: PathBuf,
        /// The function that was called.
        function: String,
        /// Why.
        source: io::Error,
    },
}

impl PeerError {
    /// What to do about it, where the message does not say so itself.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start { .. } | Self::Stranger { .. } => {
                Some("give the path of the program asya of the other version")
            }
            Self::Lost { .. } => None,
        }
    }
}

/// Another version of this program, as long as it runs.
#[derive(Debug)]
pub struct Peer {
    path: PathBuf,
    greeting: Greeting,
    compositions: [Composition; 2],
    talk: Arc<Mutex<Talk>>,
}

impl Peer {
    /// Starts a program.
    ///
    /// # Errors
    /// When it does not run, or does not offer its functions.
    pub fn start(path: &Path) -> Result<Self, PeerError> {
        let mut child = Command::new(path)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| PeerError::Start {
                path: path.to_owned(),
                source,
            })?;
        let greeting = Talk::with(&mut child)
            .ok_or_else(|| "it takes no input".to_owned())
            .and_then(|(writer, mut reader)| Ok((greeted(&mut reader)?, writer, reader)));
        match greeting {
            Ok(((greeting, compositions), writer, reader)) => Ok(Self {
                path: path.to_owned(),
                greeting,
                compositions,
                talk: Arc::new(Mutex::new(Talk {
                    writer: Some(writer),
                    reader,
                    child,
                    lost: None,
                })),
            }),
            Err(fault) => Err(PeerError::Stranger {
                path: path.to_owned(),
                fault: last_words(child).unwrap_or(fault),
            }),
        }
    }

    /// Its functions, and how its own Compositions call them.
    pub fn version(&self) -> Version {
        let call = |functions: Functions, name: &String| {
            let (talk, path, function) = (self.talk.clone(), self.path.clone(), name.clone());
            functions.with(name, move |request| {
                let mut talk = talk.lock().unwrap_or_else(PoisonError::into_inner);
                talk.call(&function, &request).unwrap_or_else(|source| {
                    let path = path.clone();
                    let function = function.clone();
                    talk.lose(PeerError::Lost {
                        path,
                        function,
                        source,
                    })
                })
            })
        };
        let names = self.greeting.functions.iter();
        Version {
            functions: Arc::new(names.fold(Functions::none(), call)),
            compositions: self.compositions.clone(),
        }
    }

    /// Why answers are not its own, where that is so.
    pub fn lost(&self) -> Option<PeerError> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        talk.lost.take()
    }
}

/// The two ends of a conversation.
type Ends = (BufWriter<ChildStdin>, BufReader<ChildStdout>);

/// A conversation with a program.
#[derive(Debug)]
struct Talk {
    /// None once the conversation is over.
    writer: Option<BufWriter<ChildStdin>>,
    reader: BufReader<ChildStdout>,
    child: Child,
    lost: Option<PeerError>,
}

impl Talk {
    fn with(child: &mut Child) -> Option<Ends> {
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        Some((BufWriter::new(stdin), BufReader::new(stdout)))
    }

    fn call(
        &mut self,
        function: &str,
        request: &RunFunctionRequest,
    ) -> io::Result<RunFunctionResponse> {
        let Some(writer) = &mut self.writer else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        write_frame(writer, function.as_bytes())?;
        write_frame(writer, &request.encode_to_vec())?;
        writer.flush()?;
        let answer = read_frame(&mut self.reader)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        RunFunctionResponse::decode(answer.as_slice()).map_err(io::Error::other)
    }

    /// Ends the conversation; what is answered from now on only ends pipelines.
    fn lose(&mut self, error: PeerError) -> RunFunctionResponse {
        let answer = function_kit::fatal(&error.to_string());
        self.writer = None;
        self.lost.get_or_insert(error);
        answer
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // Without input it ends by itself; one that does not is none of ours.
        self.writer = None;
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The greeting, and its Compositions.
fn greeted(reader: &mut impl io::BufRead) -> Result<(Greeting, [Composition; 2]), String> {
    let mut line = Vec::new();
    let read = reader.take(GREETING_MAX).read_until(b'\n', &mut line);
    read.map_err(|error| error.to_string())?;
    let greeting: Greeting = serde_json::from_slice(&line)
        .map_err(|error| format!("its first line is no greeting: {error}"))?;
    let [modern, legacy] = greeting
        .compositions
        .clone()
        .map(|document| Composition::read(&Object::from(document)));
    let read = modern.and_then(|modern| Ok([modern, legacy?]));
    let compositions = read.map_err(|error| error.to_string())?;
    Ok((greeting, compositions))
}

/// What a program that is not wanted any more has complained of first.
fn last_words(mut child: Child) -> Option<String> {
    drop(child.stdin.take());
    drop(child.kill());
    let mut text = String::new();
    let stderr = child.stderr.take()?;
    drop(stderr.take(GREETING_MAX).read_to_string(&mut text));
    drop(child.wait());
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

fn write_frame(writer: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    writer.write_all(&length.to_be_bytes())?;
    writer.write_all(bytes)
}

/// The next frame; none at the end.
fn read_frame(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let mut at = 0;
    while at < length.len() {
        match reader.read(&mut length[at..]) {
            Ok(0) if at == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => at += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let length = u64::from(u32::from_be_bytes(length));
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(Some(bytes))
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}
