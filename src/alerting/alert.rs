//! What someone is to be told of at once: many requests of one kind, seen together.
//!
//! Plain data. What makes an alert is the business of `window`; how it is told, of `report`.

use crate::client::ClientKey;
use crate::finding::{RuleId, Severity};
use crate::time::LogTime;

/// From this severity on a distinct answer raises an alert: what lets an attacker in, or helps much.
pub const MIN_ANSWERED_SEVERITY: Severity = Severity::High;

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AlertKind {
    /// A rule's own threshold was reached.
    Threshold(RuleId),
    /// One client asked for many different probe paths.
    Probing,
    /// A probe was answered, and the answer means something.
    Answered,
    /// Many clients asked for the same unusual paths.
    Campaign,
}

impl AlertKind {
    /// The word for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Threshold(_) => "threshold",
            Self::Probing => "probing",
            Self::Answered => "answered",
            Self::Campaign => "campaign",
        }
    }
}

/// One alert. It owns all it says: the lines are gone when it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What it is about.
    pub kind: AlertKind,
    /// How bad.
    pub severity: Severity,
    /// The time of the earliest request that counts, by the log.
    pub first_time: Option<LogTime>,
    /// The time of the latest one.
    pub last_time: Option<LogTime>,
    /// Who, where it is about one client.
    pub client: Option<ClientKey>,
    /// The normalised path, where it is about one.
    pub path: Option<Vec<u8>>,
    /// Requests that count.
    pub hits: u64,
    /// Distinct clients among them.
    pub clients: u64,
    /// Distinct paths among them.
    pub paths: u64,
    /// The rules that matched the request that raised it, sorted.
    pub rules: Vec<RuleId>,
    /// The request that raised it.
    pub sample: AlertSample,
}

/// The request that raised an alert.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlertSample {
    /// With `offset` the identity of the request.
    pub generation: u64,
    /// Bytes from the start of the log's text.
    pub offset: u64,
    /// The log's path; may hold any byte.
    pub source: Vec<u8>,
    /// The line's number, from 1.
    pub line: u64,
    /// The method as logged.
    pub method: Vec<u8>,
    /// The request target as logged.
    pub target: Vec<u8>,
    /// The status code.
    pub status: Option<u16>,
}
