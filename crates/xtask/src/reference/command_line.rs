//! Pages from command lines.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use asya::cli::Program;

use super::page::Page;
use crate::cannot;

/// The provider's `--help`; a test of its own compares this file with what it prints.
const HELP_OF_PROVIDER: &str = "crates/provider-asya/src/program/help.txt";

/// The command line of `asya`.
pub(super) fn asya() -> String {
    let mut page = Page::new("asya");
    page.text("The `--help` output of each command. As `kubectl-asya` in your `PATH`, the program is also `kubectl asya`.");
    let mut program = Program::Asya.command();
    program.build();
    page.block(&program.render_help().to_string());
    let mut commands: Vec<_> = program.get_subcommands().cloned().collect();
    commands.retain(|command| command.get_name() != "help" && !command.is_hide_set());
    commands.sort_by(|one, next| one.get_name().cmp(next.get_name()));
    for mut command in commands {
        page.heading(&format!("asya {}", command.get_name()));
        page.block(&command.render_long_help().to_string());
    }
    page.end()
}

/// The command lines of the functions and of the provider.
pub(super) fn programs(root: &Path) -> Result<String> {
    let path = root.join(HELP_OF_PROVIDER);
    let provider = fs::read_to_string(&path).with_context(|| cannot("read", &path))?;
    let mut page = Page::new("Programs");
    page.text("In a cluster no flag is needed. Runtime configs set arguments and variables: [install/](../../install/README.md).");
    page.heading("Functions");
    page.text("All of them have the same flags.");
    let mut function =
        function_server::command("function-…").mut_args(|flag| flag.hide_env_values(true));
    page.block(&function.render_help().to_string());
    page.heading("provider-asya");
    page.block(&provider);
    Ok(page.end())
}
