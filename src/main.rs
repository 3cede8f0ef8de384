//! The probewatch command: hands over to the library and leaves with its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    probewatch::cli::run().into()
}
