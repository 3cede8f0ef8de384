//! What the operating system does for the program: memory, users and groups, system calls, and files that are
//! replaced at once.
//!
//! Reads no logs and makes no outputs.

pub(crate) mod accounts;
pub(crate) mod allocator;
pub(crate) mod atomic_file;
pub(crate) mod system;
