//! Small disks, read-only ones and other devices, in a mount namespace, so that nothing stays
//! mounted.

use std::process::Command;

use crate::follow::works;
use crate::harness::{Harness, Run, finish, skip};

/// Runs shell in the folder with permission to mount; `$0` is the command. `None`, with a message,
/// if that is not allowed.
pub(super) fn mounting(test: &str, harness: &Harness, script: &str) -> Option<Run> {
    const TRY: &str = "mkdir -p mounted && mount -t tmpfs -o size=16k none mounted";
    if !works(
        Command::new("unshare")
            .args(["--mount", "sh", "-ec", TRY])
            .current_dir(harness.path("")),
    ) {
        skip(test, "only root can mount a small disk");
        return None;
    }
    Some(finish(&mut harness.under(
        &["unshare", "--mount", "sh", "-ec", script],
        [""; 0],
    )))
}

/// Shell that runs `report` with these arguments and prints `exit N`.
pub(super) fn report(args: &[&str]) -> String {
    let args = args.join("' '");
    format!(
        "\"$0\" report --state state --out out '{args}' > printed 2> errors && echo exit 0 || echo exit $?"
    )
}
