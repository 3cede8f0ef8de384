//! Compressed text: one zstd frame with a checksum, as it is or in Base64.
//!
//! A frame is untrusted input: one that is truncated, damaged, followed by other data, or far larger than its compressed size is
//! refused. The same text gives the same bytes.

use std::io::{self, Read, Write};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::write::EncoderStringWriter;
use serde::Serialize;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer};

use crate::redact::sanitize::escape;

/// The compression level of the snapshot in a JSON report, which is a small part of it: level 9 takes ten times as long and saves a
/// quarter.
const JSON_LEVEL: i32 = 1;
/// The largest window of a frame, 8 MiB: that of the level, with room for others.
const WINDOW_LOG: u32 = 23;
/// Bytes of compressed data that are in memory.
const BUFFER: usize = 64 << 10;
/// Bytes of text that are in memory. A shorter text is compressed with tables of its size.
const TEXT: usize = 1 << 20;
/// The text of a partial report is about ten times its size.
const MAX_RATIO: u64 = 1_000;

/// The lists of a snapshot as a JSON string: one zstd frame, in Base64.
///
/// # Errors
///
/// Those of the compressor.
pub(super) fn packed(lists: &impl Serialize) -> io::Result<String> {
    let mut text = EncoderStringWriter::new(&STANDARD);
    let mut frame = FrameWriter::new(&mut text, JSON_LEVEL)?;
    serde_json::to_writer(&mut frame, lists)?;
    frame.finish()?;
    Ok(text.into_inner())
}

/// The JSON text of [`packed`] lists.
pub(crate) fn unpack(packed: &str) -> impl Read {
    FrameReader::new(DecoderReader::new(packed.as_bytes(), &STANDARD))
}

fn library_error(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// Compresses a text as one frame.
pub(super) struct FrameWriter<'w, W> {
    library: CCtx<'static>,
    text: Vec<u8>,
    compressed: Vec<u8>,
    is_begun: bool,
    out: &'w mut W,
}

impl<'w, W: Write> FrameWriter<'w, W> {
    pub(super) fn new(out: &'w mut W, level: i32) -> io::Result<Self> {
        let mut library = CCtx::create();
        for parameter in [CParameter::CompressionLevel(level), CParameter::ChecksumFlag(true)] {
            library.set_parameter(parameter).map_err(library_error)?;
        }
        Ok(Self { library, text: Vec::new(), compressed: vec![0; BUFFER], is_begun: false, out })
    }

    fn compress(&mut self) -> io::Result<()> {
        self.is_begun = true;
        let mut source = InBuffer::around(&self.text);
        while source.pos() < self.text.len() {
            let mut target = OutBuffer::around(&mut self.compressed[..]);
            self.library.compress_stream(&mut target, &mut source).map_err(library_error)?;
            let written = target.pos();
            self.out.write_all(&self.compressed[..written])?;
        }
        self.text.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if !self.is_begun {
            self.library.set_pledged_src_size(Some(self.text.len() as u64)).map_err(library_error)?;
        }
        self.compress()?;
        loop {
            let mut target = OutBuffer::around(&mut self.compressed[..]);
            let left = self.library.end_stream(&mut target).map_err(library_error)?;
            let written = target.pos();
            self.out.write_all(&self.compressed[..written])?;
            if left == 0 {
                return Ok(());
            }
        }
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
        Self { library, input, buffer, start: 0, end: 0, is_full: false, is_finished: false, compressed: 0, text: 0 }
    }

    /// Reads more input if none is left. Returns whether there is any.
    fn fill(&mut self) -> io::Result<bool> {
        if self.start == self.end {
            let read = self.input.by_ref().take(BUFFER as u64).read(&mut self.buffer)?;
            (self.start, self.end) = (0, read);
            self.compressed += read as u64;
        }
        Ok(self.start < self.end)
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, escape(what.as_bytes()).into_owned())
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_finished {
                return if self.fill()? { Err(damaged("other data follows it")) } else { Ok(0) };
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
            if self.text / MAX_RATIO > self.compressed {
                return Err(damaged("its text is far larger than its compressed data"));
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}
