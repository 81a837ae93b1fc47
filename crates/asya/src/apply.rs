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

/// Why the cluster is not as it should be. What kubectl says about it stands on standard error
/// already.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// There is no kubectl.
    #[error("cannot run kubectl: {0}")]
    NoKubectl(#[source] io::Error),
    /// kubectl takes no input, or gives no output.
    #[error("cannot speak with kubectl: {0}")]
    Pipe(#[source] io::Error),
    /// kubectl has failed.
    #[error("kubectl {0} failed: see above")]
    Failed(&'static str),
}

impl Kubectl {
    /// Applies a stream of YAML documents, in its order; what kubectl says of each.
    ///
    /// # Errors
    /// When kubectl does not run, or fails.
    pub fn apply(&self, text: &str) -> Result<String, ApplyError> {
        self.run("apply", &["--filename".to_owned(), "-".to_owned()], text)
    }

    /// Waits for what these arguments say, five minutes at most.
    ///
    /// # Errors
    /// When kubectl does not run, or it is not so in time.
    pub fn wait(&self, arguments: &[String]) -> Result<String, ApplyError> {
        let mut all = vec![PATIENCE.to_owned()];
        all.extend_from_slice(arguments);
        self.run("wait", &all, "")
    }

    fn run(
        &self,
        verb: &'static str,
        arguments: &[String],
        input: &str,
    ) -> Result<String, ApplyError> {
        let mut command = Command::new("kubectl");
        command.arg(verb).args(arguments);
        if let Some(context) = &self.context {
            command.args(["--context", context]);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
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
        if !output.status.success() {
            return Err(ApplyError::Failed(verb));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
