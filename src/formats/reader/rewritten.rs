//! Rewritten lines and their original offsets, so that findings can be mapped back to the log.

use memchr::memchr;

use super::LineKind;
use crate::finding::Findings;
use crate::formats::LogFormat;
use crate::formats::builtin::{FormatId, Formats};
use crate::formats::bytes::nuls_within;

/// Rewritten lines and their original offsets.
#[derive(Debug, Default)]
pub struct RewrittenLines {
    /// The rewritten text.
    pub text: Vec<u8>,
    pub(super) lines: Vec<RewrittenLine>,
}

/// The original position of a line, and how it was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct RewrittenLine {
    /// The offset in the original lines.
    start: u64,
    /// The number of NUL bytes before the line.
    nuls: u32,
    /// NUL bytes that the engine would count in the original line, less those in the rewritten line.
    hidden: isize,
    pub(super) read: LineKind,
    /// The engine format of the rewritten line.
    written: LogFormat,
}

impl RewrittenLines {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Ends a line: `at` is its start in the text, `start` its original offset, followed by NUL bytes and the line.
    pub(super) fn end_line(&mut self, at: usize, start: usize, (nuls, line): (&[u8], &[u8]), read: LineKind) {
        let text = &self.text[at..];
        let (written, hidden) = match read {
            LineKind::As(_) | LineKind::WithoutClient => {
                (written_as(text), nuls_within(line).cast_signed() - nuls_within(text).cast_signed())
            }
            LineKind::AsIs | LineKind::Directive => (LogFormat::Combined, 0),
        };
        self.lines.push(RewrittenLine { start: start as u64, nuls: nuls.len() as u32, hidden, read, written });
    }

    /// The number of lines.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The number of lines in which either of two addresses may be the client.
    #[must_use]
    pub fn without_client(&self) -> u64 {
        self.lines.iter().filter(|line| line.read == LineKind::WithoutClient).count() as u64
    }

    /// The original offset of a line, including NUL bytes before it; `end` after the last line.
    #[must_use]
    pub fn start_of(&self, line: usize, end: u64) -> u64 {
        self.lines.get(line).map_or(end, |line| line.start)
    }

    /// Maps findings in the lines from `first` on, which were scanned separately, back to original offsets, and
    /// counts their formats. Offsets are relative to the first of these lines. With `has_time_range`, lines without a
    /// time were counted.
    pub fn map_offsets(&self, first: usize, findings: &mut Findings, formats: &Formats, in_window: bool) {
        let scanned = usize::try_from(findings.lines.lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(first..).unwrap_or_default();
        let lines = &lines[..scanned.min(lines.len())];
        let base = lines.first().map_or(0, |line| line.start);
        let place = |line: u32| lines.get(line as usize).map(|line| line.start - base + u64::from(line.nuls));
        for hit in &mut findings.hits {
            hit.offset = place(hit.line).unwrap_or(hit.offset);
        }
        for request in &mut findings.unlisted {
            request.offset = place(request.line).unwrap_or(request.offset);
        }
        let mut read = [0_u64; 256];
        let counts = &mut findings.lines;
        for line in lines {
            counts.nul_bytes = counts.nul_bytes.saturating_add_signed(line.hidden as i64);
            match line.read {
                LineKind::AsIs => {}
                LineKind::Directive => {
                    counts.unparsed = counts.unparsed.saturating_sub(1);
                    counts.skipped += 1;
                    findings.without_time = findings.without_time.saturating_sub(u64::from(in_window));
                }
                // Lines after a prefix are in engine formats and are counted as such.
                LineKind::WithoutClient => counts.without_client += 1,
                LineKind::As(id) if usize::from(id.0) < LogFormat::ALL.len() => {}
                LineKind::As(id) => {
                    let written = &mut counts.parsed[line.written as usize];
                    read[usize::from(id.0)] += u64::from(*written > 0);
                    *written = written.saturating_sub(1);
                }
            }
        }
        for (id, lines) in (0..=u8::MAX).zip(read).filter(|(_, lines)| *lines > 0) {
            counts.others.count(formats.name(FormatId(id)), lines);
        }
    }
}

/// The engine format of a rewritten line: two dashes follow the client, or the host and the client.
fn written_as(line: &[u8]) -> LogFormat {
    let after = memchr(b' ', line).map_or(&[][..], |space| &line[space + 1..]);
    if after.starts_with(b"- - [") { LogFormat::Combined } else { LogFormat::VhostCombined }
}
