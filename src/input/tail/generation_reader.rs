//! Reads the text of one file by position, plain or packed.
//!
//! A plain file may be read again anywhere; a packed one only goes forward, and holds what was not passed over yet.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::inspected_file::{Probe, Unpacked};
use crate::input::sparse::read_full_at;

/// Where the bytes of a text come from.
#[derive(Debug)]
pub(super) enum Reader {
    /// As they are.
    Plain(Arc<File>),
    /// Unpacked.
    Packed(Box<Packed>),
}

/// A packed text under way.
#[derive(Debug)]
pub(super) struct Packed {
    text: Unpacked,
    /// Bytes that were unpacked and not passed over, from `at` on.
    held: Vec<u8>,
    at: u64,
    /// It ended; what was wrong, if anything.
    ended: bool,
    damage: Option<String>,
}

impl Reader {
    /// A reader of the file that was looked into, from `offset` on.
    pub(super) fn new(probe: &mut Probe, offset: u64) -> Self {
        match probe.unpacked_from(offset) {
            None => Self::Plain(Arc::clone(probe.file())),
            Some((at, text)) => Self::Packed(Box::new(Packed { text, held: Vec::new(), at, ended: at < offset, damage: None })),
        }
    }

    /// The file, if it is plain.
    pub(super) fn plain(&self) -> Option<&Arc<File>> {
        match self {
            Self::Plain(file) => Some(file),
            Self::Packed(_) => None,
        }
    }

    /// What is wrong with a packed file, as far as it was read.
    pub(super) fn damage(&self) -> Option<&str> {
        match self {
            Self::Plain(_) => None,
            Self::Packed(packed) => packed.damage.as_deref().or(packed.text.damage()),
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
            Self::Packed(packed) => Ok(packed.read(buffer, offset)),
        }
    }
}

impl Packed {
    fn read(&mut self, buffer: &mut [u8], offset: u64) -> usize {
        let passed = (offset.saturating_sub(self.at) as usize).min(self.held.len());
        self.held.drain(..passed);
        self.at += passed as u64;
        while self.held.len() < buffer.len() && !self.ended {
            let filled = self.held.len();
            self.held.resize(buffer.len(), 0);
            let read = self.text.read(&mut self.held[filled..]);
            self.held.truncate(filled + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    self.damage = Some(error.to_string());
                    self.ended = true;
                }
            }
        }
        let read = buffer.len().min(self.held.len());
        buffer[..read].copy_from_slice(&self.held[..read]);
        read
    }
}
