//! Reads the text of one file by position, compressed or not.
//!
//! An uncompressed file can be read anywhere again. A compressed one is only read forward; bytes that are not
//! consumed yet are buffered.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::inspected_file::{DecompressedFile, InspectedFile};
use crate::input::sparse::read_full_at;

/// The source of the bytes.
#[derive(Debug)]
pub(super) enum GenerationReader {
    /// An uncompressed file.
    Plain(Arc<File>),
    /// A compressed file.
    Compressed(Box<CompressedReader>),
}

/// A compressed file that is being read.
#[derive(Debug)]
pub(super) struct CompressedReader {
    text: DecompressedFile,
    /// Decompressed bytes that are not consumed yet, starting at offset `at`.
    buffered: Vec<u8>,
    at: u64,
    /// Whether it ended, and what was wrong if anything.
    ended: bool,
    damage: Option<String>,
}

impl GenerationReader {
    /// Reads an inspected file from `offset`.
    pub(super) fn new(inspected: &mut InspectedFile, offset: u64) -> Self {
        match inspected.decompressed_from(offset) {
            None => Self::Plain(Arc::clone(inspected.file())),
            Some((at, text)) => {
                Self::Compressed(Box::new(CompressedReader { text, buffered: Vec::new(), at, ended: at < offset, damage: None }))
            }
        }
    }

    /// The file, if it is not compressed.
    pub(super) fn plain(&self) -> Option<&Arc<File>> {
        match self {
            Self::Plain(file) => Some(file),
            Self::Compressed(_) => None,
        }
    }

    /// The damage of a compressed file, as far as it was read.
    pub(super) fn damage(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Compressed(compressed) => compressed.damage.as_deref().or(compressed.text.damage()),
        }
    }

    /// Fills `buffer` with the bytes at `offset` and returns their number, which is smaller only at the end of the
    /// text. Offsets in a compressed file must not decrease.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(super) fn read(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Plain(file) => read_full_at(file, buffer, offset),
            Self::Compressed(compressed) => Ok(compressed.read(buffer, offset)),
        }
    }
}

impl CompressedReader {
    fn read(&mut self, buffer: &mut [u8], offset: u64) -> usize {
        let passed = (offset.saturating_sub(self.at) as usize).min(self.buffered.len());
        self.buffered.drain(..passed);
        self.at += passed as u64;
        while self.buffered.len() < buffer.len() && !self.ended {
            let filled = self.buffered.len();
            self.buffered.resize(buffer.len(), 0);
            let read = self.text.read(&mut self.buffered[filled..]);
            self.buffered.truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    self.damage = Some(error.to_string());
                    self.ended = true;
                }
            }
        }
        let read = buffer.len().min(self.buffered.len());
        buffer[..read].copy_from_slice(&self.buffered[..read]);
        read
    }
}
