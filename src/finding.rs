//! What a verdict is made of: how bad, which rules say so, and where the line stands.
//!
//! Plain data. What a rule looks for is the business of `rules`; whether a line meets it, of `engine`.

mod home;
mod others;
mod signs;
mod unlisted;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::MethodClass;
use crate::time::LogTime;
pub use home::Homes;
pub use others::Others;
pub use signs::{Few, Sign, Signs};
pub use unlisted::Unlisted;

/// How bad a hit would be if the server gave what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, nothing to do.
    Info,
    /// Noise of the internet: someone looks around.
    Low,
    /// A probe for something that would help an attacker.
    Medium,
    /// A probe for something that would let an attacker in.
    High,
    /// An attempt to take the machine over.
    Critical,
}

impl Severity {
    /// Every level, lowest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// One level up; `critical` stays.
    #[must_use]
    pub fn raised(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// The word reports and rules use.
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
            .ok_or_else(|| format!("no severity is called '{word}'; there are info, low, medium, high, critical"))
    }
}

/// A rule's place in the rule set it was compiled into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

/// What the engine found in a run of lines. It owns all it says, as the lines may be gone when it is read; its numbers are
/// those of the [`Names`](crate::names::Names) of the worker that found it.
#[derive(Debug, Default)]
pub struct Findings {
    /// Where each line went.
    pub lines: LineCounts,
    /// Lines kept although no time could be read, where a window asked for one.
    pub without_time: u64,
    /// The earliest and the latest time of a parsed line.
    pub times: Option<(LogTime, LogTime)>,
    /// Who asked, a number for each request within the time window.
    pub askers: Vec<u32>,
    /// Clients whose address is in a line that no format explains and no rule matches, a number for each such line: it may be an
    /// ordinary request of theirs.
    pub mentioned: Vec<u32>,
    /// The lines that matched, in their order.
    pub hits: Vec<Hit>,
    /// Lines that matched and are allowed: the number of the entry that says so, and the asker.
    pub allowed: Vec<(u16, u32)>,
    /// What was answered that shows an app.
    pub signs: Signs,
    /// Sizes of home pages, by the number of the host.
    pub home: Homes,
    /// The requests that matched nothing, where the run asks for them.
    pub unlisted: Vec<Unlisted>,
    text: Vec<u8>,
}

/// Where lines went: `lines = parsed + unparsed + oversized + skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// All lines.
    pub lines: u64,
    /// Lines that the Common Log Format or one of its children explains, by the format's place in its list.
    pub parsed: [u64; 3],
    /// Lines that another format explains.
    pub others: Others,
    /// Of the lines that a format explains, those with two addresses of which either may be the client.
    pub without_client: u64,
    /// Lines that none does.
    pub unparsed: u64,
    /// Lines over the length limit.
    pub oversized: u64,
    /// Lines of a log's own, such as `#Version: 1.0`, that are no requests.
    pub skipped: u64,
    /// NUL bytes before lines, in lines that do not parse and in long ones: no log writer writes them, a hole in the file leaves them.
    pub nul_bytes: u64,
}

impl LineCounts {
    /// Lines that a format explains.
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
        self.unparsed += other.unparsed;
        self.skipped += other.skipped;
        self.oversized += other.oversized;
        self.nul_bytes += other.nul_bytes;
    }
}

/// One line that matched. Ranges point into the text of its [`Findings`].
#[derive(Debug, Clone)]
pub struct Hit {
    /// The line's number within the run, from 0.
    pub line: u32,
    /// Where the line begins, in bytes from the start of the run.
    pub offset: u64,
    /// When.
    pub time: Option<LogTime>,
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent.
    pub bytes: Option<u64>,
    /// Whether a format explains the line.
    pub parsed: bool,
    /// Whether a 2xx means that what was asked for is there.
    pub exposes: bool,
    /// The class of the method.
    pub method: MethodClass,
    /// The target has a query.
    pub has_query: bool,
    /// Bytes of the target beyond the path, 255 for more.
    pub extra: u8,
    /// The client's number.
    pub client: u32,
    /// The number of the normalised path.
    pub path: u32,
    /// The number of the virtual host.
    pub host: u32,
    /// The number of the list of rules that matched.
    pub rules: u32,
    /// What it counts for besides.
    pub windows: Windows,
    text: Range<usize>,
}

/// What a hit counts for where a rule has a `window`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Windows {
    /// A rule counts the requests of its client.
    pub by_client: bool,
    /// A rule counts the requests for its path.
    pub by_path: bool,
    /// All its rules have a window: alone it is no finding, and no evidence of what its site answers to probes.
    pub only: bool,
}

impl Findings {
    /// What there is to say of a line that was too long to be looked at.
    #[must_use]
    pub fn of_oversized_line() -> Self {
        let lines = LineCounts { lines: 1, oversized: 1, ..LineCounts::default() };
        Self { lines, ..Self::default() }
    }

    /// Requests within the time window.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.askers.len() as u64
    }

    /// Empties it, but for its room.
    #[must_use]
    pub fn cleared(mut self) -> Self {
        self.askers.clear();
        self.mentioned.clear();
        self.hits.clear();
        self.allowed.clear();
        self.signs.clear();
        self.home.clear();
        self.unlisted.clear();
        self.text.clear();
        let Self { askers, mentioned, hits, allowed, signs, home, unlisted, text, .. } = self;
        Self { askers, mentioned, hits, allowed, signs, home, unlisted, text, ..Self::default() }
    }

    /// Keeps a hit and its line.
    pub fn push(&mut self, mut hit: Hit, text: &[u8]) {
        hit.text = self.keep(text);
        self.hits.push(hit);
    }

    fn keep(&mut self, text: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        start..self.text.len()
    }

    /// The line of a hit.
    #[must_use]
    pub fn text(&self, hit: &Hit) -> &[u8] {
        &self.text[hit.text.clone()]
    }
}

impl Hit {
    /// A hit that knows its place and nothing else yet.
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
            client: 0,
            path: 0,
            host: 0,
            rules: 0,
            windows: Windows::default(),
            text: 0..0,
        }
    }
}
