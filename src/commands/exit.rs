//! The exit codes, on which scripts and cron jobs depend.

use std::io;
use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything requested was read and written.
    Success = 0,
    /// `--fail-on` was given, and a finding has at least its level.
    Found = 1,
    /// The command line, the environment, the configuration or a rule is wrong.
    Usage = 2,
    /// Finished, but an input was damaged, unreadable, or has no line that parses.
    Damaged = 3,
    /// An output could not be written.
    Output = 4,
    /// Another run holds the lock.
    Locked = 5,
    /// Stopped by SIGINT.
    Interrupted = 130,
    /// Standard output was closed.
    BrokenPipe = 141,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The exit code for a failed write. A closed pipe is not an error.
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
