//! Findings of the engine: severity, rules, hits with their positions, and line counts.
//!
//! Plain data. `rules` defines what to look for; `engine` matches lines.

mod app_evidence;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use foldhash::HashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::days::Day;
use crate::log::log_entry::{LogEntry, MethodClass, Outcome};
use crate::log::time::LogTime;
use crate::text::short_bytes::append;
pub(crate) use app_evidence::{AppAsset, AppEvidence, BoundedSet};

/// How bad a hit would be if the server returned what was requested. A rule sets it; a distinct
/// answer raises it by one level.
///
/// Parsed from and printed as a lower-case word.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// Background noise of the internet.
    Low,
    /// A probe for something that would help an attacker.
    Medium,
    /// A probe for something that would let an attacker in.
    High,
    /// An attempt to take over the host.
    Critical,
}

impl Severity {
    /// Every level, lowest first.
    pub const ALL: [Self; 5] = [
        Self::Info,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Critical,
    ];

    /// Findings below this are reported only on request.
    pub(crate) const DEFAULT_MIN: Self = Self::Low;

    /// One level up; `critical` stays.
    #[must_use]
    pub(crate) fn escalated(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// The word in reports and rules.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == word)
            .ok_or_else(|| {
                format!(
                    "no severity is called '{word}'; there are info, low, medium, high, critical"
                )
            })
    }
}

/// The index of a rule in its rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

/// What the engine found in a chunk of lines. It owns its data, as the lines may be gone when it is
/// read. Ids are those of the [`SymbolTables`](crate::collections::intern::SymbolTables) of the
/// worker.
#[derive(Debug, Default)]
pub struct Findings {
    /// Where each line went.
    pub lines: LineCounts,
    /// Lines without a time that were kept despite `--since` or `--until`.
    pub without_time: u64,
    /// The earliest and the latest time of a parsed line within the time window.
    pub times: Option<(LogTime, LogTime)>,
    /// Requests by day, in the order of the lines; a day may occur more than once.
    pub days: Vec<(Day, u64)>,
    /// The client of each request within the time window, and what it got if no rule matched.
    pub requests: Vec<(u32, UnmatchedAnswer)>,
    /// Clients whose address is in an unparsed line that no rule matches: the line may be an
    /// ordinary request of theirs.
    pub mentioned: Vec<u32>,
    /// The lines that matched, in order.
    pub hits: Vec<Hit>,
    /// Lines that matched and are allowed: the allow list entry, and the client.
    pub allowed: Vec<(u16, u32)>,
    /// App assets that were served.
    pub app_evidence: AppEvidence,
    /// Sizes of home pages, by host.
    pub home: Homes,
    /// Requests that matched no rule, if the options include them.
    pub unmatched: Vec<UnmatchedRequest>,
    text: Vec<u8>,
}

/// What a request got that no rule matched, in four bytes, because there is one for every line: its
/// class in the lowest two bits, and the size of a page in the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnmatchedAnswer(u32);

/// The class of each status. 401, 429 and 5xx say nothing about a name, nor does the 499 of a
/// client that left.
static CLASS_OF_STATUS: [u8; 1_000] = {
    let mut classes = [UnmatchedAnswer::NONE; 1_000];
    let mut status = 200;
    while status < 500 {
        classes[status] = match status {
            200..=299 | NOT_MODIFIED => UnmatchedAnswer::SERVED,
            300..=399 => UnmatchedAnswer::REDIRECTED,
            400 | 403 | 404 | 410 | 444 => UnmatchedAnswer::REFUSED,
            _ => UnmatchedAnswer::NONE,
        };
        status += 1;
    }
    classes
};

/// A page that the client has. Its size is not sent.
const NOT_MODIFIED: usize = 304;

impl UnmatchedAnswer {
    /// The class of a request that a rule matched, of the home page, and of any other status.
    pub const NONE: u8 = 0;
    /// The server has no such name, or refuses it.
    pub const REFUSED: u8 = 1;
    /// A redirect.
    pub const REDIRECTED: u8 = 2;
    /// A page.
    pub const SERVED: u8 = 3;
    /// The number of classes.
    pub const CLASSES: usize = 4;
    /// The size of larger pages and of one that is not sent.
    const MAX_SIZE: u32 = u32::MAX >> 2;

    /// The answer with this status and size.
    #[must_use]
    #[inline]
    pub fn new(status: Option<u16>, bytes: Option<u64>) -> Self {
        let status = usize::from(status.unwrap_or(0));
        let class = CLASS_OF_STATUS.get(status).copied().unwrap_or(Self::NONE);
        let size = u32::try_from(bytes.unwrap_or(0))
            .unwrap_or(u32::MAX)
            .min(Self::MAX_SIZE);
        let size = if status == NOT_MODIFIED {
            Self::MAX_SIZE
        } else {
            size
        };
        Self(size << 2 | u32::from(class))
    }

    /// Whether the site may not have what was requested: it refused or redirected the request.
    #[must_use]
    #[inline]
    pub fn may_be_unknown_name(self) -> bool {
        matches!(self.class(), Self::REFUSED | Self::REDIRECTED)
    }

    /// The class.
    #[must_use]
    #[inline]
    pub fn class(self) -> u8 {
        self.0 as u8 & Self::SERVED
    }

    /// The size of the page, if it is one.
    #[must_use]
    #[inline]
    pub fn page(self) -> Option<u32> {
        (self.class() == Self::SERVED).then_some(self.0 >> 2)
    }
}

/// Line counts: `lines = parsed + unparsed + oversized + skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// All lines.
    pub lines: u64,
    /// Parsed lines of the Common Log Format family, by format.
    pub parsed: [u64; 3],
    /// Parsed lines of other formats.
    pub others: OtherFormatCounts,
    /// Parsed lines with two addresses, either of which may be the client.
    pub without_client: u64,
    /// Parsed lines whose client is unknown, because a client may have sent what stands in its
    /// place.
    pub doubtful_clients: u64,
    /// Parsed lines that matched, and their fields that could not be read.
    pub unread: UnreadFields,
    /// Lines that no format parses.
    pub unparsed: u64,
    /// Lines over the length limit.
    pub oversized: u64,
    /// Directives of the log writer, such as `#Version: 1.0`.
    pub skipped: u64,
    /// NUL bytes before lines, in unparsed lines and in long ones: no log writer writes them, but
    /// holes of sparse files contain them.
    pub nul_bytes: u64,
}

impl LineCounts {
    /// All parsed lines.
    #[must_use]
    pub fn parsed(&self) -> u64 {
        self.parsed.iter().sum::<u64>() + self.others.sum()
    }

    /// Adds the counts of other lines.
    pub fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        for (sum, n) in self.parsed.iter_mut().zip(other.parsed) {
            *sum += n;
        }
        self.others.add(&other.others);
        self.without_client += other.without_client;
        self.doubtful_clients += other.doubtful_clients;
        self.unread.add(other.unread);
        self.unparsed += other.unparsed;
        self.skipped += other.skipped;
        self.oversized += other.oversized;
        self.nul_bytes += other.nul_bytes;
    }
}

/// Lines that matched, and those of them that seem to have a field that could not be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnreadFields {
    /// All of them.
    pub hits: u64,
    /// Those whose client is no address or host name, or is unknown although they have an address.
    pub clients: u64,
    /// Those without a time that have something like one.
    pub times: u64,
    /// Those without a status that have something like one.
    pub statuses: u64,
}

impl UnreadFields {
    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.clients += other.clients;
        self.times += other.times;
        self.statuses += other.statuses;
    }
}

/// One line that matched. Ranges point into the text of its [`Findings`].
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Hit {
    /// The line's number within the run, from 0.
    pub line: u32,
    /// The start of the line, in bytes from the start of the chunk.
    pub offset: u64,
    /// When.
    pub time: Option<LogTime>,
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent.
    pub bytes: Option<u64>,
    /// Whether the line was parsed.
    pub parsed: bool,
    /// Whether a 2xx means that the requested resource exists.
    pub exposes: bool,
    /// The class of the method.
    pub method: MethodClass,
    /// The target has a query.
    pub has_query: bool,
    /// Bytes of the target beyond the path, 255 for more.
    pub extra: u8,
    /// Its place among the requests of its [`Findings`]; 0 if the line was not parsed.
    pub request: u32,
    /// The client.
    pub client: u32,
    /// The normalised path.
    pub path: u32,
    /// The virtual host.
    pub host: u32,
    /// The list of rules that matched.
    pub rules: u32,
    /// The windows that it counts for.
    pub windows: Windows,
    /// It matched a rule with `with_client`, and none by its line alone: whether it is a probe
    /// depends on its client.
    pub needs_client: bool,
    text: Range<usize>,
}

impl Hit {
    /// Whether its answer shows what the site gives to names that it does not have. That of a
    /// normal request which only counts toward a `window` does not, and neither does a page of the
    /// site that a prober could request.
    #[must_use]
    pub fn is_probe(&self) -> bool {
        let is_given = || {
            matches!(
                Outcome::from_status(self.status),
                Outcome::Answered | Outcome::Redirected
            )
        };
        let may_be_normal = self.windows.only || self.needs_client && is_given();
        (self.exposes || !self.has_query) && !may_be_normal
    }
}

/// What a hit counts for if a rule has a `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// A rule counts the requests of its client.
    pub by_client: bool,
    /// A rule counts the requests for its path.
    pub by_path: bool,
    /// All its rules count requests: alone it is no finding, and no evidence for soft 404
    /// detection.
    pub only: bool,
}

impl Findings {
    /// The findings of a line that is too long, or of no line, with this many NULs.
    #[must_use]
    pub fn of_skipped_text(lines: u64, nul_bytes: u64) -> Self {
        let lines = LineCounts {
            lines,
            oversized: lines,
            nul_bytes,
            ..LineCounts::default()
        };
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Requests within the time window.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.len() as u64
    }

    /// Clears it, but keeps its capacity.
    #[must_use]
    pub fn cleared(mut self) -> Self {
        self.requests.clear();
        self.mentioned.clear();
        self.hits.clear();
        self.allowed.clear();
        self.app_evidence.clear();
        self.home.clear();
        self.unmatched.clear();
        self.text.clear();
        let Self {
            requests,
            mentioned,
            hits,
            allowed,
            app_evidence,
            home,
            unmatched,
            text,
            ..
        } = self;
        Self {
            requests,
            mentioned,
            hits,
            allowed,
            app_evidence,
            home,
            unmatched,
            text,
            ..Self::default()
        }
    }

    /// Adds a hit in a line that no format reads.
    pub fn push(&mut self, mut hit: Hit, text: &[u8]) {
        hit.text = self.keep(text);
        self.hits.push(hit);
    }

    /// Adds a hit with its fields.
    pub fn push_entry(&mut self, mut hit: Hit, entry: &LogEntry<'_>) {
        let start = self.text.len();
        entry.store(&mut self.text);
        hit.text = start..self.text.len();
        self.hits.push(hit);
    }

    fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        append(&mut self.text, text);
        start..self.text.len()
    }

    /// The [stored entry](LogEntry::store) of a hit, or its line if it was not parsed.
    #[must_use]
    pub fn text(&self, hit: &Hit) -> &[u8] {
        &self.text[hit.text.clone()]
    }
}

impl Hit {
    /// A hit with its position alone.
    #[must_use]
    pub fn at(line: u32, offset: u64) -> Self {
        Self {
            line,
            offset,
            time: None,
            status: None,
            bytes: None,
            parsed: false,
            exposes: false,
            method: MethodClass::Get,
            has_query: false,
            extra: 0,
            request: 0,
            client: 0,
            path: 0,
            host: 0,
            rules: 0,
            windows: Windows::default(),
            needs_client: false,
            text: 0..0,
        }
    }
}

/// A request that no rule matched. Its range points into the text of its [`Findings`].
#[derive(Debug, Clone)]
pub struct UnmatchedRequest {
    /// The line's number within the run, from 0.
    pub line: u32,
    /// Where the line begins, in bytes from the start of the run.
    pub offset: u64,
    /// When.
    pub time: Option<LogTime>,
    /// The status code.
    pub status: Option<u16>,
    /// The client's number.
    pub client: u32,
    /// The number of the path in lower case.
    pub path: u32,
    /// The [level](crate::log::client::Client::sample_level) of the client.
    pub level: u8,
    /// The client followed a link to it and was answered.
    pub linked: bool,
    target: Range<usize>,
}

impl UnmatchedRequest {
    /// A request by position, client and path.
    #[must_use]
    pub fn new(line: u32, offset: u64, client: u32, path: u32) -> Self {
        Self {
            line,
            offset,
            client,
            path,
            level: 0,
            time: None,
            status: None,
            linked: false,
            target: 0..0,
        }
    }
}

impl Findings {
    /// Adds a request that no rule matched, and its target as logged if that differs from the path.
    pub fn push_unmatched(&mut self, mut request: UnmatchedRequest, target: &[u8]) {
        request.target = self.keep(target);
        self.unmatched.push(request);
    }

    /// The target of such a request; empty if it equals the path.
    #[must_use]
    pub fn target(&self, request: &UnmatchedRequest) -> &[u8] {
        &self.text[request.target.clone()]
    }
}

/// Lines of other formats, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<(String, u64)>", from = "Vec<(String, u64)>")]
pub struct OtherFormatCounts(Vec<(Arc<str>, u64)>);

impl From<OtherFormatCounts> for Vec<(String, u64)> {
    fn from(counts: OtherFormatCounts) -> Self {
        counts
            .iter()
            .map(|(name, lines)| (name.as_ref().to_owned(), lines))
            .collect()
    }
}

impl From<Vec<(String, u64)>> for OtherFormatCounts {
    fn from(list: Vec<(String, u64)>) -> Self {
        let mut counts = Self::default();
        for (name, lines) in list {
            counts.count(&name.into(), lines);
        }
        counts
    }
}

impl OtherFormatCounts {
    /// Adds lines of a format.
    pub fn count(&mut self, name: &Arc<str>, lines: u64) {
        if lines == 0 {
            return;
        }
        match self.0.binary_search_by(|(known, _)| known.cmp(name)) {
            Ok(at) => self.0[at].1 += lines,
            Err(at) => self.0.insert(at, (Arc::clone(name), lines)),
        }
    }

    /// Adds the counts of another chunk.
    pub fn add(&mut self, other: &Self) {
        other
            .0
            .iter()
            .for_each(|(name, lines)| self.count(name, *lines));
    }

    /// All lines.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, lines)| lines).sum()
    }

    /// Each format's name and lines, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, u64)> + Clone {
        self.0.iter().map(|(name, lines)| (name, *lines))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Sizes of home pages by the number of their host.
#[derive(Debug, Clone, Default)]
pub struct Homes {
    sizes: HashSet<(u32, u64)>,
    /// The host and the size that were recorded last.
    last: Option<(u32, u64)>,
}

impl Homes {
    /// Records the size of a home page.
    #[inline]
    pub fn record(&mut self, host: u32, bytes: u64) {
        if self.last.replace((host, bytes)) != Some((host, bytes)) {
            self.sizes.insert((host, bytes));
        }
    }

    /// Hosts and sizes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.sizes.iter().copied()
    }

    /// Clears it.
    pub fn clear(&mut self) {
        self.sizes.clear();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_once_and_in_order() {
        let mut sum = OtherFormatCounts::default();
        for (name, lines) in [("json", 2), ("aws_alb", 1), ("json", 3), ("w3c", 0)] {
            sum.count(&name.into(), lines);
        }
        let mut twice = sum.clone();
        twice.add(&sum);
        assert_eq!(
            sum.iter()
                .map(|(name, lines)| (&**name, lines))
                .collect::<Vec<_>>(),
            [("aws_alb", 1), ("json", 5)]
        );
        assert_eq!((sum.sum(), twice.sum()), (6, 12));
    }
}
