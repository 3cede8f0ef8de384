//! Reads the snapshot of a JSON report: rows go straight into a tally, and everything else is skipped.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::READS_SCHEMA;
use super::decode::SnapshotDecoder;
use super::frame::unpack;
use super::json::{BOUNDS, CHECKSUM, LISTS, PACKED, PLAIN_LISTS, PlainChecksum, TIMES, UNMATCHED};
use super::rows::{
    AllowedRow, AppEvidenceRow, CellRow, CellTimesRow, ClientErrorRow, ClientRow, HomePageRow, InputRow, MinuteRow, PathErrorRow, RuleRow,
    SitePathRow, UnmatchedAnswersRow,
};
use super::{ReportSnapshot, SnapshotError};
use crate::analysis::model::InputSummary;
use crate::client::Ipv6Prefix;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;

/// The size of the read buffer.
const BUFFER: usize = 64 * 1024;
/// The most bytes of a text that is parsed in memory, in a third of the time: the snapshot of a full tally has 18 MB. A
/// longer text is parsed as it is read, so that a small file of few rows cannot take much memory.
const MOST_IN_MEMORY: usize = 24 << 20;

/// Reads the snapshot of a JSON report. Its rules are those of `rules` that have the same id.
///
/// # Errors
///
/// The input cannot be read, is no report, has no snapshot, or is damaged. No input causes a panic, or uses much more
/// memory than its own size.
pub fn read(input: impl Read, rules: &RuleSet) -> Result<ReportSnapshot, SnapshotError> {
    let mut document = DocumentReader { decoder: Some(SnapshotDecoder::new(rules)), ..DocumentReader::default() };
    let parsed = parse(input, &mut document, MOST_IN_MEMORY);
    if let Some(refused) = document.refused {
        return Err(refused);
    }
    parsed.map_err(|error| document.broken(error))?;
    match document.evidence {
        Some(evidence) => {
            check_sums(document.totals.as_ref(), &evidence).map_err(SnapshotError::Damaged)?;
            if let Some(stored) = document.checksum.1
                && document.checksum.0.finish(document.log_host.as_deref(), document.period.as_deref(), document.prefix) != stored
            {
                return Err(SnapshotError::Damaged(
                    "its checksum is that of other rules, or of another host, period or 'ipv6_prefix'".into(),
                ));
            }
            Ok(ReportSnapshot { log_host: document.log_host, period: document.period, prefix: document.prefix, ..evidence })
        }
        None if document.is_hidden => Err(SnapshotError::Hidden),
        None if document.is_cut => Err(SnapshotError::Cut),
        None => Err(SnapshotError::Foreign("the key 'evidence' is missing".into())),
    }
}

/// Parses a text: in memory if it is short, otherwise as it is read.
fn parse<V>(mut input: impl Read, seed: impl for<'de> DeserializeSeed<'de, Value = V>, most_in_memory: usize) -> serde_json::Result<V> {
    let mut text = Vec::new();
    let read = input.by_ref().take(most_in_memory as u64).read_to_end(&mut text);
    if read.as_ref().is_ok_and(|&read| read < most_in_memory) {
        let mut parser = serde_json::Deserializer::from_slice(&text);
        let parsed = seed.deserialize(&mut parser)?;
        return parser.end().map(|()| parsed);
    }
    // The text of corrupt data means nothing. What was read before another error is parsed first, because it may be no report.
    if read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
        text.clear();
    }
    let rest = FailedRead(read.err()).chain(input);
    let whole = LimitedReader::new(text.as_slice().chain(rest));
    let mut parser = serde_json::Deserializer::from_reader(BufReader::with_capacity(BUFFER, whole));
    let parsed = seed.deserialize(&mut parser)?;
    parser.end().map(|()| parsed)
}

/// A reader that fails once if there is an error.
struct FailedRead(Option<io::Error>);

impl Read for FailedRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The parts of the document that were read so far.
#[derive(Default)]
struct DocumentReader<'r> {
    version: Option<u32>,
    is_ours: bool,
    totals: Option<DocumentTotals>,
    log_host: Option<String>,
    period: Option<String>,
    prefix: Option<Ipv6Prefix>,
    /// Its clients are hidden.
    is_hidden: bool,
    decoder: Option<SnapshotDecoder<'r>>,
    /// The checksum of what is not compressed, so far, and the stored one.
    checksum: (PlainChecksum, Option<u64>),
    evidence: Option<ReportSnapshot>,
    /// It has `"evidence": null`.
    is_cut: bool,
    /// Why reading stopped, if not because of a parser error.
    refused: Option<SnapshotError>,
}

impl DocumentReader<'_> {
    /// Converts a parser error. Until the document is known to be a report, it may be anything.
    fn broken(&self, error: serde_json::Error) -> SnapshotError {
        let message = escape(error.to_string().as_bytes()).into_owned();
        match error.classify() {
            serde_json::error::Category::Io if error.io_error_kind() != Some(io::ErrorKind::InvalidData) => SnapshotError::Io(error.into()),
            _ if self.is_ours && self.version.is_some() => SnapshotError::Damaged(message),
            _ => SnapshotError::Foreign(message),
        }
    }

    /// Checks the version. Returns whether to continue.
    fn check_version(&mut self, version: u32) -> bool {
        self.version = Some(version);
        self.refused = match version {
            READS_SCHEMA => None,
            newer if newer > READS_SCHEMA => Some(SnapshotError::Newer(newer)),
            older => Some(SnapshotError::Older(older)),
        };
        self.refused.is_none()
    }
}

impl<'de> DeserializeSeed<'de> for &mut DocumentReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut DocumentReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON report of probewatch")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "schema_version" if self.version.is_none() => {
                    let version = map.next_value()?;
                    if !self.check_version(version) {
                        return Err(A::Error::custom("another version"));
                    }
                }
                "generated_by" => {
                    self.is_ours = map.next_value::<String>()?.starts_with("probewatch ");
                    if !self.is_ours {
                        return Err(A::Error::custom("another program wrote it"));
                    }
                }
                "totals" => self.totals = Some(map.next_value()?),
                "log_host" => self.log_host = map.next_value::<Option<String>>()?.map(|name| escape(name.as_bytes()).into_owned()),
                "period" => self.period = map.next_value::<Option<String>>()?.map(|name| escape(name.as_bytes()).into_owned()),
                "ipv6_prefix" => {
                    let bits = map.next_value::<Option<u8>>()?;
                    self.prefix =
                        bits.map(|bits| Ipv6Prefix::new(bits).ok_or_else(|| A::Error::custom("no such ipv6_prefix"))).transpose()?;
                }
                "anonymized" => self.is_hidden = map.next_value::<Option<String>>()?.is_some(),
                "evidence" => {
                    let (true, true, Some(decoder)) = (self.is_ours, self.version.is_some(), self.decoder.take()) else {
                        return Err(A::Error::custom("'evidence' occurs twice, or before 'schema_version' or 'generated_by'"));
                    };
                    self.evidence = map.next_value_seed(SnapshotLists(decoder, &mut self.checksum))?;
                    self.is_cut = self.evidence.is_none();
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// The lists of the snapshot; `None` where it is null.
struct SnapshotLists<'r, 'c>(SnapshotDecoder<'r>, &'c mut (PlainChecksum, Option<u64>));

impl<'de> DeserializeSeed<'de> for SnapshotLists<'_, '_> {
    type Value = Option<ReportSnapshot>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for SnapshotLists<'_, '_> {
    type Value = Option<ReportSnapshot>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the evidence, or null")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let mut lists = ListReader { decoder: self.0, checksum: self.1, count: 0, is_packed: false };
        lists.visit_map(map)?;
        // The error bounds are stored together, or not at all.
        let ListReader { decoder, count, .. } = lists;
        match LISTS.iter().chain(&BOUNDS).nth(count).filter(|_| count != LISTS.len()) {
            Some(missing) => Err(A::Error::custom(format!("the list '{missing}' is missing"))),
            None => Ok(Some(decoder.finish())),
        }
    }
}

/// Reads lists, in their order: all, or the first ones and then the others from the compressed text.
struct ListReader<'r, 'c> {
    decoder: SnapshotDecoder<'r>,
    checksum: &'c mut (PlainChecksum, Option<u64>),
    /// Lists that were read.
    count: usize,
    /// Compressed lists were found. There are none in them.
    is_packed: bool,
}

impl<'de> DeserializeSeed<'de> for &mut ListReader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut ListReader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the lists of the evidence")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == PACKED && !self.is_packed && self.count == PLAIN_LISTS {
                self.is_packed = true;
                map.next_value_seed(PackedText(&mut *self))?;
                continue;
            }
            // Rows refer to rows of earlier lists.
            match LISTS.iter().chain(&BOUNDS).position(|name| *name == key) {
                Some(number) if number == self.count => self.count += 1,
                None if key == CHECKSUM && self.is_packed => {
                    self.checksum.1 = Some(map.next_value()?);
                    continue;
                }
                None if TIMES.contains(&key.as_str()) || key == UNMATCHED => {}
                Some(_) => return Err(A::Error::custom(format!("the list '{key}' is in the wrong place"))),
                None => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            }
            let decoder = &mut self.decoder;
            match key.as_str() {
                "rules" => map.next_value_seed(RowsInto::new(|row: Value| {
                    self.checksum.0.rule(&row);
                    decoder.rule(RuleRow::deserialize(row).map_err(|error| error.to_string())?)
                }))?,
                "inputs" => map.next_value_seed(RowsInto::new(|row: InputRow<'static>| decoder.input(&row)))?,
                "hosts" => map.next_value_seed(RowsInto::new(|row: String| decoder.host(&row)))?,
                "clients" => map.next_value_seed(RowsInto::new(|row: ClientRow<'de>| decoder.client(&row)))?,
                UNMATCHED => map.next_value_seed(RowsInto::new(|row: UnmatchedAnswersRow| decoder.unmatched_answers(&row)))?,
                "paths" => map.next_value_seed(RowsInto::new(|row: String| decoder.path(&row)))?,
                "lists" => map.next_value_seed(RowsInto::new(|row: Vec<u32>| decoder.list(&row)))?,
                "time_unit" => decoder.time_unit(map.next_value()?).map_err(A::Error::custom)?,
                "times" => map.next_value_seed(RowsInto::new(|row: CellTimesRow| decoder.times(row)))?,
                "cells" => map.next_value_seed(RowsInto::new(|row: CellRow<'static>| decoder.cell(row)))?,
                "minutes" => map.next_value_seed(RowsInto::new(|row: MinuteRow| decoder.minute(row)))?,
                "uncounted" => decoder.uncounted(map.next_value()?).map_err(A::Error::custom)?,
                "app_evidence" => map.next_value_seed(RowsInto::new(|row: AppEvidenceRow| decoder.app_evidence(&row)))?,
                "home_pages" => map.next_value_seed(RowsInto::new(|row: HomePageRow| decoder.home(&row)))?,
                "site_paths" => map.next_value_seed(RowsInto::new(|row: SitePathRow| decoder.site_path(row)))?,
                "allowed" => map.next_value_seed(RowsInto::new(|row: AllowedRow<'static>| decoder.allowed(row)))?,
                "floor" => decoder.floor(&map.next_value()?).map_err(A::Error::custom)?,
                "client_errors" => map.next_value_seed(RowsInto::new(|row: ClientErrorRow| decoder.client_error(&row)))?,
                "path_errors" => map.next_value_seed(RowsInto::new(|row: PathErrorRow| decoder.path_error(&row)))?,
                _ => decoder.without_time(map.next_value()?).map_err(A::Error::custom)?,
            }
        }
        Ok(())
    }
}

/// The compressed lists.
struct PackedText<'l, 'r, 'c>(&'l mut ListReader<'r, 'c>);

impl<'de> DeserializeSeed<'de> for PackedText<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for PackedText<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("compressed lists")
    }

    fn visit_str<E: serde::de::Error>(self, packed: &str) -> Result<(), E> {
        parse(unpack(packed), self.0, MOST_IN_MEMORY).map_err(E::custom)
    }
}

/// A list whose rows are passed on one by one.
struct RowsInto<T, F> {
    take: F,
    row: PhantomData<T>,
}

impl<T, F: FnMut(T) -> Result<(), String>> RowsInto<T, F> {
    fn new(take: F) -> Self {
        Self { take, row: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> DeserializeSeed<'de> for RowsInto<T, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de> for RowsInto<T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<T>()? {
            (self.take)(row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// A count: its name, the total, and its value for an input.
type CountCheck = (&'static str, u64, fn(&InputSummary) -> u64);

/// The counts of lines in the totals of a report.
#[derive(Debug, Deserialize)]
pub(crate) struct DocumentTotals {
    bytes: u64,
    lines: u64,
    parsed: u64,
    unparsed: u64,
    oversized: u64,
    skipped: u64,
    pending: u64,
    requests: u64,
}

/// Checks the line counts of each input, and the totals (if any) against all inputs. Hits are not compared, because a
/// report counts only the severities that it prints.
///
/// # Errors
///
/// A clause that names the wrong sum.
pub(crate) fn check_sums(totals: Option<&DocumentTotals>, evidence: &ReportSnapshot) -> Result<(), String> {
    for input in &evidence.inputs {
        let parts = [input.parsed, input.unparsed, input.oversized, input.skipped, input.pending];
        let sum = parts.iter().sum::<u64>();
        if input.lines != sum {
            return Err(format!("an input has {} lines, and its parts have {sum}", input.lines));
        }
    }
    totals.map_or(Ok(()), |totals| check_totals(totals, evidence))
}

fn check_totals(totals: &DocumentTotals, evidence: &ReportSnapshot) -> Result<(), String> {
    let counts: [CountCheck; 8] = [
        ("bytes", totals.bytes, |input| input.bytes),
        ("lines", totals.lines, |input| input.lines),
        ("parsed", totals.parsed, |input| input.parsed),
        ("unparsed", totals.unparsed, |input| input.unparsed),
        ("oversized", totals.oversized, |input| input.oversized),
        ("skipped", totals.skipped, |input| input.skipped),
        ("pending", totals.pending, |input| input.pending),
        ("requests", totals.requests, |input| input.requests),
    ];
    for (name, total, of) in counts {
        let sum = evidence.inputs.iter().map(of).sum::<u64>();
        if total != sum {
            return Err(format!("its totals have {total} {name}, and its inputs {sum}"));
        }
    }
    Ok(())
}

/// A reader that leaves out the rows of a report, which a merge does not need: lines in the form that this program writes them. The
/// lists are then empty. Any other text is unchanged.
pub(crate) struct RowSkipper<R> {
    from: BufReader<R>,
    /// The start of a line that may be a row, until it is known.
    line: Vec<u8>,
    /// Bytes of `line` that were read.
    given: usize,
    is_line_start: bool,
}

/// How a row begins.
const ROW_START: &[u8] = b"    {\"";

impl<R: Read> RowSkipper<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from: BufReader::with_capacity(ROWS_BUFFER, from), line: Vec::new(), given: 0, is_line_start: true }
    }

    /// Skips rows. The next line, if it only begins like a row, is in `line` then.
    fn skip_rows(&mut self) -> io::Result<()> {
        loop {
            self.line.clear();
            self.given = 0;
            // Almost all rows are in the buffer with their end.
            let buffer = self.from.fill_buf()?;
            if let Some(end) = memchr::memchr(b'\n', buffer) {
                if !is_row(&buffer[..end]) {
                    return Ok(());
                }
                self.from.consume(end + 1);
                continue;
            }
            if !buffer.starts_with(&ROW_START[..ROW_START.len().min(buffer.len())]) {
                return Ok(());
            }
            self.from.by_ref().take(LONGEST as u64).read_until(b'\n', &mut self.line)?;
            if !is_row(self.line.strip_suffix(b"\n").unwrap_or_default()) {
                return Ok(());
            }
        }
    }
}

/// Whether a line without its end is a row, or a row and a comma.
fn is_row(line: &[u8]) -> bool {
    line.starts_with(ROW_START) && line.strip_suffix(b",").unwrap_or(line).ends_with(b"}")
}

impl<R: Read> Read for RowSkipper<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.is_line_start && self.given == self.line.len() {
            self.skip_rows()?;
        }
        if self.given < self.line.len() {
            let read = (&self.line[self.given..]).read(out)?;
            self.given += read;
            self.is_line_start = self.given == self.line.len() && self.line.ends_with(b"\n");
            return Ok(read);
        }
        let buffer = self.from.fill_buf()?;
        let line = memchr::memchr(b'\n', buffer).map_or(buffer, |end| &buffer[..=end]);
        let read = (&line[..]).read(out)?;
        self.is_line_start = read > 0 && line[read - 1] == b'\n';
        self.from.consume(read);
        Ok(read)
    }
}

/// The size of the buffer that rows are searched for in.
const ROWS_BUFFER: usize = 1 << 20;

/// The most bytes of a string. A line has at most 1 MiB by default, and escapes make it longer.
const LONGEST: usize = 64 * 1024 * 1024;
/// The deepest nesting; a report has seven levels.
const DEEPEST: usize = 32;

/// A reader that rejects JSON with long strings or deep nesting before the parser allocates memory for it. It looks at
/// strings and brackets only.
pub(crate) struct LimitedReader<R> {
    from: R,
    depth: usize,
    /// Bytes since the start of a string.
    string: Option<usize>,
    is_escaped: bool,
}

impl<R> LimitedReader<R> {
    pub(crate) fn new(from: R) -> Self {
        Self { from, depth: 0, string: None, is_escaped: false }
    }

    fn look(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for &byte in bytes {
            let Some(length) = &mut self.string else {
                match byte {
                    b'"' => self.string = Some(0),
                    b'[' | b'{' => self.depth += 1,
                    b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                continue;
            };
            *length += 1;
            if *length > LONGEST {
                return Err("it holds a text longer than any line of a log");
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.string = None,
                _ => {}
            }
        }
        if self.depth > DEEPEST { Err("its lists are nested too deeply") } else { Ok(()) }
    }
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.look(&buffer[..n]).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::analysis::snapshot::read::*;

    /// A reader that gives a few bytes at a time.
    struct Pieces<'t>(&'t [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let most = out.len().min(self.1);
            self.0.read(&mut out[..most])
        }
    }

    fn without_rows(text: &str, piece: usize) -> String {
        let mut out = String::new();
        RowSkipper::new(Pieces(text.as_bytes(), piece)).read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn rows_are_left_out() {
        let report = "{\n  \"totals\": {\"hits\":1},\n  \"pairs\": [\n    {\"client\":\"a\"},\n    {\"client\":\"b\"}\n  ],\n  \"evidence\": \"x\"\n}\n";
        let short = "{\n  \"totals\": {\"hits\":1},\n  \"pairs\": [\n  ],\n  \"evidence\": \"x\"\n}\n";
        for piece in [1, 3, 7, 1000] {
            assert_eq!(without_rows(report, piece), short);
        }
        for other in ["", "    {\n      \"a\": 1\n    }", "    {\"a\": {\n", "    {\"cut\":1", "    ", "x    {\"a\":1}\n", "\u{8c}"] {
            for piece in [1, 4, 1000] {
                assert_eq!(without_rows(other, piece), other);
            }
        }
    }

    proptest! {
        #[test]
        fn other_lines_are_unchanged(lines in "(   ? ?[{]?\"?[a}],?\n?){0,12}", piece in 1..9_usize) {
            let kept: String = lines.split_inclusive('\n').filter(|line| !line.ends_with('\n') || !is_row(line.trim_end().as_bytes())).collect();
            prop_assert_eq!(without_rows(&lines, piece), kept);
        }
    }

    /// The keys of an object.
    struct Keys;

    impl<'de> DeserializeSeed<'de> for Keys {
        type Value = Vec<String>;

        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
            let object = std::collections::BTreeMap::<String, IgnoredAny>::deserialize(deserializer)?;
            Ok(object.into_keys().collect())
        }
    }

    proptest! {
        #[test]
        fn a_text_is_parsed_alike_in_memory_and_as_it_is_read(text in "[{][a-c\": 1\\[\\],{}]{0,20}[}] ?", most in 0..40_usize) {
            let (in_memory, streamed) = (parse(text.as_bytes(), Keys, usize::MAX), parse(text.as_bytes(), Keys, most));
            prop_assert_eq!(in_memory.ok(), streamed.ok());
        }
    }

    #[test]
    fn an_error_of_the_input_comes_after_its_text() {
        let failing = |text: &'static str| text.as_bytes().chain(FailedRead(Some(io::Error::other("gone"))));
        let error = |text| parse(failing(text), Keys, MOST_IN_MEMORY).unwrap_err().to_string();
        assert!(error("{\"a\": 1,").contains("gone"));
        assert!(error("no report").starts_with("expected ident"), "{}", error("no report"));
    }

    #[test]
    fn a_text_too_long_for_memory_is_read() {
        let text = format!("{{\"a\": 1,{}\"b\": 2}}", " ".repeat(MOST_IN_MEMORY));
        assert_eq!(parse(text.as_bytes(), Keys, MOST_IN_MEMORY).unwrap(), ["a", "b"]);
    }

    fn read(text: &str) -> Result<String, String> {
        let mut out = String::new();
        LimitedReader::new(text.as_bytes()).read_to_string(&mut out).map(|_| out).map_err(|error| error.to_string())
    }

    #[test]
    fn rejects_long_strings_and_deep_nesting() {
        for fine in ["", "{\"a\":[[[1]]]}", "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", "\"\\\"[[\"", "no json at ] all }"] {
            assert_eq!(read(fine).as_deref(), Ok(fine));
        }
        assert!(read(&"[".repeat(40)).unwrap_err().contains("deep"));
        assert!(read(&format!("\"{}", "a".repeat(LONGEST + 1))).unwrap_err().contains("longer"));
        assert!(read(&format!("\"{}", "\\\"".repeat(LONGEST))).unwrap_err().contains("longer"));
    }
}
