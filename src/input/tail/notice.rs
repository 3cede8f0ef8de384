//! What happened to a log that a person wants to know.
//!
//! A plain sentence behind a path; both may hold any byte and are to be sanitised by whoever shows them.

use std::path::PathBuf;

/// Something to tell, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The log, or the folder. May hold any byte.
    pub path: PathBuf,
    /// What, to be put behind the path and a blank: `was truncated`.
    pub what: String,
    /// Something could not be read, or not all of it.
    pub problem: bool,
}
