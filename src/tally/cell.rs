//! One cell of a tally: how often, from when to when, and the earliest line as proof. A tally keeps them in [`table`](super::table)
//! in another shape.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::ImportedKey;
use crate::intern::SymbolTables;
use crate::soft_404::{MethodClass, Response};
use crate::time::LogTime;

/// What tells cells apart, in half a cache line. Numbers are those of the tally.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CellKey {
    pub(super) client: u32,
    pub(super) path: u32,
    pub(super) rules: u32,
    pub(super) input: u32,
    pub(super) host: u32,
    /// 0 where there is none.
    pub(super) status: u16,
    /// Which of the others there are, whether it was answered, and the class of the method.
    pub(super) has: u8,
    /// Bytes of the target beyond the path, where there is a size.
    pub(super) extra: u8,
    /// 0 where there are none.
    pub(super) bytes: u64,
}

/// There is a status.
const STATUS: u8 = 1;
/// It was answered, and that exposes something.
const ANSWERED: u8 = 2;
/// There is the size of an answer.
const BYTES: u8 = 4;
/// It is a probe for its path: evidence of what the site answers to anything.
const PROBE: u8 = 8;
/// The class of the method stands in the bits from here on.
const METHOD: u32 = 4;

impl From<ImportedKey> for CellKey {
    fn from(told: ImportedKey) -> Self {
        let ImportedKey { client, path, rules, status, input, host, answered, is_probe, method, bytes, extra } = told;
        let flag = |is: bool, flag: u8| if is { flag } else { 0 };
        let has = flag(status.is_some(), STATUS) | flag(answered, ANSWERED) | flag(bytes.is_some(), BYTES) | flag(is_probe, PROBE);
        let has = has | (method as u8) << METHOD;
        let extra = if bytes.is_some() { extra } else { 0 };
        Self { client, path, rules, input, host, status: status.unwrap_or(0), has, extra, bytes: bytes.unwrap_or(0) }
    }
}

impl CellKey {
    pub(super) fn status(&self) -> Option<u16> {
        (self.has & STATUS != 0).then_some(self.status)
    }

    /// It was answered, and that exposes something.
    pub(super) fn answered(&self) -> bool {
        self.has & ANSWERED != 0
    }

    /// The size of such an answer.
    pub(super) fn bytes(&self) -> Option<u64> {
        (self.has & BYTES != 0).then_some(self.bytes)
    }

    /// Whether it is evidence of what the site answers to anything.
    pub(super) fn is_probe(&self) -> bool {
        self.has & PROBE != 0
    }

    /// The class of the method.
    pub(super) fn method(&self) -> MethodClass {
        MethodClass::from_u8(self.has >> METHOD)
    }

    /// What the site answered.
    pub(super) fn response(&self) -> Response {
        Response { method: self.method(), status: self.status(), bytes: self.bytes(), extra: self.extra }
    }

    /// The same without host and size.
    pub(super) fn without_host_and_size(&self) -> Self {
        Self { host: SymbolTables::NO_HOST, has: self.has & !BYTES, extra: 0, bytes: 0, ..*self }
    }

    /// The same without what tells the sites and the answers of one client and path apart.
    pub(super) fn overflow(&self) -> Self {
        Self { input: SymbolTables::NO_INPUT, has: self.has & !PROBE, ..*self }.without_host_and_size()
    }

    /// Whether it is one of the [overflow](super::overflow).
    pub(super) fn is_overflow(&self) -> bool {
        self.input == SymbolTables::NO_INPUT
    }

    /// Whether it names a client and a path.
    pub(super) fn is_pair(&self) -> bool {
        self.client != SymbolTables::OTHER && self.path != SymbolTables::OTHER
    }

    /// The client and the path, in one number.
    pub(super) fn pair(&self) -> u64 {
        u64::from(self.client) << 32 | u64::from(self.path)
    }
}

impl Ord for CellKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |key: &Self| (key.client, key.path, key.rules, key.status(), key.input, key.host, key.has, key.bytes, key.extra);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for CellKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for CellKey {
    /// In two or three words; every hit is hashed. Inputs and hosts are few: their bits find room beside the status.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.pair());
        let site = u64::from(self.input) << 10 ^ u64::from(self.host) << 26;
        state.write_u64(u64::from(self.rules) << 32 ^ site ^ u64::from(self.status) ^ u64::from(self.has >> METHOD) << 62);
        if self.has & BYTES != 0 {
            state.write_u64(self.bytes << 8 | u64::from(self.extra));
        }
    }
}

/// A site as context sees it: a host is one wherever it is logged, an input that names no host stands for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Site<'a> {
    /// A virtual host, in lower case.
    Host(&'a [u8]),
    /// An input.
    Input(u32),
}

/// Where a line stands.
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

/// Counts of equal hits.
#[derive(Debug, Clone)]
pub struct Cell {
    /// How many.
    pub hits: u64,
    /// Hits that its client and path together may have had before any were counted; 0 where the tally is exact. All cells
    /// of a client and a path have the same.
    pub error: u64,
    /// The earliest and the latest, of those with a time.
    pub times: Option<(LogTime, LogTime)>,
    /// The earliest of all.
    pub sample: Sample,
}

/// A request, to prove a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub time: Option<LogTime>,
    /// Where. Of a told one `chunk` counts from the start of the text and `offset` is 0.
    pub position: LinePosition,
    /// What there is of it.
    pub content: SampleContent,
}

/// What there is of a request that proves something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SampleContent {
    /// Its line.
    Line {
        /// The line.
        text: Box<[u8]>,
        /// Whether a format explains it.
        parsed: bool,
    },
    /// What an earlier report told of it; the line may be gone.
    Imported(Box<ImportedSample>),
}

/// A request that proves a cell, as a tally holds it.
#[derive(Debug, Clone, Copy)]
pub struct SampleView<'t> {
    /// When.
    pub time: Option<LogTime>,
    /// Where; see [`Sample::position`].
    pub position: LinePosition,
    /// What there is of it.
    pub content: SampleContentView<'t>,
}

/// What there is of such a request.
#[derive(Debug, Clone, Copy)]
pub enum SampleContentView<'t> {
    /// Its line.
    Line {
        /// The line.
        text: &'t [u8],
        /// Whether a format explains it.
        parsed: bool,
    },
    /// What an earlier report told of it.
    Imported(&'t ImportedSample),
}

/// A request as an earlier report told it. Texts are fit for an output, or sealed so that they are shown as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSample {
    /// With the offset the identity of the request.
    pub generation: u64,
    /// The line's number in its log, from 1.
    pub line: u64,
    /// The request target.
    pub target: Box<[u8]>,
    /// The status code.
    pub status: Option<u16>,
    /// The virtual host, where one was logged.
    pub host: Option<Box<[u8]>>,
    /// The `User-Agent` header: few of them stand for many requests.
    pub user_agent: Option<Arc<[u8]>>,
}

impl Sample {
    /// A line as proof.
    #[must_use]
    pub fn from_line(time: Option<LogTime>, position: LinePosition, text: &[u8], parsed: bool) -> Self {
        Self { time, position, content: SampleContent::Line { text: text.into(), parsed } }
    }

    /// Whether it comes after a line of that time and position.
    pub(super) fn is_later_than(&self, time: Option<LogTime>, position: LinePosition) -> bool {
        is_earlier((time, position), (self.time, self.position))
    }
}

impl SampleView<'_> {
    /// Earlier by time, then by position; a line without a time is later than any with one. A total order, so that which
    /// sample stays does not depend on who came first.
    #[must_use]
    pub fn order(&self, other: &Self) -> Ordering {
        order((self.time, self.position), (other.time, other.position)).then_with(|| self.generation().cmp(&other.generation()))
    }

    /// One log may have been told of in several generations; in one tally of lines each input has one.
    fn generation(&self) -> u64 {
        match self.content {
            SampleContentView::Line { .. } => 0,
            SampleContentView::Imported(told) => told.generation,
        }
    }
}

/// Whether a line of one time and position comes before another.
pub(super) fn is_earlier(one: (Option<LogTime>, LinePosition), other: (Option<LogTime>, LinePosition)) -> bool {
    order(one, other) == Ordering::Less
}

fn order(a: (Option<LogTime>, LinePosition), b: (Option<LogTime>, LinePosition)) -> Ordering {
    let key = |(time, position): (Option<LogTime>, LinePosition)| (time.is_none(), time, position);
    key(a).cmp(&key(b))
}

/// The span of two spans.
#[must_use]
pub fn union_span(a: Option<(LogTime, LogTime)>, b: Option<(LogTime, LogTime)>) -> Option<(LogTime, LogTime)> {
    match (a, b) {
        (Some((first, last)), Some((other_first, other_last))) => Some((first.min(other_first), last.max(other_last))),
        (one, None) | (None, one) => one,
    }
}
