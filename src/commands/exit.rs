//! The exit codes, in one place: scripts and cron jobs are written against them.

use std::io;
use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything that was asked for was read and written.
    Success = 0,
    /// `--fail-on` was given, and something at or above its level was found.
    Found = 1,
    /// The command line, the environment, the configuration or a rule is wrong.
    Usage = 2,
    /// Finished, but some input was damaged, unreadable, or held no line that parses.
    Damaged = 3,
    /// An output could not be written.
    Output = 4,
    /// Another run holds the lock.
    Locked = 5,
    /// Ended by SIGINT after a clean stop.
    Interrupted = 130,
    /// Nobody reads standard output any more.
    BrokenPipe = 141,
    /// Ended by SIGTERM after a clean stop.
    Terminated = 143,
}

impl Exit {
    /// The number the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// What a failed write means: a reader that has left is no fault, anything else is.
    #[must_use]
    pub fn from_write_error(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Output,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::exit::*;

    #[test]
    fn a_reader_that_has_left_is_no_fault() {
        assert_eq!(Exit::from_write_error(&io::ErrorKind::BrokenPipe.into()), Exit::BrokenPipe);
        assert_eq!(Exit::from_write_error(&io::ErrorKind::StorageFull.into()), Exit::Output);
        assert_eq!([Exit::Success, Exit::Interrupted, Exit::BrokenPipe, Exit::Terminated].map(Exit::code), [0, 130, 141, 143]);
    }
}
