//! Scans lines of any format: a log reader converts formats outside of the Common Log Format family.

use super::{AHEAD, BATCH, BatchedRequest, LineScanner, ScannedLine, prefault, prefetch_line};
use crate::engine::WorkerState;
use crate::engine::newline_index::BLOCK;
use crate::finding::Findings;
use crate::formats::bytes::nuls_within;
use crate::formats::reader::{LineContext, LineKind, LogReader};
use crate::formats::{Formats, Frame, FrameBuffer, LogFormat, W3cHeader};

/// The reader of other formats, and its state between blocks.
struct RewritingReader<'r, 'f> {
    log_reader: &'r mut LogReader,
    context: &'r LineContext<'f>,
    /// The current W3C header.
    header: W3cHeader,
    buffer: FrameBuffer,
    /// Lines by format.
    read: FormatCounts,
}

/// Lines of other formats, by format id.
struct FormatCounts([u64; 256]);

impl LineScanner<'_> {
    /// Scans a chunk of whole lines in any format; the last one may lack its newline.
    #[must_use]
    pub fn scan_any(&self, lines: &[u8], context: &LineContext<'_>, log_reader: &mut LogReader, worker: &mut WorkerState) -> Findings {
        let buffer = std::mem::take(&mut worker.sheet);
        let mut reader = RewritingReader { log_reader, context, header: context.header.clone(), buffer, read: FormatCounts([0; 256]) };
        let mut findings = worker.findings();
        let mut index = std::mem::take(&mut worker.index);
        let mut start = 0;
        while start < lines.len() {
            let block = &lines[start..lines.len().min(start + BLOCK)];
            index.read(block);
            prefault(lines, start + BLOCK + AHEAD - 1);
            if let Some(&last) = index.newlines().last() {
                let prefetch_line = |line: ScannedLine<'_, '_>| prefetch_line(lines, line.offset as usize + AHEAD);
                self.scan_read(ScannedLine::each(block, start, &index), prefetch_line, &mut reader, worker, &mut findings);
                start += last as usize + 1;
            } else {
                let (line, taken) = ScannedLine::long(&lines[start..], start, &mut findings);
                self.scan_read(line.into_iter(), |_| (), &mut reader, worker, &mut findings);
                start += taken;
            }
        }
        findings.times = std::mem::take(&mut worker.span).ends();
        reader.read.add_to(context.formats, &mut findings);
        worker.index = index;
        worker.sheet = reader.buffer;
        findings
    }

    /// Converts all lines first, then matches them: matching borrows from the buffer that conversion fills.
    fn scan_read<'t, 'i>(
        &self,
        lines: impl Iterator<Item = ScannedLine<'t, 'i>> + Clone,
        before_each: impl Fn(ScannedLine<'_, '_>),
        reader: &mut RewritingReader<'_, '_>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        let RewritingReader { log_reader, context, header, buffer, read } = reader;
        buffer.clear();
        for line in lines.clone() {
            before_each(line);
            log_reader.read_into(line.text, context, header, |from| line.quotes.first(line.text, from), buffer);
        }
        let mut batch = Vec::with_capacity(BATCH);
        for (number, (line, seen)) in lines.zip(buffer.read()).enumerate() {
            match seen {
                LineKind::AsIs => self.scan_line(line, &mut batch, worker, findings),
                LineKind::Directive => skip_line(line, findings),
                LineKind::As(_) | LineKind::WithoutClient => {
                    let format = if let Some(frame) = buffer.frame(number, line.text) {
                        self.scan_frame(line, frame, None, &mut batch, worker, findings)
                    } else {
                        self.scan_rewritten(line, buffer.rewritten_line(number).unwrap_or_default(), &mut batch, worker, findings)
                    };
                    // A line of the Common Log Format family after a prefix counts as that format.
                    match seen {
                        LineKind::As(id) if usize::from(id.0) >= LogFormat::ALL.len() => read.0[usize::from(id.0)] += 1,
                        _ => findings.lines.parsed[format as usize] += 1,
                    }
                    findings.lines.without_client += u64::from(*seen == LineKind::WithoutClient);
                }
            }
        }
        self.match_batch(&mut batch, worker, findings);
    }

    /// Scans a line that was rewritten to Combined Log Format.
    #[cold]
    fn scan_rewritten<'t>(
        &self,
        line: ScannedLine<'t, '_>,
        written: &'t [u8],
        batch: &mut Vec<BatchedRequest<'t>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) -> LogFormat {
        let frame = Frame::locate(written, None).unwrap_or_default();
        self.scan_frame(line, frame, Some(written), batch, worker, findings)
    }

    /// Scans a line by its frame, and by its rewritten form if there is one; returns its format.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an argument would go through memory")]
    #[inline(always)]
    fn scan_frame<'t>(
        &self,
        line: ScannedLine<'t, '_>,
        frame: Frame<'t>,
        written: Option<&'t [u8]>,
        batch: &mut Vec<BatchedRequest<'t>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) -> LogFormat {
        let (position, text, _) = line.count(findings);
        findings.lines.nul_bytes += nuls_within(text) as u64;
        let time = worker.clock.parse(frame.time);
        self.push_request(BatchedRequest { line: written, position, frame, time }, batch, worker, findings);
        frame.format()
    }
}

impl FormatCounts {
    /// Adds the counts to `findings`.
    fn add_to(&self, formats: &Formats, findings: &mut Findings) {
        for (id, lines) in formats.ids().zip(self.0) {
            findings.lines.others.count(formats.name(id), lines);
        }
    }
}

/// Counts a directive of the log writer.
fn skip_line(line: ScannedLine<'_, '_>, findings: &mut Findings) {
    line.count(findings);
    findings.lines.skipped += 1;
}
