//! What a run finds around it: variables, the time, standard input. Read once, so that everything else can be tested
//! with plain values.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use rustix::fs::{FileType, fstat};

/// The start of the name of every variable that sets a flag: `--top` is `PROBEWATCH_TOP`.
pub const PREFIX: &str = "PROBEWATCH_";

/// What a run finds around it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Environment variables whose names start with [`PREFIX`], sorted by name.
    pub variables: Vec<(OsString, OsString)>,
    /// The start of the run, in seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// Whether standard input may contain a log: it is neither a terminal nor a character device.
    pub stdin_is_given: bool,
    /// The time zone of the system; `None` is UTC.
    pub zone: Option<TimeZone>,
}

impl Environment {
    /// The environment of this process, now.
    #[must_use]
    pub fn capture() -> Self {
        let has_prefix = |name: &OsString| name.as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let mut variables: Vec<_> = env::vars_os().filter(|(name, _)| has_prefix(name)).collect();
        variables.sort();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        Self { variables, now, stdin_is_given: stdin_is_given(), zone: TimeZone::try_system().ok() }
    }
}

/// Whether standard input is a pipe, a file or a socket. A terminal waits for a person, and cron and service managers
/// connect a character device such as /dev/null, which is empty.
fn stdin_is_given() -> bool {
    let stdin = io::stdin();
    let is_device = || fstat(&stdin).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice);
    !stdin.is_terminal() && !is_device()
}
