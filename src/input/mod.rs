//! Turns files, folders, globs, archives and pipes into runs of whole lines.
//!
//! Knows nothing of log formats, rules or reports: bytes in, line-aligned [`chunk::Chunk`]s out, each believed only
//! after it was checked that the file did not change under the reader. [`find::find`] says what there is to read,
//! [`read::read`] reads one of it.

pub mod chunk;
pub mod ends;
mod filesystem;
pub mod find;
mod hole;
mod lines;
mod magic;
mod map;
mod mapped;
pub mod newer;
pub mod order;
mod packed;
mod pause;
mod peek;
pub mod permission;
mod pipe;
mod range;
pub mod read;
mod regular;
pub mod rotated;
pub mod sequence;
mod snapshot;
mod stop;
mod stream;
pub mod tail;
#[cfg(test)]
mod tests;
pub mod twins;
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
