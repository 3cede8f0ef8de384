//! The partial report: a snapshot alone, compressed; the smallest file that can be merged. And the compressed snapshot inside a JSON
//! report.
//!
//! A header of eight bytes, the last of which is the version, and one zstd frame with a checksum. Its text is a JSON report
//! without rows, so a snapshot has one form in all files. The same report gives the same bytes. A file is untrusted input: one
//! that is truncated, damaged, followed by other data, or far larger than its compressed size is refused.

use std::io::{self, Read, Write};

use base64::engine::general_purpose::STANDARD;
use base64::read::DecoderReader;
use base64::write::EncoderStringWriter;
use serde::Serialize;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer};

use super::read::{RowSkipper, read};
use super::{READS_SCHEMA, ReportSnapshot, SnapshotError, SnapshotJson};
use crate::analysis::model::ReportModel;
use crate::client::Ipv6Prefix;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;

/// The first bytes of a partial report. No text starts with the first one.
const MAGIC: [u8; 7] = *b"\x8cPWPART";
/// The version of the header and the compression. The version of the text is in the text.
const VERSION: u8 = 1;
/// The compression level of a partial report: higher ones take a multiple of the time for a few percent.
const LEVEL: i32 = 9;
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

/// The text of a partial report: the keys of a JSON report that a merge reads.
#[derive(Serialize)]
struct PartialDocument<'a> {
    schema_version: u32,
    generated_by: &'static str,
    log_host: Option<&'a str>,
    period: Option<&'a str>,
    ipv6_prefix: Option<u8>,
    evidence: SnapshotJson<'a>,
}

/// Writes the snapshot of a report as a partial report, without a flush.
///
/// # Errors
///
/// Those of `out`.
pub(crate) fn write_partial<W: Write>(report: &ReportModel<'_>, generated_by: &'static str, out: &mut W) -> io::Result<()> {
    out.write_all(&MAGIC)?;
    out.write_all(&[VERSION])?;
    let document = PartialDocument {
        schema_version: READS_SCHEMA,
        generated_by,
        log_host: report.log_host.as_deref(),
        period: report.period.as_deref(),
        ipv6_prefix: report.prefix.map(Ipv6Prefix::bits),
        evidence: SnapshotJson::new(report, true),
    };
    let mut frame = FrameWriter::new(out, LEVEL)?;
    serde_json::to_writer(&mut frame, &document)?;
    frame.finish()
}

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

/// Reads the snapshot of a partial or a JSON report. Its rules are those of `rules` that have the same id.
///
/// # Errors
///
/// Those of [`read`], and another version.
pub(crate) fn read_any(mut input: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut head = Vec::with_capacity(MAGIC.len() + 1);
    input.by_ref().take(MAGIC.len() as u64 + 1).read_to_end(&mut head)?;
    match head.strip_prefix(&MAGIC) {
        Some([VERSION]) => read(FrameReader::new(input), rules).map_err(|error| match error {
            SnapshotError::Foreign(what) => SnapshotError::Damaged(what),
            error => error,
        }),
        Some([version]) => Err(SnapshotError::OtherPartial(*version)),
        _ => read(RowSkipper::new(head.as_slice().chain(input)), rules),
    }
}

fn library_error(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

/// Compresses a text as one frame.
struct FrameWriter<'w, W> {
    library: CCtx<'static>,
    text: Vec<u8>,
    compressed: Vec<u8>,
    is_begun: bool,
    out: &'w mut W,
}

impl<'w, W: Write> FrameWriter<'w, W> {
    fn new(out: &'w mut W, level: i32) -> io::Result<Self> {
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

    fn finish(mut self) -> io::Result<()> {
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
struct FrameReader<R> {
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
    fn new(input: R) -> Self {
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
