//! What a run finds around it: variables, the time, standard input. Asked once, so that all else can be tested with
//! values.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use rustix::fs::{FileType, fstat};

use super::environment::PREFIX;

/// What a run finds around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Environment variables that begin with `PROBEWATCH_`, sorted by name.
    pub variables: Vec<(OsString, OsString)>,
    /// The start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// Whether something is piped in.
    pub stdin_is_given: bool,
    /// The time zone of the system; `None` where it has none, which is UTC.
    pub zone: Option<TimeZone>,
}

impl Surroundings {
    /// Those of this process, now.
    #[must_use]
    pub fn here() -> Self {
        let ours = |name: &OsString| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let mut variables: Vec<_> = env::vars_os().filter(|(name, _)| ours(name)).collect();
        variables.sort();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        Self { variables, now, stdin_is_given: stdin_is_given(), zone: TimeZone::try_system().ok() }
    }
}

/// Whether standard input may hold a log: a pipe, a file or a socket. A terminal waits for a person, and a character
/// device such as /dev/null, which cron and service managers put there, holds nothing anyone meant.
#[must_use]
pub fn stdin_is_given() -> bool {
    let stdin = io::stdin();
    let is_device = || fstat(&stdin).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice);
    !stdin.is_terminal() && !is_device()
}
