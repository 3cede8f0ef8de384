//! How far each log was read: the position in the state, and the bytes that follow it.
//!
//! Plain data; other modules read the disk and the state.

/// The condition of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogStage {
    /// It is at its path and may grow.
    Live,
    /// It was rotated, and may hold unread lines.
    Rotated,
    /// It was read to its end.
    Done,
    /// The file is gone.
    Gone,
    /// No run has read it yet.
    New,
}

impl LogStage {
    /// The word for it in reports.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Rotated => "rotated",
            Self::Done => "done",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// The read position of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogStatus {
    /// Its last known path; may hold any byte.
    pub path: Vec<u8>,
    /// Its condition.
    pub stage: LogStage,
    /// Lines read.
    pub lines: u64,
    /// Bytes read.
    pub read: u64,
    /// Bytes not yet read.
    pub lag: u64,
    /// Its last line has no line break yet.
    pub pending: bool,
}

/// The read positions of all logs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ReadStatus {
    /// The last run with a report, and its folders; `None` if there was none.
    pub last_run: Option<(u64, Vec<String>)>,
    /// The logs.
    pub logs: Vec<LogStatus>,
}
