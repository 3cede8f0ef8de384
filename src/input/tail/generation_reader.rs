//! Reads the text of one file by position, plain or packed.
//!
//! A plain file may be read again anywhere; a packed one only goes forward, and holds what was not passed over yet.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::inspected_file::{DecompressedFile, InspectedFile};
use crate::input::sparse::read_full_at;

/// Where the bytes of a text come from.
#[derive(Debug)]
pub(super) enum GenerationReader {
    /// As they are.
    Plain(Arc<File>),
    /// Unpacked.
    Compressed(Box<CompressedReader>),
}

/// A packed text under way.
#[derive(Debug)]
pub(super) struct CompressedReader {
    text: DecompressedFile,
    /// Bytes that were unpacked and not passed over, from `at` on.
    buffered: Vec<u8>,
    at: u64,
    /// It ended; what was wrong, if anything.
    ended: bool,
    damage: Option<String>,
}

impl GenerationReader {
    /// A reader of the file that was looked into, from `offset` on.
    pub(super) fn new(inspected: &mut InspectedFile, offset: u64) -> Self {
        match inspected.decompressed_from(offset) {
            None => Self::Plain(Arc::clone(inspected.file())),
            Some((at, text)) => {
                Self::Compressed(Box::new(CompressedReader { text, buffered: Vec::new(), at, ended: at < offset, damage: None }))
            }
        }
    }

    /// The file, if it is plain.
    pub(super) fn plain(&self) -> Option<&Arc<File>> {
        match self {
            Self::Plain(file) => Some(file),
            Self::Compressed(_) => None,
        }
    }

    /// What is wrong with a packed file, as far as it was read.
    pub(super) fn damage(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Compressed(compressed) => compressed.damage.as_deref().or(compressed.text.damage()),
        }
    }

    /// Fills `buffer` with the bytes from `offset` on; gives their number, less than asked for only where the text ends.
    /// A packed text is not asked again for what is before `offset`.
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
