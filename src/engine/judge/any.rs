//! Lines of any format: those that the engine does not read itself are judged by what a format says of them.

use super::line::Line;
use super::{AHEAD, BATCH, Judge, Request, fetch_ahead, map_ahead};
use crate::engine::Scratch;
use crate::engine::index::BLOCK;
use crate::finding::Findings;
use crate::formats::bytes::nuls_within;
use crate::formats::reader::{LineContext, LineKind, LogReader};
use crate::formats::{Formats, Frame, FrameBuffer, LogFormat, W3cHeader};

/// Who reads lines that the engine does not, and what it keeps between blocks.
struct Reader<'r, 'f> {
    log_reader: &'r mut LogReader,
    context: &'r LineContext<'f>,
    /// The columns in force.
    header: W3cHeader,
    buffer: FrameBuffer,
    /// Lines of each format.
    read: Counts,
}

/// Lines of formats other than the engine's own, by their numbers.
struct Counts([u64; 256]);

impl Judge<'_> {
    /// Judges rewritten_line lines of any format; the last one may lack its newline.
    #[must_use]
    pub fn judge_any(&self, lines: &[u8], context: &LineContext<'_>, log_reader: &mut LogReader, scratch: &mut Scratch) -> Findings {
        let buffer = std::mem::take(&mut scratch.sheet);
        let mut reader = Reader { log_reader, context, header: context.header.clone(), buffer, read: Counts([0; 256]) };
        let mut findings = scratch.findings();
        let mut index = std::mem::take(&mut scratch.index);
        let mut start = 0;
        while start < lines.len() {
            let block = &lines[start..lines.len().min(start + BLOCK)];
            index.read(block);
            map_ahead(lines, start + BLOCK + AHEAD - 1);
            if let Some(&last) = index.newlines().last() {
                let fetch_ahead = |line: Line<'_, '_>| fetch_ahead(lines, line.offset as usize + AHEAD);
                self.judge_read(Line::each(block, start, &index), fetch_ahead, &mut reader, scratch, &mut findings);
                start += last as usize + 1;
            } else {
                let (line, taken) = Line::long(&lines[start..], start, &mut findings);
                self.judge_read(line.into_iter(), |_| (), &mut reader, scratch, &mut findings);
                start += taken;
            }
        }
        findings.times = std::mem::take(&mut scratch.span).ends();
        reader.read.tell(context.formats, &mut findings);
        scratch.index = index;
        scratch.sheet = reader.buffer;
        findings
    }

    /// Reads lines, and judges them then: what was written to read one must not move while others are read.
    fn judge_read<'t, 'i>(
        &self,
        lines: impl Iterator<Item = Line<'t, 'i>> + Clone,
        before_each: impl Fn(Line<'_, '_>),
        reader: &mut Reader<'_, '_>,
        scratch: &mut Scratch,
        findings: &mut Findings,
    ) {
        let Reader { log_reader, context, header, buffer, read } = reader;
        buffer.clear();
        for line in lines.clone() {
            before_each(line);
            log_reader.read_into(line.text, context, header, |from| line.quotes.first(line.text, from), buffer);
        }
        let mut batch = Vec::with_capacity(BATCH);
        for (number, (line, seen)) in lines.zip(buffer.read()).enumerate() {
            match seen {
                LineKind::AsIs => self.take(line, &mut batch, scratch, findings),
                LineKind::Directive => skip(line, findings),
                LineKind::As(_) | LineKind::WithoutClient => {
                    let format = if let Some(frame) = buffer.frame(number, line.text) {
                        self.take_frame(line, frame, None, &mut batch, scratch, findings)
                    } else {
                        self.take_written(line, buffer.rewritten_line(number).unwrap_or_default(), &mut batch, scratch, findings)
                    };
                    // What stood behind a prefix is of the engine's own formats, and counted as such.
                    match seen {
                        LineKind::As(id) if usize::from(id.0) >= LogFormat::ALL.len() => read.0[usize::from(id.0)] += 1,
                        _ => findings.lines.parsed[format as usize] += 1,
                    }
                    findings.lines.without_client += u64::from(*seen == LineKind::WithoutClient);
                }
            }
        }
        self.settle(&mut batch, scratch, findings);
    }

    /// Takes a line that was written down as a combined line.
    #[cold]
    fn take_written<'t>(
        &self,
        line: Line<'t, '_>,
        written: &'t [u8],
        batch: &mut Vec<Request<'t>>,
        scratch: &mut Scratch,
        findings: &mut Findings,
    ) -> LogFormat {
        let frame = Frame::locate(written, None).unwrap_or_default();
        self.take_frame(line, frame, Some(written), batch, scratch, findings)
    }

    /// Takes a line of which there is a frame, and perhaps a combined line that says the same; gives the format of that.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an argument would go through memory")]
    #[inline(always)]
    fn take_frame<'t>(
        &self,
        line: Line<'t, '_>,
        frame: Frame<'t>,
        written: Option<&'t [u8]>,
        batch: &mut Vec<Request<'t>>,
        scratch: &mut Scratch,
        findings: &mut Findings,
    ) -> LogFormat {
        let (place, text, _) = line.count(findings);
        findings.lines.nul_bytes += nuls_within(text) as u64;
        let time = scratch.clock.parse(frame.time);
        self.take_request(Request { line: written, place, frame, time }, batch, scratch, findings);
        frame.format()
    }
}

impl Counts {
    /// Says how many lines there were.
    fn tell(&self, formats: &Formats, findings: &mut Findings) {
        for (id, lines) in formats.ids().zip(self.0) {
            findings.lines.others.count(formats.name(id), lines);
        }
    }
}

/// Counts a line that is one of the log's own.
fn skip(line: Line<'_, '_>, findings: &mut Findings) {
    line.count(findings);
    findings.lines.skipped += 1;
}
