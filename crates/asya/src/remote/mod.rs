//! Functions of another version of this program, which runs as a child process.
//!
//! The child is started with [`COMMAND`]. It writes a `Greeting`, one line of JSON, to its standard
//! output, then answers calls: a call is a frame with the name of a function and a frame with its
//! `RunFunctionRequest`; an answer is a frame with the `RunFunctionResponse`. A frame is its length
//! in four bytes, big-endian, and its bytes. Crossplane keeps both messages compatible over
//! versions, so any two versions of Asya can be compared.

#[cfg(feature = "foreign-functions")]
pub mod foreign;
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

/// The hidden command that serves functions.
pub const COMMAND: &str = "serve-functions";
/// Longest greeting, in bytes: it holds two Compositions.
const GREETING_MAX: u64 = 1 << 22;

/// The first line of a program: its version, functions and Compositions.
#[derive(Debug, Serialize, Deserialize)]
struct Greeting {
    /// Its version.
    asya: String,
    /// Names of its functions.
    functions: Vec<String>,
    /// Compositions of actors and of legacy XRs of actors.
    compositions: [Map<String, Value>; 2],
}

/// Reason for which the functions of another program cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// It cannot be started.
    #[error("cannot run {path:?}: {source}")]
    Start {
        /// The program.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// It is no `asya`, or a version that does not serve functions.
    #[error("{path:?} does not offer its functions: {problem}")]
    NotAsya {
        /// The program.
        path: PathBuf,
        /// The first line of its standard error, or why its greeting is invalid.
        problem: String,
    },
    /// It ended or broke the protocol.
    #[error("{path:?} failed in {function}: {source}")]
    Lost {
        /// The program.
        path: PathBuf,
        /// The function that was called.
        function: String,
        /// Cause.
        source: io::Error,
    },
}

impl RemoteError {
    /// A remedy, if the message does not contain one.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Start { .. } | Self::NotAsya { .. } => {
                Some("give the path of the program asya of the other version")
            }
            Self::Lost { .. } => None,
        }
    }
}

/// Another version of this program, running as a child process until this is dropped.
#[derive(Debug)]
pub struct RemoteProgram {
    path: PathBuf,
    greeting: Greeting,
    compositions: [Composition; 2],
    connection: Arc<Mutex<Connection>>,
}

impl RemoteProgram {
    /// Starts a program.
    ///
    /// # Errors
    /// When it does not run, or does not offer its functions.
    pub fn start(path: &Path) -> Result<Self, RemoteError> {
        let mut child = Command::new(path)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| RemoteError::Start {
                path: path.to_owned(),
                source,
            })?;
        let greeting = Connection::with(&mut child)
            .ok_or_else(|| "it takes no input".to_owned())
            .and_then(|(writer, mut reader)| Ok((greeted(&mut reader)?, writer, reader)));
        match greeting {
            Ok(((greeting, compositions), writer, reader)) => Ok(Self {
                path: path.to_owned(),
                greeting,
                compositions,
                connection: Arc::new(Mutex::new(Connection {
                    writer: Some(writer),
                    reader,
                    child,
                    lost: None,
                })),
            }),
            Err(problem) => Err(RemoteError::NotAsya {
                path: path.to_owned(),
                problem: first_error(child).unwrap_or(problem),
            }),
        }
    }

    /// Its functions and its Compositions.
    pub fn version(&self) -> Version {
        let call = |functions: Functions, name: &String| {
            let (connection, path, function) =
                (self.connection.clone(), self.path.clone(), name.clone());
            functions.with(name, move |request| {
                let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                connection
                    .call(&function, &request)
                    .unwrap_or_else(|source| {
                        let path = path.clone();
                        let function = function.clone();
                        connection.close(RemoteError::Lost {
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

    /// Returns why calls failed, if one did. All later calls return a fatal response.
    pub fn lost(&self) -> Option<RemoteError> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        connection.lost.take()
    }
}

/// Standard input and output of a program.
type Ends = (BufWriter<ChildStdin>, BufReader<ChildStdout>);

/// A connection to a program.
#[derive(Debug)]
struct Connection {
    /// None once the connection is closed.
    writer: Option<BufWriter<ChildStdin>>,
    reader: BufReader<ChildStdout>,
    child: Child,
    lost: Option<RemoteError>,
}

impl Connection {
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

    /// Closes the connection; returns a fatal response with the error.
    fn close(&mut self, error: RemoteError) -> RunFunctionResponse {
        let answer = function_kit::fatal(&error.to_string());
        self.writer = None;
        self.lost.get_or_insert(error);
        answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // It ends when its input is closed; a program that does not is no asya.
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
        .map_err(|error| format!("its first line is not a greeting: {error}"))?;
    let [modern, legacy] = greeting
        .compositions
        .clone()
        .map(|document| Composition::read(&Object::from(document)));
    let read = modern.and_then(|modern| Ok([modern, legacy?]));
    let compositions = read.map_err(|error| error.to_string())?;
    Ok((greeting, compositions))
}

/// Kills a program; returns the first line of its standard error.
fn first_error(mut child: Child) -> Option<String> {
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
