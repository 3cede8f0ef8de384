//! Small disks, read-only ones and other devices, in a name space of its own: nothing stays mounted whatever happens.

use std::process::Command;

use crate::follow::works;
use crate::harness::{Harness, Run, finish, skip};

/// Runs shell in the folder, where it may mount; `$0` is the command. None, and a word about it, where it may not.
pub(super) fn mounting(test: &str, harness: &Harness, script: &str) -> Option<Run> {
    const TRY: &str = "mkdir -p mounted && mount -t tmpfs -o size=16k none mounted";
    if !works(Command::new("unshare").args(["--mount", "sh", "-ec", TRY]).current_dir(harness.path(""))) {
        skip(test, "only root can mount a small disk");
        return None;
    }
    Some(finish(&mut harness.under(&["unshare", "--mount", "sh", "-ec", script], [""; 0])))
}

/// Shell that runs `report` with these arguments and prints `exit N`.
pub(super) fn report(args: &[&str]) -> String {
    let args = args.join("' '");
    format!("\"$0\" report --state state --out out '{args}' > printed 2> said && echo exit 0 || echo exit $?")
}
