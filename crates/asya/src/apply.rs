//! What is written to a cluster, through kubectl: nothing else of this program writes to one.

use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Longest time until packages are at work.
const PATIENCE: &str = "--timeout=5m";

/// kubectl, and the cluster that it speaks to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kubectl {
    /// The context of the kubeconfig.
    pub context: Option<String>,
}

/// Why the cluster is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// There is no kubectl.
    #[error("cannot run kubectl: {0}")]
    NoKubectl(#[source] io::Error),
    /// kubectl takes no input, or gives no output.
    #[error("cannot speak with kubectl: {0}")]
    Pipe(#[source] io::Error),
    /// kubectl has failed. What it has said about it is told before this.
    #[error("kubectl {0} failed: see above")]
    Failed(&'static str),
}

/// What kubectl has said, and what came of it.
#[derive(Debug)]
pub struct Answer {
    /// What it has written to standard output.
    pub output: String,
    /// What it has written to standard error, also where all is well.
    pub talk: String,
    /// Whether it has failed.
    pub outcome: Result<(), ApplyError>,
}

impl Kubectl {
    /// Applies a stream of YAML documents, in its order.
    ///
    /// # Errors
    /// When kubectl does not run.
    pub fn apply(&self, text: &str) -> Result<Answer, ApplyError> {
        self.run("apply", &["--filename".to_owned(), "-".to_owned()], text)
    }

    /// Waits for what these arguments say, five minutes at most.
    ///
    /// # Errors
    /// When kubectl does not run.
    pub fn wait(&self, arguments: &[String]) -> Result<Answer, ApplyError> {
        let mut all = vec![PATIENCE.to_owned()];
        all.extend_from_slice(arguments);
        self.run("wait", &all, "")
    }

    fn run(
        &self,
        verb: &'static str,
        arguments: &[String],
        input: &str,
    ) -> Result<Answer, ApplyError> {
        let mut command = Command::new("kubectl");
        command.arg(verb).args(arguments);
        if let Some(context) = &self.context {
            command.args(["--context", context]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(ApplyError::NoKubectl)?;
        if let Some(mut stdin) = child.stdin.take() {
            // kubectl answers when it has read all: nothing waits for the output yet.
            match stdin.write_all(input.as_bytes()) {
                // It has ended before, and its exit status says why.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written.map_err(ApplyError::Pipe)?,
            }
        }
        let output = child.wait_with_output().map_err(ApplyError::Pipe)?;
        let is_done = output.status.success();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Answer {
            output: text(&output.stdout),
            talk: text(&output.stderr),
            outcome: is_done.then_some(()).ok_or(ApplyError::Failed(verb)),
        })
    }
}
