//! The API of the library: a [`Scanner`] matches logs against a [`RuleSet`] and makes a [`Report`].
//!
//! Wires the modules below it together like the `scan` command, with the same result. Prints
//! nothing and reads no setting from the environment.

mod report;
mod scanner;

use std::path::PathBuf;

use thiserror::Error;

pub use self::report::{Report, ReportedInput, ReportedRow, ReportedSample};
pub use self::scanner::Scanner;
use crate::rules::{RuleChoice, RuleError, RuleSet, load};

/// Why rules could not be loaded, or why there is no report.
///
/// The message names the file or the value that is wrong. It may contain control characters from a
/// file name or a rule file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A rule file cannot be read, a rule is invalid, or a name is not the name of a rule.
    #[error(transparent)]
    Rules(Box<dyn std::error::Error + Send + Sync>),
    /// Neither the name of a log format nor a valid format string.
    #[error(transparent)]
    Format(Box<dyn std::error::Error + Send + Sync>),
    /// A trusted proxy is not a network, or is a network of all addresses.
    #[error(transparent)]
    TrustedProxy(Box<dyn std::error::Error + Send + Sync>),
    /// A pattern that matches no file.
    #[error("{}: the pattern matches nothing", .0.display())]
    NoMatch(PathBuf),
    /// None of the inputs could be read. An input that is damaged after its first lines, or is one
    /// of several, is no error: see [`ReportedInput::problem`].
    #[error("{}: {problem}", path.display())]
    Unreadable {
        /// The first input.
        path: PathBuf,
        /// What is wrong with it, such as `no such file`.
        problem: String,
    },
}

impl From<RuleError> for Error {
    fn from(error: RuleError) -> Self {
        Self::Rules(Box::new(error))
    }
}

impl RuleSet {
    /// The rules that are built in.
    ///
    /// # Errors
    ///
    /// [`Error::Rules`] if a rule that is built in is invalid, which the tests of this crate
    /// exclude.
    pub fn builtin() -> Result<Self, Error> {
        Self::load(&RuleChoice::new())
    }

    /// The rules that `choice` selects, compiled. This takes some milliseconds; scans can share the
    /// set.
    ///
    /// # Errors
    ///
    /// [`Error::Rules`].
    pub fn load(choice: &RuleChoice) -> Result<Self, Error> {
        Ok(load(choice)?)
    }
}
