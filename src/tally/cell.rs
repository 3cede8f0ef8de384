//! One cell of a tally: its key, its hits, its first and last time, and its earliest line as a
//! sample. A tally stores cells in another layout, see [`table`](super::table).
//!
//! [`CellSample`] is the part of a stored cell that few hits change: the error of its count, and
//! its sample. The texts of samples are stored one after another in a few large blocks, the
//! [`ByteArena`]: a new cell needs no allocation, and a merge moves blocks instead of copying
//! texts. A freed text stays in its block until more than half of all bytes are free. Then the
//! owner [copies](ByteArena::insert) the others into new blocks.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::ImportedKey;
use super::time_counts::{TimeCounts, TimeScale, span_of};
use crate::collections::intern::SymbolTables;
use crate::log::log_entry::LogEntry;
use crate::log::time::{LogTime, PackedTime, TimeSpan};
use crate::soft_404::{MethodClass, Response};
use crate::text::short_bytes::append;

/// There is a status.
const STATUS: u8 = 1;
/// It was answered, and the rule says that an answer exposes something.
const ANSWERED: u8 = 2;
/// There is the size of an answer.
const BYTES: u8 = 4;
/// It is a probe of its path, so its response shows how the site answers unknown paths.
const PROBE: u8 = 8;
/// The class of the method is in the bits from here on.
const METHOD: u32 = 4;
/// Bytes of a block of texts; a block with one longer text is larger.
const ARENA_BLOCK_LEN: usize = 1 << 16;
/// The longest sample, in bytes, of a cell that holds evicted hits; a longer one is cut.
pub(super) const MAX_CUT_SAMPLE: usize = 1 << 10;
/// Free bytes of texts that do not yet justify a copy.
const COMPACT_THRESHOLD: usize = 1 << 20;

/// The key of a cell, in half a cache line. All numbers are those of the tally.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CellKey {
    pub(super) client: u32,
    pub(super) path: u32,
    pub(super) rules: u32,
    pub(super) input: u32,
    pub(super) host: u32,
    /// 0 where there is none.
    pub(super) status: u16,
    /// Flags: which of the other fields have a value, whether it was answered, and the class of the
    /// method.
    pub(super) has: u8,
    /// Bytes of the target beyond the path, where there is a size.
    pub(super) extra: u8,
    /// 0 where there are none.
    pub(super) bytes: u64,
}

impl From<ImportedKey> for CellKey {
    fn from(key: ImportedKey) -> Self {
        let ImportedKey {
            client,
            path,
            rules,
            status,
            input,
            host,
            answered,
            is_probe,
            method,
            bytes,
            extra,
        } = key;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let has = flag(status.is_some(), STATUS)
            | flag(answered, ANSWERED)
            | flag(bytes.is_some(), BYTES)
            | flag(is_probe, PROBE);
        let has = has | (method as u8) << METHOD;
        let extra = if bytes.is_some() { extra } else { 0 };
        Self {
            client,
            path,
            rules,
            input,
            host,
            status: status.unwrap_or(0),
            has,
            extra,
            bytes: bytes.unwrap_or(0),
        }
    }
}

impl CellKey {
    pub(super) fn status(&self) -> Option<u16> {
        (self.has & STATUS != 0).then_some(self.status)
    }

    /// It was answered, and the rule says that an answer exposes something.
    pub(super) fn answered(&self) -> bool {
        self.has & ANSWERED != 0
    }

    /// The size of the response.
    pub(super) fn bytes(&self) -> Option<u64> {
        (self.has & BYTES != 0).then_some(self.bytes)
    }

    /// Whether its response shows how the site answers unknown paths.
    pub(super) fn is_probe(&self) -> bool {
        self.has & PROBE != 0
    }

    /// The class of the method.
    pub(super) fn method(&self) -> MethodClass {
        MethodClass::from_u8(self.has >> METHOD)
    }

    /// The response of the site.
    pub(super) fn response(&self) -> Response {
        Response {
            method: self.method(),
            status: self.status(),
            bytes: self.bytes(),
            extra: self.extra,
        }
    }

    /// The key without host and size.
    pub(super) fn without_host_and_size(&self) -> Self {
        Self {
            host: SymbolTables::NO_HOST,
            has: self.has & !BYTES,
            extra: 0,
            bytes: 0,
            ..*self
        }
    }

    /// The key without the fields that differ between sites and responses.
    pub(super) fn overflow(&self) -> Self {
        Self {
            input: SymbolTables::NO_INPUT,
            has: self.has & !PROBE,
            ..*self
        }
        .without_host_and_size()
    }

    /// Whether it is one of the [overflow](super::budget).
    pub(super) fn is_overflow(&self) -> bool {
        self.input == SymbolTables::NO_INPUT
    }

    /// Whether it names a client and a path.
    pub(super) fn is_pair(&self) -> bool {
        self.client != SymbolTables::OTHER && self.path != SymbolTables::OTHER
    }

    /// The client and the path as one number.
    pub(super) fn pair(&self) -> u64 {
        u64::from(self.client) << 32 | u64::from(self.path)
    }
}

impl Ord for CellKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |key: &Self| {
            (
                key.client,
                key.path,
                key.rules,
                key.status(),
                key.input,
                key.host,
                key.has,
                key.bytes,
                key.extra,
            )
        };
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for CellKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for CellKey {
    /// In two or three words, because every hit is hashed. Inputs and hosts are few; their bits fit
    /// beside the status.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.pair());
        let site = u64::from(self.input) << 10 ^ u64::from(self.host) << 26;
        state.write_u64(
            u64::from(self.rules) << 32
                ^ site
                ^ u64::from(self.status)
                ^ u64::from(self.has >> METHOD) << 62,
        );
        if self.has & BYTES != 0 {
            state.write_u64(self.bytes << 8 | u64::from(self.extra));
        }
    }
}

/// A site: a host is one site in whichever logs it occurs; an input without hosts is a site of its
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site<'a> {
    /// A virtual host, in lower case.
    Host(&'a [u8]),
    /// An input.
    Input(u32),
}

impl<'a> Site<'a> {
    /// The virtual host, if it is one.
    #[must_use]
    pub fn host(self) -> Option<&'a [u8]> {
        match self {
            Self::Host(host) => Some(host),
            Self::Input(_) => None,
        }
    }
}

/// The position of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinePosition {
    /// The input's number.
    pub input: u32,
    /// Where the run of lines begins, in bytes from the start of the input's text.
    pub chunk: u64,
    /// Where the line begins, in bytes from the start of the run.
    pub offset: u64,
    /// The line's number within the run, from 0.
    pub line: u64,
}

/// A cell without its key.
#[derive(Debug, Clone)]
pub struct Cell {
    /// How many.
    pub hits: u64,
    /// The most hits of this client and path that may be uncounted; 0 where the tally is exact. All
    /// cells of a client and a path have the same value.
    pub error: u64,
    /// The first and the last time, of the hits that have one.
    pub times: Option<(LogTime, LogTime)>,
    /// The hits that are neither at the first nor at the last time.
    pub counts: Option<Box<TimeCounts>>,
    /// The earliest hit.
    pub sample: Sample,
}

/// An imported request that is an example of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its time.
    pub time: Option<LogTime>,
    /// Its position: `chunk` counts from the start of the text, and `offset` is 0.
    pub position: LinePosition,
    /// The fields that the earlier report kept; the log line may be gone.
    pub imported: Box<ImportedSample>,
}

/// A sample as a tally holds it.
#[derive(Debug, Clone, Copy)]
pub struct SampleView<'t> {
    /// Its time.
    pub time: Option<LogTime>,
    /// Its position. Of an imported sample, `chunk` counts from the start of the text and `offset` is
    /// 0.
    pub position: LinePosition,
    /// Its text.
    pub content: SampleContentView<'t>,
}

/// The text of such a sample.
#[derive(Debug, Clone, Copy)]
pub enum SampleContentView<'t> {
    /// Its log line.
    Line {
        /// The line.
        text: &'t [u8],
        /// Whether a log format matches it.
        parsed: bool,
    },
    /// The fields that an earlier report kept.
    Imported(&'t ImportedSample),
}

/// A sample read from an earlier report. Its texts are already redacted and are printed as they
/// are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSample {
    /// The generation of the log; with the offset it identifies the request.
    pub generation: u64,
    /// The line's number in its log, from 1.
    pub line: u64,
    /// The request target. It is shared, as many requests have the same, which is often their path.
    pub target: Arc<[u8]>,
    /// The status code.
    pub status: Option<u16>,
    /// The virtual host, where one was logged.
    pub host: Option<Arc<[u8]>>,
    /// The `User-Agent` header. It is shared, as many requests have the same.
    pub user_agent: Option<Arc<[u8]>>,
    /// The user, where one was logged.
    pub user: Option<Box<[u8]>>,
}

impl ImportedSample {
    /// The bytes of its texts; those that many samples share count for each.
    pub(super) fn text_len(&self) -> usize {
        let shared = [&self.host, &self.user_agent].into_iter().flatten();
        self.target.len()
            + shared.map(|text| text.len()).sum::<usize>()
            + self.user.as_ref().map_or(0, |user| user.len())
    }
}

impl SampleView<'_> {
    /// Orders by time, then by position; a line without a time comes last. The order is total, so
    /// the sample that is kept does not depend on the order of merges.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        order((self.time, self.position), (other.time, other.position))
            .then_with(|| self.generation().cmp(&other.generation()))
    }

    /// A report may hold one log in several generations; a tally of log lines has one generation
    /// per input.
    fn generation(&self) -> u64 {
        match self.content {
            SampleContentView::Line { .. } => 0,
            SampleContentView::Imported(imported) => imported.generation,
        }
    }
}

/// Whether one line comes before another, by time and position.
pub(super) fn is_earlier(
    one: (Option<LogTime>, LinePosition),
    other: (Option<LogTime>, LinePosition),
) -> bool {
    order(one, other) == Ordering::Less
}

fn order(a: (Option<LogTime>, LinePosition), b: (Option<LogTime>, LinePosition)) -> Ordering {
    let key = |(time, position): (Option<LogTime>, LinePosition)| (time.is_none(), time, position);
    key(a).cmp(&key(b))
}

/// The time span that covers both.
#[must_use]
pub(crate) fn union_span(
    a: Option<(LogTime, LogTime)>,
    b: Option<(LogTime, LogTime)>,
) -> Option<(LogTime, LogTime)> {
    match (a, b) {
        (Some((first, last)), Some((other_first, other_last))) => {
            Some((first.min(other_first), last.max(other_last)))
        }
        (one, None) | (None, one) => one,
    }
}

/// The part of a cell that every hit changes, and its key. It is one cache line, because an access
/// to a large table costs about one cache miss.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct CellCounts {
    pub(super) key: CellKey,
    /// The number of hits.
    pub hits: u64,
    pub(super) span: TimeSpan,
    pub(super) counts: Option<Box<TimeCounts>>,
}

impl CellCounts {
    /// No hits.
    pub(super) fn new(key: CellKey) -> Self {
        Self {
            key,
            hits: 0,
            span: TimeSpan::default(),
            counts: None,
        }
    }

    /// The first and the last time, of the hits that have one.
    #[must_use]
    pub fn times(&self) -> Option<(LogTime, LogTime)> {
        self.span.ends()
    }

    /// Counts a hit. Returns whether it may be the earliest.
    #[inline]
    pub(super) fn count(&mut self, time: Option<LogTime>, scale: &mut TimeScale) -> bool {
        self.hits += 1;
        let first = self.span.first();
        match time.map(PackedTime::new) {
            Some(time) => {
                self.count_time(time, scale);
                first.is_none_or(|first| time <= first)
            }
            // A line with a time comes before one without.
            None if first.is_none() => true,
            None => {
                self.count_untimed();
                false
            }
        }
    }

    /// Adds the counts of another part of the log; without a scale, only the first and the last
    /// time.
    pub(super) fn add(&mut self, mut other: Self, scale: Option<&mut TimeScale>) {
        match scale {
            Some(scale) => self.merge_times(&mut other, scale),
            None => self.span = span_of(union_span(self.times(), other.times())),
        }
        self.hits += other.hits;
    }

    /// The counts of a finished cell.
    pub(super) fn from_parts(
        key: CellKey,
        hits: u64,
        times: Option<(LogTime, LogTime)>,
        counts: Option<Box<TimeCounts>>,
    ) -> Self {
        Self {
            key,
            hits,
            span: span_of(times),
            counts,
        }
    }
}

/// A cell without its counts.
#[derive(Debug, Clone)]
pub(super) struct CellSample {
    pub(super) error: u64,
    time: Option<LogTime>,
    pub(super) position: LinePosition,
    content: StoredSample,
}

/// The text of a sample.
#[derive(Debug, Clone)]
enum StoredSample {
    Line { text: ArenaSpan, parsed: bool },
    Imported(Box<ImportedSample>),
}

impl StoredSample {
    fn copied(&self, from: &ByteArena, to: &mut ByteArena) -> Self {
        match self {
            Self::Line { text, parsed } => Self::Line {
                text: to.insert(from.get(*text)),
                parsed: *parsed,
            },
            Self::Imported(imported) => Self::Imported(imported.clone()),
        }
    }
}

/// A line with a hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLine<'l> {
    pub(super) time: Option<LogTime>,
    pub(super) position: LinePosition,
    pub(super) text: &'l [u8],
    pub(super) parsed: bool,
}

impl CellSample {
    /// With a log line as sample.
    pub(super) fn from_line(line: &HitLine<'_>, texts: &mut ByteArena) -> Self {
        let content = StoredSample::Line {
            text: texts.insert(line.text),
            parsed: line.parsed,
        };
        Self {
            error: 0,
            time: line.time,
            position: line.position,
            content,
        }
    }

    /// With an imported sample.
    pub(super) fn from_imported(error: u64, sample: Sample) -> Self {
        Self {
            error,
            time: sample.time,
            position: sample.position,
            content: StoredSample::Imported(sample.imported),
        }
    }

    /// Whether a line is earlier than this sample.
    pub(super) fn is_later_than(&self, line: &HitLine<'_>) -> bool {
        is_earlier((line.time, line.position), (self.time, self.position))
    }

    /// Whether this sample is earlier than another.
    pub(super) fn is_before(&self, other: &Self, texts: &ByteArena) -> bool {
        let (mine, others) = ((self.time, self.position), (other.time, other.position));
        is_earlier(mine, others)
            || (mine == others && self.view(texts).order(&other.view(texts)).is_lt())
    }

    /// Takes the sample of another.
    pub(super) fn replace(&mut self, other: Self, texts: &mut ByteArena) {
        let error = self.error;
        std::mem::replace(self, Self { error, ..other }).free(texts);
    }

    /// Changes the number of an imported line. `number` gets the input, the generation, the offset
    /// and the number so far.
    pub(super) fn renumber_line(&mut self, number: &impl Fn(u32, u64, u64, u64) -> u64) {
        if let StoredSample::Imported(sample) = &mut self.content {
            sample.line = number(
                self.position.input,
                sample.generation,
                self.position.chunk,
                sample.line,
            );
            self.position.line = sample.line;
        }
    }

    /// The sample.
    pub(super) fn view<'t>(&'t self, texts: &'t ByteArena) -> SampleView<'t> {
        let content = match &self.content {
            StoredSample::Line { text, parsed } => SampleContentView::Line {
                text: texts.get(*text),
                parsed: *parsed,
            },
            StoredSample::Imported(imported) => SampleContentView::Imported(imported),
        };
        SampleView {
            time: self.time,
            position: self.position,
            content,
        }
    }

    /// A copy. Its text is stored in another arena.
    pub(super) fn copied(&self, from: &ByteArena, to: &mut ByteArena) -> Self {
        Self {
            content: self.content.copied(from, to),
            ..*self
        }
    }

    /// The sample, moved: its text is stored in another arena, and what stays here must not be
    /// read.
    pub(super) fn moved(&mut self, from: &ByteArena, to: &mut ByteArena) -> Self {
        let content = match &mut self.content {
            line @ StoredSample::Line { .. } => line.copied(from, to),
            imported => std::mem::replace(
                imported,
                StoredSample::Line {
                    text: ArenaSpan::EMPTY,
                    parsed: false,
                },
            ),
        };
        Self { content, ..*self }
    }

    /// The bytes of its text.
    pub(super) fn text_len(&self) -> usize {
        match &self.content {
            StoredSample::Line { text, .. } => text.len as usize,
            StoredSample::Imported(imported) => imported.text_len(),
        }
    }

    /// Cuts its text if it has more than [`MAX_CUT_SAMPLE`] bytes. Of an entry, the start of its
    /// request stays, its time, its status and its size.
    pub(super) fn cut(&mut self, texts: &mut ByteArena) {
        const END: &[u8] = b"...";
        /// More bytes than an entry has besides its request, if it has no other text.
        const NUMBERS: usize = 64;
        const MAX_REQUEST: usize = MAX_CUT_SAMPLE - NUMBERS - END.len();
        let StoredSample::Line { text, parsed } = &mut self.content else {
            return;
        };
        if text.len as usize <= MAX_CUT_SAMPLE {
            return;
        }
        let stored = texts.get(*text);
        let entry = if *parsed {
            LogEntry::restore(stored)
        } else {
            None
        };
        let request = entry.map_or(stored, |entry| entry.request);
        let mut kept = [
            &request[..request.len().min(MAX_REQUEST)],
            if request.len() > MAX_REQUEST {
                END
            } else {
                b""
            },
        ]
        .concat();
        if let Some(LogEntry {
            time,
            status,
            bytes,
            ..
        }) = entry
        {
            let request = std::mem::take(&mut kept);
            LogEntry {
                time,
                status,
                bytes,
                request: &request,
                ..LogEntry::default()
            }
            .store(&mut kept);
        }
        texts.free(*text);
        *text = texts.insert(&kept);
    }

    /// The location of its text in the arena, if it is there.
    pub(super) fn text_mut(&mut self) -> Option<&mut ArenaSpan> {
        match &mut self.content {
            StoredSample::Line { text, .. } => Some(text),
            StoredSample::Imported(_) => None,
        }
    }

    /// Frees its text.
    pub(super) fn free(self, texts: &mut ByteArena) {
        if let StoredSample::Line { text, .. } = self.content {
            texts.free(text);
        }
    }
}

/// Texts in blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteArena {
    blocks: Vec<Vec<u8>>,
    held: usize,
    freed: usize,
}

/// The location of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArenaSpan {
    block: u32,
    start: u32,
    len: u32,
}

impl ArenaSpan {
    /// A text without bytes, of an arena with a block.
    const EMPTY: Self = Self {
        block: 0,
        start: 0,
        len: 0,
    };

    /// The location after its arena was [appended](ByteArena::append) to another.
    pub(super) fn shifted(self, blocks: u32) -> Self {
        Self {
            block: self.block + blocks,
            ..self
        }
    }
}

impl ByteArena {
    /// Stores a text.
    pub(super) fn insert(&mut self, text: &[u8]) -> ArenaSpan {
        if self
            .blocks
            .last()
            .is_none_or(|block| block.len() + text.len() > ARENA_BLOCK_LEN)
        {
            // The first block grows on demand, because many tallies hold little.
            self.blocks.push(if self.blocks.is_empty() {
                Vec::new()
            } else {
                Vec::with_capacity(ARENA_BLOCK_LEN)
            });
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let start = block.len();
        append(block, text);
        self.held += text.len();
        // A line is at most as long as a read buffer, and there are fewer blocks than cells.
        ArenaSpan {
            block: number as u32,
            start: start as u32,
            len: text.len() as u32,
        }
    }

    /// A stored text.
    pub(super) fn get(&self, at: ArenaSpan) -> &[u8] {
        &self.blocks[at.block as usize][at.start as usize..][..at.len as usize]
    }

    /// Marks a text as free.
    pub(super) fn free(&mut self, at: ArenaSpan) {
        self.freed += at.len as usize;
    }

    /// Bytes of all texts, including the free ones.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Appends the blocks of another arena. Returns how many blocks precede them.
    pub(super) fn append(&mut self, other: Self) -> u32 {
        let before = self.blocks.len() as u32;
        self.blocks.extend(other.blocks);
        (self.held, self.freed) = (self.held + other.held, self.freed + other.freed);
        before
    }

    /// Whether the texts should be copied into new blocks.
    pub(super) fn is_mostly_free(&self) -> bool {
        self.freed > COMPACT_THRESHOLD && self.freed > self.held / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_stored_text_is_returned_unchanged(lengths in prop::collection::vec(prop_oneof![9 => 0..3_000_usize, 1 => 0..3 * ARENA_BLOCK_LEN], 1..60), first in any::<prop::sample::Index>()) {
            let texts: Vec<Vec<u8>> = (0_u8..).zip(lengths).map(|(byte, length)| vec![byte; length]).collect();
            let (mut one, mut other) = (ByteArena::default(), ByteArena::default());
            let (mine, others) = texts.split_at(first.index(texts.len()));
            let [mut spans, appended] = [(&mut one, mine), (&mut other, others)].map(|(kept, texts)| texts.iter().map(|text| kept.insert(text)).collect::<Vec<_>>());
            let before = one.append(other);
            spans.extend(appended.into_iter().map(|at| at.shifted(before)));
            for (at, text) in spans.iter().zip(&texts) {
                prop_assert_eq!(one.get(*at), text.as_slice());
            }
            prop_assert!(!one.is_mostly_free());
            for at in spans {
                one.free(at);
            }
            prop_assert_eq!(one.is_mostly_free(), texts.concat().len() > COMPACT_THRESHOLD);
        }
    }
}
