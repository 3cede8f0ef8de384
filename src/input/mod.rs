//! Reads files, folders, globs, compressed files and pipes as chunks of whole lines.
//!
//! This module does not depend on log formats, rules or reports. [`find::find`] lists the inputs
//! and [`read::read_observed`] reads one of them. A [`read::Chunk`] counts only after a check that
//! the file did not change while it was read.

mod decompress;
pub(crate) mod exclude;
mod failpoint;
mod file_snapshot;
mod filesystem;
pub(crate) mod find;
mod line_blocks;
pub(crate) mod lines;
mod magic;
mod mmap;
pub(crate) mod pipe;
pub(crate) mod read;
mod read_context;
mod readers;
mod regular_file;
pub(crate) mod rotation;
mod sparse;
pub(crate) mod tail;
pub(crate) mod wildcard;

use clap::ValueEnum;

/// Bytes of a file, whose lines are read alone. A line belongs to the range that its first byte is
/// in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The first byte.
    pub from: u64,
    /// The byte after the last one; may be beyond the end of the file.
    pub to: u64,
}

/// When to map files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Mmap {
    /// Large files on local file systems.
    #[default]
    Auto,
    /// Every regular file.
    Always,
    /// No file.
    Never,
}

#[cfg(test)]
mod tests;
