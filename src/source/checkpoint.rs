//! How far a log was read, and by what it is known again: plain data, as a state keeps it.
//!
//! A log is known by its text, never by its name: names pass on with every rotation, and file systems give the same
//! inode to the next file. Path, device and inode only say where to look first.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes at the start of a text that name it.
pub const HEAD: usize = 1024;

/// Bytes before an offset that are compared before reading goes on there.
pub const TAIL: usize = 256;

/// A hash of some bytes and how many there were.
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
    /// Names the generation in every `id`; given once, and kept through rotations and restarts.
    pub generation: u64,
    /// Where it was last seen; may hold any byte.
    #[serde(with = "super::escaped")]
    pub path: Vec<u8>,
    /// The device it lay on: a hint.
    pub device: u64,
    /// Its inode: a hint.
    pub inode: u64,
    /// Bytes of its text that are done, up to just behind a newline.
    pub offset: u64,
    /// Lines before `offset`.
    pub lines: u64,
    /// The first bytes of its text, at most [`HEAD`] and no more than there were.
    pub head: Fingerprint,
    /// The bytes just before `offset`, at most [`TAIL`].
    pub tail: Fingerprint,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_length_and_bytes() {
        assert_eq!(Fingerprint::new(b"ab"), Fingerprint::new(b"ab"));
        assert_ne!(Fingerprint::new(b"ab"), Fingerprint::new(b"ba"));
        assert_ne!(Fingerprint::new(b""), Fingerprint::new(b"\0"));
    }
}
