//! The alert, as plain data: several requests, or one, that are reported at once.
//!
//! The parent module decides when to raise an alert, and `render` formats it.

use crate::client::ClientKey;
use crate::finding::{RuleId, Severity};
use crate::time::LogTime;

/// A distinct answer raises an alert from this severity on: such a path helps an attacker considerably, or lets them in.
pub const MIN_ANSWERED_SEVERITY: Severity = Severity::High;

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AlertKind {
    /// The threshold of a rule was reached.
    Threshold(RuleId),
    /// One client requested many different probe paths.
    Probing,
    /// A probe got a distinct answer.
    Answered,
    /// Many networks requested the same unusual paths.
    Campaign,
}

impl AlertKind {
    /// The identifier in machine-readable output.
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

/// One alert. It owns its data, as the lines are gone when it is emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// What kind of alert it is.
    pub kind: AlertKind,
    /// The severity.
    pub severity: Severity,
    /// The time of the earliest request counted, from the log.
    pub first_time: Option<LogTime>,
    /// The time of the latest request counted.
    pub last_time: Option<LogTime>,
    /// The client, if the alert is about one.
    pub client: Option<ClientKey>,
    /// The normalised path, if the alert is about one.
    pub path: Option<Vec<u8>>,
    /// Number of requests counted.
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
    /// `generation` and `offset` identify the request.
    pub generation: u64,
    /// Offset of the line in bytes, from the start of the log's text.
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
