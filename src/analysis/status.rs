//! How far the logs were read: what a state knows, and how much of each log is not read yet.
//!
//! Plain data; what is on disk and what is in the state is found out elsewhere.

/// What became of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogStage {
    /// Its path leads to it.
    Live,
    /// It was rotated, and may still have something to say.
    Rotated,
    /// It is where it was, and read to its end.
    Done,
    /// There is no file of it any more.
    Gone,
    /// It is there, and no run has read it.
    New,
}

impl LogStage {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Rotated => "rotated",
            Self::Done => "done",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// How far one log was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogStatus {
    /// Where it was last seen; may hold any byte.
    pub path: Vec<u8>,
    /// What became of it.
    pub stage: LogStage,
    /// Lines that were read.
    pub lines: u64,
    /// Bytes that were read.
    pub read: u64,
    /// Bytes that were not.
    pub lag: u64,
    /// The beginning of a line waits for its end.
    pub pending: bool,
}

/// What is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadStatus {
    /// The last run that reported, and its folders; `None` where there was none.
    pub last_run: Option<(u64, Vec<String>)>,
    /// The logs.
    pub logs: Vec<LogStatus>,
}
