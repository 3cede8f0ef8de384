//! Turns files, folders, globs, archives and pipes into runs of whole lines.
//!
//! Knows nothing of log formats, rules or reports: bytes in, line-aligned [`chunk::Chunk`]s out, each believed only
//! after it was checked that the file did not change under the reader. [`find::find`] says what there is to read,
//! [`read::read`] reads one of it.

mod byte_ranges;
pub mod chunk;
mod decompress;
pub mod exclude;
mod failpoint;
mod file_snapshot;
mod filesystem;
pub mod find;
pub mod head_tail;
mod line_blocks;
pub mod lines_in_order;
mod magic;
mod mmap;
mod mmap_lines;
pub mod order;
pub mod permission;
pub mod read;
mod readers;
mod regular_file;
pub mod rotated_files;
mod rotation_names;
mod sparse;
mod stream;
pub mod tail;
#[cfg(test)]
mod tests;
mod wildcard;

/// When to map files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mmap {
    /// Regular files of 1 MiB and more on local file systems.
    #[default]
    Auto,
    /// Every regular file; a refused map is read all the same.
    Always,
    /// Never.
    Never,
}
