//! Lines that were written down again, and where each was: what is found in them is given back on its places in the log.

use memchr::memchr;

use super::LineKind;
use crate::finding::Findings;
use crate::formats::LogFormat;
use crate::formats::builtin::{FormatId, Formats};
use crate::formats::bytes::nuls_within;

/// Lines that were written down again, and where each was.
#[derive(Debug, Default)]
pub struct RewrittenLines {
    /// The lines.
    pub text: Vec<u8>,
    pub(super) lines: Vec<RewrittenLine>,
}

/// Where a line was, and as what it was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct RewrittenLine {
    /// Bytes from the start of the run.
    start: u64,
    /// NULs before it.
    nuls: u32,
    /// NULs in it that the judge looks for, less those that it finds in what was written.
    hidden: isize,
    pub(super) read: LineKind,
    /// The format of the engine's that it was written in.
    written: LogFormat,
}

impl RewrittenLines {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Ends a line whose text begins at `at`, and which began at `start` with these NULs before the rest.
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

    /// Lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Lines with two addresses of which either may be the client.
    #[must_use]
    pub fn without_client(&self) -> u64 {
        self.lines.iter().filter(|line| line.read == LineKind::WithoutClient).count() as u64
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Where a line began, NULs and all, in bytes from the start of the run; where the run ended, behind the last.
    #[must_use]
    pub fn start_of(&self, line: usize, end: u64) -> u64 {
        self.lines.get(line).map_or(end, |line| line.start)
    }

    /// Gives findings in the lines from `first` on their places in the log back, and the names of their formats; these lines
    /// were judged as a run of their own. Places are from the start of the first of them. With `in_window`, lines without a time
    /// were counted.
    pub fn map_offsets(&self, first: usize, findings: &mut Findings, formats: &Formats, in_window: bool) {
        let judged = usize::try_from(findings.lines.lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(first..).unwrap_or_default();
        let lines = &lines[..judged.min(lines.len())];
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
                // What stood behind a prefix is of the engine's own formats, and counted as such.
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

/// The format of the engine's in which a line was written down again: behind a client, or behind a host and a client, come
/// two dashes.
fn written_as(line: &[u8]) -> LogFormat {
    let behind = memchr(b' ', line).map_or(&[][..], |space| &line[space + 1..]);
    if behind.starts_with(b"- - [") { LogFormat::Combined } else { LogFormat::VhostCombined }
}
