//! The rows that evidence is told in, to and from JSON: arrays, as there are many, and no name is repeated in each.
//!
//! Their shape alone is checked here; whether they make sense is asked when they are put together.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::finding::Severity;
use crate::report::model::Skipped;
use crate::rules::By;
use crate::soft_404::{RuleSubject, ShapeNumbers, SizeNumbers};
use crate::time::LogTime;

/// Seconds since 1970 and minutes east of UTC.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct TimeRow(i64, i16);

/// The first and the last.
pub(super) type TimesRow = (TimeRow, TimeRow);

/// What a report says of a rule, for whoever does not know it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RuleRow<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) title: Cow<'a, str>,
    pub(super) class: Cow<'a, str>,
    pub(super) severity: Severity,
    pub(super) exposes: bool,
    /// Distinct paths of classes.
    pub(super) with_client: Option<(u32, Vec<Cow<'a, str>>)>,
    pub(super) window: bool,
    /// What that counts: by whom, how many, within so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) counts: Option<(By, u32, u32)>,
    pub(super) unless_app: Vec<Cow<'a, str>>,
    pub(super) is_app_evidence: bool,
    pub(super) subject: RuleSubject,
    pub(super) cve: Vec<Cow<'a, str>>,
}

/// An input, exactly.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct InputRow<'a> {
    pub(super) machine: Option<Cow<'a, str>>,
    pub(super) path: Cow<'a, str>,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) parsed: u64,
    pub(super) formats: [u64; 3],
    /// Lines of other formats by name; told only where there are any, as earlier versions knew none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) other_formats: Vec<(Cow<'a, str>, u64)>,
    pub(super) unparsed: u64,
    pub(super) oversized: u64,
    pub(super) skipped: u64,
    pub(super) pending: u64,
    pub(super) requests: u64,
    pub(super) times: Option<TimesRow>,
    pub(super) problem: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skipped_whole: Option<Skipped>,
}

/// A client, all its requests, and those that are allowed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientRow<'a>(pub(super) Cow<'a, str>, pub(super) u64, pub(super) u64);

/// A cell. Numbers are places in the lists before it. One without a path holds what was let go of the pairs of a client, one
/// without both what was let go of clients. One with a path and no client holds what was let go of the pairs of that path: its
/// hits are in cells of the other kinds as well. One without a host is one of the overflow: what a client and a path, a client, or a
/// path had besides the cells that are told of it, on several sites. Its hits are in other cells as well, its input is that of its
/// sample, and it has no size.
#[derive(Debug, Deserialize)]
pub(super) struct CellRow<'a> {
    pub(super) client: Option<u32>,
    pub(super) path: Option<u32>,
    pub(super) list: u32,
    pub(super) status: Option<u16>,
    pub(super) input: u32,
    pub(super) host: Option<u32>,
    pub(super) answered: bool,
    /// It is evidence of what the site answers to anything.
    pub(super) is_probe: bool,
    /// The class of the method: 0 GET, 1 POST, 2 HEAD, 3 others.
    pub(super) method: u8,
    pub(super) bytes: Option<u64>,
    /// Bytes of the target beyond the path.
    pub(super) extra: u8,
    pub(super) hits: u64,
    /// Hits that the pair may have had besides.
    pub(super) error: u64,
    pub(super) times: Option<TimesRow>,
    pub(super) sample: SampleRow<'a>,
}

/// A request, to prove a cell.
#[derive(Debug, Deserialize)]
pub(super) struct SampleRow<'a> {
    pub(super) time: Option<TimeRow>,
    pub(super) generation: Mention<'a>,
    pub(super) offset: u64,
    pub(super) line: u64,
    /// As every output shows it; `None` where that is the cell's path.
    pub(super) target: Option<Cow<'a, str>>,
    /// As every output shows it; `None` where that is the cell's host.
    pub(super) host: Option<Cow<'a, str>>,
    pub(super) user_agent: Option<Mention<'a>>,
}

/// A text that is told in full the first time, and by its number among those after that.
#[derive(Debug)]
pub(super) enum Mention<'a> {
    First(Cow<'a, str>),
    Again(u32),
}

/// An app that was seen: the rule, the input or the host, the clients and sizes while they are not enough, and the magnitudes of the
/// sizes, which earlier versions did not count.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SignRow(
    pub(super) u32,
    pub(super) Option<u32>,
    pub(super) Option<u32>,
    pub(super) Option<Vec<u32>>,
    pub(super) Option<Vec<u64>>,
    #[serde(default)] pub(super) u64,
);

/// Sizes of the home page of an input or a host, sorted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HomeRow(pub(super) Option<u32>, pub(super) Option<u32>, pub(super) Vec<u64>);

/// What a site answered for a path whose cells may be gone: the input or the host, the hash of the path in hexadecimal digits, its
/// shape, the rules, flags, and the sizes that GET and POST got with the bytes of the target beyond the path.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SiteRow(
    pub(super) Option<u32>,
    pub(super) Option<u32>,
    pub(super) String,
    pub(super) ShapeNumbers,
    pub(super) Vec<u32>,
    pub(super) u8,
    pub(super) Vec<SizeNumbers>,
    pub(super) Vec<SizeNumbers>,
);

/// An entry of an allow list and what it took out: file, line, reason, requests.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AllowedRow<'a>(pub(super) Cow<'a, str>, pub(super) usize, pub(super) Cow<'a, str>, pub(super) u64);

/// Requests that rules with a window count: the place of a client or of a path, that of a list of rules, the minute since 1970,
/// and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct MinuteRow(pub(super) Option<u32>, pub(super) Option<u32>, pub(super) u32, pub(super) i64, pub(super) u64);

/// The most that a key may have had that is not told.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FloorRow {
    pub(super) pairs: u64,
    pub(super) clients: u64,
    pub(super) requests: u64,
    pub(super) paths: u64,
}

/// The place of a client, and the hits and requests that it may have had besides.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ClientErrorRow(pub(super) u32, pub(super) u64, pub(super) u64);

/// The place of a path, and the hits that it may have had besides.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PathErrorRow(pub(super) u32, pub(super) u64);

/// Seconds of the years 0 to 9999.
const YEARS: std::ops::Range<i64> = -62_167_305_600..253_402_387_200;

impl MinuteRow {
    /// The minute, where a log can have written it.
    pub(super) fn minute(self) -> Result<i64, String> {
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
    /// The time, where a log can have written it.
    pub(super) fn time(self) -> Result<LogTime, String> {
        // A day.
        const DAY: i16 = 24 * 60;
        if !YEARS.contains(&self.0) || self.1.abs() >= DAY {
            return Err(format!("{} seconds at {} minutes is no time of a log", self.0, self.1));
        }
        Ok(LogTime { utc: self.0, offset: self.1 })
    }
}

/// Both ends of a span.
pub(super) fn span(times: Option<TimesRow>) -> Result<Option<(LogTime, LogTime)>, String> {
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
        let mut row = serializer.serialize_tuple(7)?;
        row.serialize_element(&self.time)?;
        row.serialize_element(&self.generation)?;
        row.serialize_element(&self.offset)?;
        row.serialize_element(&self.line)?;
        row.serialize_element(&self.target)?;
        row.serialize_element(&self.host)?;
        row.serialize_element(&self.user_agent)?;
        row.end()
    }
}

impl Serialize for Mention<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::First(text) => serializer.serialize_str(text),
            Self::Again(number) => serializer.serialize_u32(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Mention<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MentionVisitor)
    }
}

struct MentionVisitor;

impl Visitor<'_> for MentionVisitor {
    type Value = Mention<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or the number of one that was told before")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Mention::First(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        u32::try_from(number).map(Mention::Again).map_err(|_| E::custom("a number beyond all that were told"))
    }
}
