//! How far a log was read, and how it is recognized later. Plain data that a state stores.
//!
//! A log is recognized by its content, never by its name: rotation passes names on, and file systems reuse inodes. Path,
//! device and inode are only hints where to look first.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// The number of bytes at the start of a log that identify it.
pub const HEAD: usize = 1024;

/// The number of bytes before an offset that are compared before reading continues there.
pub const TAIL: usize = 256;

/// A hash of some bytes, and their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Fingerprint {
    /// How many bytes were hashed.
    pub bytes: u32,
    /// Their XXH3.
    pub hash: u64,
}

impl Fingerprint {
    /// The fingerprint of `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u32, hash: xxh3_64(bytes) }
    }
}

/// How far one generation of a log was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Identifies the generation in every `id`. Assigned once and kept through rotations and restarts.
    pub generation: u64,
    /// The last known path; may contain any byte.
    #[serde(with = "super::escaped")]
    pub path: Vec<u8>,
    /// The device; a hint.
    pub device: u64,
    /// The inode; a hint.
    pub inode: u64,
    /// The number of bytes that are done, up to and including a newline.
    pub offset: u64,
    /// Lines before `offset`.
    pub lines: u64,
    /// The first bytes of the log, at most [`HEAD`].
    pub head: Fingerprint,
    /// The bytes before `offset`, at most [`TAIL`].
    pub tail: Fingerprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_depends_on_length_and_bytes() {
        assert_eq!(Fingerprint::new(b"ab"), Fingerprint::new(b"ab"));
        assert_ne!(Fingerprint::new(b"ab"), Fingerprint::new(b"ba"));
        assert_ne!(Fingerprint::new(b""), Fingerprint::new(b"\0"));
    }
}
