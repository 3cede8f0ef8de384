//! The `probewatch` command: runs the library and exits with its code.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: probewatch::Allocator = probewatch::Allocator;

fn main() -> ExitCode {
    probewatch::run()
}
