//! What several fuzz targets check: that every line of a text is accounted for, and is read the
//! same on every way there is through the readers.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr_iter};
use probewatch::internals::engine::{LineScanner, ScanOptions, WorkerState};
use probewatch::internals::finding::{Findings, LineCounts};
use probewatch::internals::formats::reader::{LineContext, LineKind, LogReader};
use probewatch::internals::formats::{ClientPosition, EntryBuffer, FormatId, Formats, Frame, W3cHeader};
use probewatch::internals::rules::{RuleChoice, RuleSet, load};

/// The built-in rules.
pub static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).expect("the built-in rules load"));

/// The built-in formats.
pub static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().expect("the built-in formats load"));

/// The longest line that is read, short enough for a fuzzer to go beyond it.
const MAX_LINE: usize = 1000;

/// Checks all that is known of reading the lines of a log, of these formats and with these tried
/// first.
pub fn check_lines(text: &[u8], formats: &Formats, first: &[FormatId]) {
    let header = W3cHeader::from_log_start(text, MAX_LINE);
    let context = LineContext { formats, preferred: first, header, layouts: None, clients: ClientPosition::Unknown, max_line: MAX_LINE };
    check_context(text, &context);
    // The same with the layouts that the lines themselves have.
    if let layouts @ Some(_) = LogReader::default().discover(text, &context) {
        check_context(text, &LineContext { layouts, ..context });
    }
    lines(text).for_each(|line| check_frame(line.strip_suffix(b"\r").unwrap_or(line)));
}

fn check_context(text: &[u8], context: &LineContext<'_>) {
    let expected = read(text, context);
    check_block(text, context);
    check_cut(text, context, &expected);
    check_counts(text, context);
}

fn newlines(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

/// Each line without its newline.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    whole.split(|&byte| byte == b'\n').take(if text.is_empty() { 0 } else { usize::MAX })
}

fn shown(text: &[u8]) -> String {
    text.escape_ascii().to_string()
}

/// How each line is read, and its fields.
fn read(text: &[u8], context: &LineContext<'_>) -> Vec<String> {
    let (mut log_reader, mut context) = (LogReader::default(), context.clone());
    lines(text).map(|line| format!("{:?}", log_reader.line(line, &mut context))).collect()
}

/// Both parts of a text that is cut in two give the lines of the whole text.
fn check_cut(text: &[u8], context: &LineContext<'_>, expected: &[String]) {
    let Some(cut) = memchr_iter(b'\n', text).nth(newlines(text) / 2) else { return };
    let (before, after) = text.split_at(cut + 1);
    let header = context.header.clone().after(before, MAX_LINE);
    let both = [read(before, context), read(after, &LineContext { header, ..context.clone() })].concat();
    assert_eq!(both, expected, "a text that is cut is read otherwise");
}

/// Lines that are read in a block have the fields of single lines.
fn check_block(text: &[u8], context: &LineContext<'_>) {
    let (mut log_reader, mut buffer, mut header) = (LogReader::default(), EntryBuffer::default(), context.header.clone());
    for line in lines(text) {
        let first_quote = |from: usize| Some(from + memchr(b'"', line.get(from..)?)?);
        log_reader.read_into(line, context, &mut header, first_quote, &mut buffer);
    }
    let mut context = context.clone();
    for (number, (line, kind)) in lines(text).zip(buffer.kinds()).enumerate() {
        let (alone, entry) = log_reader.line(line, &mut context);
        assert_eq!(alone, *kind, "{}", shown(line));
        if !matches!(kind, LineKind::AsIs | LineKind::Directive) {
            assert_eq!(entry, Some(buffer.entry(number, line)), "{}", shown(line));
        }
    }
}

/// Every line is counted once, and every hit lies at the beginning of a line.
fn check_counts(text: &[u8], context: &LineContext<'_>) {
    let scope = ScanOptions { max_line: MAX_LINE, ..ScanOptions::default() };
    let mut scratch = WorkerState::default();
    let scanner = LineScanner::new(&RULES, &scope);
    let findings = scanner.scan_any(text, context, &mut LogReader::default(), &mut scratch);
    check_findings(text, &findings);
    let again = scanner.scan_any(text, context, &mut LogReader::default(), &mut scratch);
    assert_eq!(findings.lines, again.lines, "lines that are known are counted otherwise");
    assert_eq!(places(&findings), places(&again), "lines that are known hit otherwise");
}

fn check_findings(text: &[u8], findings: &Findings) {
    let LineCounts { lines: all, unparsed, oversized, skipped, .. } = findings.lines;
    // NULs after the last newline are space that was allocated ahead, and no line.
    let padded = text.ends_with(b"\0") && lines(text).last().is_some_and(|last| last.iter().all(|byte| *byte == 0));
    assert_eq!(all, (lines(text).count() - usize::from(padded)) as u64, "lines were counted twice or not at all");
    assert_eq!(all, findings.lines.parsed() + unparsed + oversized + skipped, "{:?}", findings.lines);
    for hit in &findings.hits {
        let start = usize::try_from(hit.offset).expect("64 bits");
        assert!(start < text.len(), "a hit after the text");
        let begun = memchr::memrchr(b'\n', &text[..start]).map_or(0, |at| at + 1);
        assert!(text[begun..start].iter().all(|byte| *byte == 0), "a hit at {start} does not begin a line");
        assert_eq!(newlines(&text[..start]), hit.line as usize, "a hit has the number of another line");
    }
}

fn places(findings: &Findings) -> Vec<(u32, u64, Option<u16>)> {
    findings.hits.iter().map(|hit| (hit.line, hit.offset, hit.status)).collect()
}

/// Every field that a frame has lies in its line.
fn check_frame(line: &[u8]) {
    let Some(frame) = Frame::locate(line, None) else { return };
    let record = frame.record(None);
    let fields = [Some(frame.client), frame.host, Some(frame.time), Some(frame.request)];
    let texts = [Some(record.client), record.host, Some(record.request), record.referer, record.user_agent];
    for field in fields.into_iter().chain(texts).flatten() {
        assert!(field.is_empty() || lies_in(field, line), "a field that is not in its line: {}", shown(field));
    }
}

/// Whether a text is a part of another, at the place in memory where that lies.
#[must_use]
pub fn lies_in(part: &[u8], whole: &[u8]) -> bool {
    let Range { start, end } = whole.as_ptr_range();
    start <= part.as_ptr() && part.as_ptr_range().end <= end
}

/// Rules scanner these lines, the same the second time.
pub fn check_rules(rules: &RuleSet, lines: &[u8]) {
    let scope = ScanOptions::default();
    let scanner = LineScanner::new(rules, &scope);
    let mut scratch = WorkerState::default();
    let findings = scanner.scan(lines, &mut scratch);
    check_findings(lines, &findings);
    assert_eq!(places(&findings), places(&scanner.scan(lines, &mut scratch)));
}
