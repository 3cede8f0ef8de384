//! The probewatch command.

fn main() {}
