//! The `probewatch` command: runs the library and exits with its code.

use std::process::ExitCode;

fn main() -> ExitCode {
    probewatch::run()
}
