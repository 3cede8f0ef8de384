//! Where something stands in a configuration.

use std::fmt;
use std::path::Path;

/// A line of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConfigLocation<'a> {
    pub(super) file: &'a Path,
    /// From 1.
    pub(super) line: usize,
}

impl fmt::Display for ConfigLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}
