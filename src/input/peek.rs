//! Looks at the first bytes of something that cannot be rewound, and gives them back.

use std::io::{self, Read};

/// A source with its first bytes read ahead. An error met on the way is kept for when the bytes before it are read.
#[derive(Debug)]
pub(super) struct PeekReader<R> {
    head: Vec<u8>,
    position: usize,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> PeekReader<R> {
    /// Reads the first `len` bytes of `source`, or all.
    pub(super) fn new(source: R, len: usize) -> Self {
        let mut peeked = Self { head: vec![0; len], position: 0, error: None, rest: source };
        let mut filled = 0;
        while filled < len {
            match peeked.rest.read(&mut peeked.head[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    peeked.error = Some(error);
                    break;
                }
            }
        }
        peeked.head.truncate(filled);
        peeked
    }

    /// The first bytes.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// The error, if not even one byte came before it.
    pub(super) fn take_initial_error(&mut self) -> Option<io::Error> {
        if self.head.is_empty() { self.error.take() } else { None }
    }

    /// Leaves the first `len` bytes out of what is read.
    pub(super) fn skip(&mut self, len: usize) {
        self.position = len;
    }

    /// What is behind the first bytes.
    pub(super) fn rest(&self) -> &R {
        &self.rest
    }
}

impl<R: Read> Read for PeekReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.head[self.position..];
        if !ahead.is_empty() {
            let read = ahead.len().min(out.len());
            out[..read].copy_from_slice(&ahead[..read]);
            self.position += read;
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(out),
        }
    }
}
