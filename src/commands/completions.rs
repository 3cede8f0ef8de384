//! `probewatch completions`: prints shell completions. Installs nothing.

use clap::Command;
use clap_complete::Shell;

use super::{Exit, stdout};

/// Prints the completions of `command` for `shell`.
#[must_use]
pub fn run(mut command: Command, shell: Shell) -> Exit {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    stdout::print(&script)
}
