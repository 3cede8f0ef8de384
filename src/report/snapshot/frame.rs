//! Compressed text: one zstd frame with a checksum.
//!
//! A frame is untrusted input: one that is truncated, damaged, followed by other data, or far
//! larger than its compressed size is refused. The same text gives the same bytes.

use std::io::{self, Read, Write};
use std::mem;

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, SafeResult};

use crate::text::redact::sanitize::escape;

/// The largest window of a frame, 8 MiB: that of the level, with room for others.
const WINDOW_LOG: u32 = 23;
/// Bytes of compressed data that are in memory.
const BUFFER: usize = 64 << 10;
/// Bytes of text that are in memory. A shorter text is compressed with tables of its size.
const TEXT: usize = 1 << 20;
/// The text of a partial report is about ten times its size. A client can send requests that differ
/// by a few bytes of thousands, so the writer ensures the ratio: it flushes more often.
const MAX_RATIO: u64 = 1_000;
/// Bytes of text in front of each flush. A flush ends a block, and a block has four bytes or more.
const FLUSHED: usize = 1 << 10;
/// The most text beyond the ratio: what the writer compresses until it looks at the ratio again,
/// and what the library holds of it.
const MAX_EXCESS: u64 = 2 * TEXT as u64;

fn library_error(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// Compresses a text as one frame.
pub(super) struct FrameWriter<'w, W> {
    library: CCtx<'static>,
    text: Vec<u8>,
    compressed: Vec<u8>,
    /// Bytes of the text that was compressed, and of what was written.
    read: u64,
    written: u64,
    out: &'w mut W,
}

impl<'w, W: Write> FrameWriter<'w, W> {
    pub(super) fn new(out: &'w mut W, level: i32) -> io::Result<Self> {
        let mut library = CCtx::create();
        for parameter in [
            CParameter::CompressionLevel(level),
            CParameter::ChecksumFlag(true),
        ] {
            library.set_parameter(parameter).map_err(library_error)?;
        }
        Ok(Self {
            library,
            text: Vec::new(),
            compressed: vec![0; BUFFER],
            read: 0,
            written: 0,
            out,
        })
    }

    fn compress(&mut self) -> io::Result<()> {
        let text = mem::take(&mut self.text);
        // Half the ratio, so that it is never exceeded by more than the text that was not looked
        // at.
        let is_flushed = self.read / (MAX_RATIO / 2) > self.written;
        for part in text.chunks(if is_flushed { FLUSHED } else { TEXT }) {
            let mut source = InBuffer::around(part);
            while source.pos() < part.len() {
                self.step(|library, target| library.compress_stream(target, &mut source))?;
            }
            while is_flushed && self.step(CCtx::flush_stream)? > 0 {}
        }
        self.read += text.len() as u64;
        self.text = text;
        self.text.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.read == 0 {
            self.library
                .set_pledged_src_size(Some(self.text.len() as u64))
                .map_err(library_error)?;
        }
        self.compress()?;
        while self.step(CCtx::end_stream)? > 0 {}
        Ok(())
    }

    /// Writes what a call of the library compresses. Returns the result of the call.
    fn step(
        &mut self,
        mut call: impl FnMut(&mut CCtx<'static>, &mut OutBuffer<'_, [u8]>) -> SafeResult,
    ) -> io::Result<usize> {
        let mut target = OutBuffer::around(&mut self.compressed[..]);
        let result = call(&mut self.library, &mut target).map_err(library_error)?;
        let written = target.pos();
        self.out.write_all(&self.compressed[..written])?;
        self.written += written as u64;
        Ok(result)
    }
}

impl<W: Write> Write for FrameWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(TEXT - self.text.len());
        self.text.extend_from_slice(&bytes[..taken]);
        if self.text.len() == TEXT {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decompresses one frame, which must be all that is left of the input.
pub(super) struct FrameReader<R> {
    library: DCtx<'static>,
    input: R,
    buffer: Vec<u8>,
    /// The part of the buffer that is not decompressed yet.
    start: usize,
    end: usize,
    /// The library may have more text without more input.
    is_full: bool,
    is_finished: bool,
    compressed: u64,
    text: u64,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn new(input: R) -> Self {
        let mut library = DCtx::create();
        // A frame with a larger window fails to decompress.
        let _ = library.set_parameter(DParameter::WindowLogMax(WINDOW_LOG));
        let buffer = vec![0; BUFFER];
        Self {
            library,
            input,
            buffer,
            start: 0,
            end: 0,
            is_full: false,
            is_finished: false,
            compressed: 0,
            text: 0,
        }
    }

    /// Reads more input if none is left. Returns whether there is any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            let read = self
                .input
                .by_ref()
                .take(BUFFER as u64)
                .read(&mut self.buffer)?;
            (self.start, self.end) = (0, read);
            self.compressed += read as u64;
        }
        Ok(self.start < self.end)
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        escape(what.as_bytes()).into_owned(),
    )
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_finished {
                return if self.fill()? {
                    Err(damaged("other data follows it"))
                } else {
                    Ok(0)
                };
            }
            if !self.is_full && !self.fill()? {
                return Err(damaged("it is incomplete"));
            }
            let mut source = InBuffer::around(&self.buffer[self.start..self.end]);
            let mut target = OutBuffer::around(&mut *out);
            let left = self.library.decompress_stream(&mut target, &mut source);
            let left = left.map_err(|_| damaged("its compressed data is corrupt"))?;
            let produced = target.pos();
            self.start += source.pos();
            self.is_full = produced == out.len();
            self.is_finished = left == 0;
            self.text += produced as u64;
            if self.text.saturating_sub(MAX_EXCESS) / MAX_RATIO > self.compressed {
                return Err(damaged("its text is far larger than its compressed data"));
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}
