//! Writing to a cluster through kubectl. No other module of this program writes to one.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

/// Longest wait until packages are healthy.
const WAIT_TIMEOUT: &str = "--timeout=5m";

/// kubectl with the context of a kubeconfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kubectl {
    /// The context of the kubeconfig.
    pub context: Option<String>,
}

/// Reason for which a call of kubectl failed.
#[derive(Debug, thiserror::Error)]
pub enum KubectlError {
    /// kubectl cannot be started.
    #[error("cannot run kubectl: {0}")]
    NoKubectl(#[source] io::Error),
    /// Its input or output is broken.
    #[error("cannot write to or read from kubectl: {0}")]
    Pipe(#[source] io::Error),
    /// It ended with an error, which it wrote to standard error.
    #[error("kubectl {0} failed: see above")]
    Failed(&'static str),
    /// It ended with an error.
    #[error("kubectl {verb}: {line}")]
    Refused {
        /// Verb of the call.
        verb: &'static str,
        /// The last line of its standard error.
        line: String,
    },
}

/// Output and outcome of a call.
#[derive(Debug)]
pub struct Answer {
    /// Standard output.
    pub output: String,
    /// Standard error; warnings if the call succeeded.
    pub stderr: String,
    /// True if it succeeded.
    pub outcome: Result<(), KubectlError>,
}

impl Kubectl {
    /// Applies a stream of YAML documents in its order.
    ///
    /// # Errors
    /// When kubectl does not run.
    pub fn apply(&self, text: &str) -> Result<Answer, KubectlError> {
        self.run("apply", &["--filename".to_owned(), "-".to_owned()], text)
    }

    /// Uid of the namespace `kube-system`, which identifies the cluster.
    ///
    /// # Errors
    /// When kubectl does not run.
    pub fn cluster_id(&self) -> Result<Answer, KubectlError> {
        let arguments = ["namespace", "kube-system", "--output"].map(str::to_owned);
        let mut all = arguments.to_vec();
        all.push("jsonpath={.metadata.uid}".to_owned());
        self.run("get", &all, "")
    }

    /// Runs `kubectl wait` with these arguments, five minutes at most.
    ///
    /// # Errors
    /// When kubectl does not run.
    pub fn wait(&self, arguments: &[String]) -> Result<Answer, KubectlError> {
        let mut all = vec![WAIT_TIMEOUT.to_owned()];
        all.extend_from_slice(arguments);
        self.run("wait", &all, "")
    }

    /// Runs kubectl and returns its standard output.
    ///
    /// # Errors
    /// When it does not run or fails, with the last line of its standard error.
    pub fn read(
        &self,
        verb: &'static str,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, KubectlError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let answer = self.run(verb, &arguments, input)?;
        if answer.outcome.is_ok() {
            return Ok(answer.output);
        }
        let line = answer.stderr.lines().rfind(|line| !line.trim().is_empty());
        Err(KubectlError::Refused {
            verb,
            line: line
                .unwrap_or("it failed without a message")
                .trim()
                .to_owned(),
        })
    }

    /// Starts kubectl, both outputs of which are to be read while it runs.
    ///
    /// # Errors
    /// When it does not run.
    pub fn stream(&self, verb: &'static str, arguments: &[String]) -> Result<Child, KubectlError> {
        let child = self
            .command(verb, arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.map_err(KubectlError::NoKubectl)
    }

    fn command(&self, verb: &str, arguments: &[String]) -> Command {
        let mut command = Command::new("kubectl");
        command.arg(verb).args(arguments);
        if let Some(context) = &self.context {
            command.args(["--context", context]);
        }
        command
    }

    fn run(
        &self,
        verb: &'static str,
        arguments: &[String],
        input: &str,
    ) -> Result<Answer, KubectlError> {
        let mut child = self
            .command(verb, arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(KubectlError::NoKubectl)?;
        if let Some(mut stdin) = child.stdin.take() {
            // kubectl writes after it has read its input, so this cannot block on a full pipe.
            match stdin.write_all(input.as_bytes()) {
                // It ended before it read all; its exit status has the reason.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written.map_err(KubectlError::Pipe)?,
            }
        }
        let output = child.wait_with_output().map_err(KubectlError::Pipe)?;
        let is_done = output.status.success();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Answer {
            output: text(&output.stdout),
            stderr: text(&output.stderr),
            outcome: is_done.then_some(()).ok_or(KubectlError::Failed(verb)),
        })
    }
}
