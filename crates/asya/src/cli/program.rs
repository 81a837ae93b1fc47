//! The name by which the program was called, `asya` or `kubectl asya`, and help texts with it.

use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _};

use super::Cli;

/// The program by the name by which it was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// `asya`.
    Asya,
    /// `kubectl-asya`, which kubectl runs for `kubectl asya`.
    Kubectl,
}

impl Program {
    /// The name of this process, from its first argument.
    pub fn called() -> Self {
        let path = std::env::args_os().next().unwrap_or_default();
        let stem = PathBuf::from(path);
        match stem.file_stem().and_then(|stem| stem.to_str()) {
            Some(stem) if stem == Self::Kubectl.binary() => Self::Kubectl,
            _ => Self::Asya,
        }
    }

    /// Returns whether kubectl called this process for the candidates of `kubectl asya`.
    pub fn completes_for_kubectl() -> bool {
        let path = std::env::args_os().next().unwrap_or_default();
        let stem = PathBuf::from(path);
        stem.file_stem()
            .is_some_and(|stem| stem == "kubectl_complete-asya")
    }

    /// Command line.
    pub fn typed(self) -> &'static str {
        match self {
            Self::Asya => "asya",
            Self::Kubectl => "kubectl asya",
        }
    }

    /// The name of its file.
    pub fn binary(self) -> &'static str {
        match self {
            Self::Asya => "asya",
            Self::Kubectl => "kubectl-asya",
        }
    }

    /// The command line, with the name of the program in help texts.
    pub fn command(self) -> clap::Command {
        let typed = self.typed();
        let usages = [
            ("render", "[OPTIONS] <XR>... [COMPOSITION] [FUNCTIONS]"),
            ("lint", "[OPTIONS] <FILE>..."),
            ("explain", "[OPTIONS] <XR>... | <CODE>"),
            ("diff", "[OPTIONS] [--old <PATH>] --new <PATH> [SHARED]..."),
        ];
        let mut command = Cli::command().bin_name(typed);
        for (name, usage) in usages {
            let usage = format!("{typed} {name} {usage}");
            command = command.mut_subcommand(name, |command| command.override_usage(usage));
        }
        command.mut_subcommands(|command| {
            let Some(help) = command.get_after_help().map(ToString::to_string) else {
                return command;
            };
            let help = [" ", "("].iter().fold(help, |help, before| {
                help.replace(&format!("{before}asya "), &format!("{before}{typed} "))
            });
            command.after_help(help)
        })
    }

    /// Parses the command line; ends the process on errors and for help.
    pub fn parse(self) -> Cli {
        let matches = self.command().get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}
