//! The rows of a snapshot in JSON: arrays, because there are many of them and field names would repeat.
//!
//! Only their shape is checked here; the decoder checks the values.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::analysis::labels;
use crate::analysis::model::SkipReason;
use crate::finding::Severity;
use crate::rules::{By, Guess};
use crate::soft_404::{Hours, RuleSubject, ShapeNumbers, SizeNumbers};
use crate::source::LineSpan;
use crate::time::LogTime;

/// Seconds since 1970 and minutes east of UTC.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct TimeRow(i64, i16);

/// The first and the last time.
pub(crate) type TimesRow = (TimeRow, TimeRow);

/// A rule, for readers that do not have it.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of a rule")]
pub(crate) struct RuleRow<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) title: Cow<'a, str>,
    pub(crate) class: Cow<'a, str>,
    pub(crate) severity: Severity,
    pub(crate) exposes: bool,
    /// The number of distinct paths, and their classes.
    pub(crate) with_client: Option<(u32, Vec<Cow<'a, str>>)>,
    /// Whether these paths must have got the same answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) same_answer: bool,
    /// A single request is no finding.
    pub(crate) window: bool,
    /// The window: by client or path, requests, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<(By, u32, u32)>,
    /// The most other requests of a client of the window, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) others: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guess: Option<Guess>,
    pub(crate) unless_app: Vec<Cow<'a, str>>,
    pub(crate) is_app_evidence: bool,
    pub(crate) subject: RuleSubject,
    pub(crate) cve: Vec<Cow<'a, str>>,
}

/// An input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InputRow<'a> {
    pub(crate) log_host: Option<Cow<'a, str>>,
    pub(crate) path: Cow<'a, str>,
    pub(crate) bytes: u64,
    pub(crate) lines: u64,
    pub(crate) parsed: u64,
    pub(crate) formats: [u64; 3],
    /// Line counts of other formats, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_formats: Vec<(Cow<'a, str>, u64)>,
    pub(crate) unparsed: u64,
    pub(crate) oversized: u64,
    pub(crate) skipped: u64,
    pub(crate) pending: u64,
    pub(crate) requests: u64,
    pub(crate) times: Option<TimesRow>,
    pub(crate) problem: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) warning: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) skipped_whole: Option<SkipReason>,
    /// The byte ranges that were read, if it was not read whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ranges: Vec<RangeRow>,
}

/// The lines of a byte range: the generation of the log in hexadecimal digits, the offsets of the first line and after the last
/// one, the number of lines, and the length of the log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RangeRow(String, u64, u64, u64, u64);

impl From<&LineSpan> for RangeRow {
    fn from(span: &LineSpan) -> Self {
        Self(labels::generation(span.generation), span.start, span.end, span.lines, span.log_len)
    }
}

impl RangeRow {
    /// The range, checked to be within its log.
    pub(crate) fn span(&self) -> Result<LineSpan, String> {
        let &Self(ref generation, start, end, lines, log_len) = self;
        let generation = u64::from_str_radix(generation, 16).ok();
        let generation = generation.filter(|_| start <= end && end <= log_len && lines <= end - start && log_len < 1 << 62);
        let generation = generation.ok_or_else(|| format!("bytes {start} to {end} of {log_len} are no range of a log"))?;
        Ok(LineSpan { generation, start, end, lines, log_len })
    }
}

/// A client, all its requests, and the allowed ones.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClientRow<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>, pub(crate) u64, pub(crate) u64);

/// A cell. Numbers are indices into the lists before it. Without a path, it holds the evicted pairs of a client;
/// without a client too, it holds evicted clients. With a path and without a client, it holds the evicted pairs of that
/// path; those hits are in other cells as well. Without a host, it belongs to the overflow: further hits of a pair, a
/// client or a path on several sites. Those hits are in other cells as well, the input is that of the sample, and there
/// is no size.
#[derive(Debug, Deserialize)]
pub(crate) struct CellRow<'a> {
    pub(crate) client: Option<u32>,
    pub(crate) path: Option<u32>,
    pub(crate) list: u32,
    pub(crate) status: Option<u16>,
    pub(crate) input: u32,
    pub(crate) host: Option<u32>,
    pub(crate) answered: bool,
    /// Its response shows how the site answers unknown paths.
    pub(crate) is_probe: bool,
    /// The class of the method: 0 GET, 1 POST, 2 HEAD, 3 others.
    pub(crate) method: u8,
    pub(crate) bytes: Option<u64>,
    /// Bytes of the target beyond the path.
    pub(crate) extra: u8,
    pub(crate) hits: u64,
    /// The most hits of the pair that may be uncounted.
    pub(crate) error: u64,
    pub(crate) times: Option<TimesRow>,
    pub(crate) sample: SampleRow<'a>,
}

/// How the cells count times: seconds of a bucket, and whether hours of the week are counted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct TimeUnitRow(pub(crate) i64, pub(crate) bool);

/// The times of a cell between its first and its last: its index in the list of cells, its hits without a time, hours of
/// the week and their hits in turn, and buckets and their hits in turn. Each bucket is the number after the one before it;
/// the first one is that after the bucket of the first time.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CellTimesRow(pub(crate) u32, pub(crate) u64, pub(crate) Vec<u64>, pub(crate) Vec<u64>);

/// A request that is an example of a cell.
#[derive(Debug, Deserialize)]
pub(crate) struct SampleRow<'a> {
    pub(crate) time: Option<TimeRow>,
    pub(crate) generation: BackRef<'a>,
    pub(crate) offset: u64,
    pub(crate) line: u64,
    /// Redacted; `None` if it is the path of the cell.
    pub(crate) target: Option<Cow<'a, str>>,
    /// Redacted; `None` if it is the host of the cell.
    pub(crate) host: Option<Cow<'a, str>>,
    pub(crate) user_agent: Option<BackRef<'a>>,
    /// Redacted.
    #[serde(default)]
    pub(crate) user: Option<Cow<'a, str>>,
}

/// A text in full the first time, and its number from then on.
#[derive(Debug)]
pub(crate) enum BackRef<'a> {
    First(Cow<'a, str>),
    Again(u32),
}

/// Evidence of an app: the rule, the input or the host, the clients and sizes while they are not sufficient, and the
/// magnitudes of the sizes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AppEvidenceRow(
    pub(crate) u32,
    pub(crate) Option<u32>,
    pub(crate) Option<u32>,
    pub(crate) Option<Vec<u32>>,
    pub(crate) Option<Vec<u64>>,
    #[serde(default)] pub(crate) u64,
);

/// Sizes of the home page of an input or a host, sorted.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HomePageRow(pub(crate) Option<u32>, pub(crate) Option<u32>, pub(crate) Vec<u64>);

/// The response of a site for a path whose cells may be pruned: the input or the host, the hash of the path in
/// hexadecimal digits, its shape, the rules, flags, the sizes of GET, POST and partial (206) responses with the bytes
/// of the target beyond the path, hashes of clients, and the hours in which it was answered and refused.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SitePathRow(
    pub(crate) Option<u32>,
    pub(crate) Option<u32>,
    pub(crate) String,
    pub(crate) ShapeNumbers,
    pub(crate) Vec<u32>,
    pub(crate) u8,
    pub(crate) Vec<SizeNumbers>,
    pub(crate) Vec<SizeNumbers>,
    pub(crate) Vec<SizeNumbers>,
    pub(crate) Vec<u16>,
    pub(crate) [Option<Hours>; 2],
);

/// An entry of an allow list and its requests: file, line, reason, requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AllowedRow<'a>(pub(crate) Cow<'a, str>, pub(crate) usize, pub(crate) Cow<'a, str>, pub(crate) u64);

/// Requests that rules with a window count: the index of a client or of a path, that of a list of rules, the minute
/// since 1970, and the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct MinuteRow(pub(crate) Option<u32>, pub(crate) Option<u32>, pub(crate) u32, pub(crate) i64, pub(crate) u64);

/// The most that an absent key may have had.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ErrorFloorRow {
    pub(crate) pairs: u64,
    pub(crate) clients: u64,
    pub(crate) requests: u64,
    pub(crate) paths: u64,
}

/// The index of a client, and the most hits and requests that it may lack.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClientErrorRow(pub(crate) u32, pub(crate) u64, pub(crate) u64);

/// The index of a client, and its requests that no rule matched: how many were refused, redirected and served, and the least and the
/// greatest size of what was served.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UnmatchedAnswersRow(pub(crate) u32, pub(crate) u32, pub(crate) u32, pub(crate) u32, pub(crate) u32, pub(crate) u32);

/// The index of a path, and the most hits that it may lack.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PathErrorRow(pub(crate) u32, pub(crate) u64);

/// Seconds of the years 0 to 9999.
const YEARS: std::ops::Range<i64> = -62_167_305_600..253_402_387_200;

impl MinuteRow {
    /// The minute, checked to be valid in a log.
    pub(crate) fn minute(self) -> Result<i64, String> {
        let is_known = self.3.checked_mul(60).is_some_and(|seconds| YEARS.contains(&seconds));
        if is_known { Ok(self.3) } else { Err(format!("minute {} is no time of a log", self.3)) }
    }
}

impl From<LogTime> for TimeRow {
    fn from(time: LogTime) -> Self {
        Self(time.utc, time.offset)
    }
}

impl TimeRow {
    /// The time, checked to be valid in a log.
    pub(crate) fn time(self) -> Result<LogTime, String> {
        // One day in minutes.
        const DAY: i16 = 24 * 60;
        if !YEARS.contains(&self.0) || self.1.abs() >= DAY {
            return Err(format!("{} seconds at {} minutes is no time of a log", self.0, self.1));
        }
        Ok(LogTime { utc: self.0, offset: self.1 })
    }
}

/// Both ends of a time span.
pub(crate) fn span(times: Option<TimesRow>) -> Result<Option<(LogTime, LogTime)>, String> {
    times.map(|(first, last)| Ok((first.time()?, last.time()?))).transpose()
}

impl Serialize for CellRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(15)?;
        row.serialize_element(&self.client)?;
        row.serialize_element(&self.path)?;
        row.serialize_element(&self.list)?;
        row.serialize_element(&self.status)?;
        row.serialize_element(&self.input)?;
        row.serialize_element(&self.host)?;
        row.serialize_element(&self.answered)?;
        row.serialize_element(&self.is_probe)?;
        row.serialize_element(&self.method)?;
        row.serialize_element(&self.bytes)?;
        row.serialize_element(&self.extra)?;
        row.serialize_element(&self.hits)?;
        row.serialize_element(&self.error)?;
        row.serialize_element(&self.times)?;
        row.serialize_element(&self.sample)?;
        row.end()
    }
}

impl Serialize for SampleRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(8)?;
        row.serialize_element(&self.time)?;
        row.serialize_element(&self.generation)?;
        row.serialize_element(&self.offset)?;
        row.serialize_element(&self.line)?;
        row.serialize_element(&self.target)?;
        row.serialize_element(&self.host)?;
        row.serialize_element(&self.user_agent)?;
        row.serialize_element(&self.user)?;
        row.end()
    }
}

impl Serialize for BackRef<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::First(text) => serializer.serialize_str(text),
            Self::Again(number) => serializer.serialize_u32(*number),
        }
    }
}

impl<'de> Deserialize<'de> for BackRef<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BackRefVisitor)
    }
}

struct BackRefVisitor;

impl Visitor<'_> for BackRefVisitor {
    type Value = BackRef<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or the number of an earlier one")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(BackRef::First(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        u32::try_from(number).map(BackRef::Again).map_err(|_| E::custom("a number that is out of range"))
    }
}
