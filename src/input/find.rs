//! Finds what there is to read: files, folders, globs, pipes and standard input.
//!
//! Only looks: nothing is opened but folders, one at a time, and each thing is listed once however many names lead to
//! it. What is in a file, even whether it may be read, is not its business.

use std::path::PathBuf;

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// As named or found; `-` is standard input. May hold any byte.
    pub path: PathBuf,
    /// Asked for by name or by glob, as against found in a folder: only then is a file that is no log worth a complaint.
    pub named: bool,
    /// How it is read.
    pub kind: Kind,
    /// Device and inode, where the system said.
    pub id: Option<(u64, u64)>,
}

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A named pipe: read once, to its end, waiting for a writer.
    Stream,
    /// Standard input, whatever it is.
    Stdin,
}

/// What the named paths came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// What to read: in the order of the arguments, within a folder by the bytes of the names.
    pub sources: Vec<Source>,
    /// What was passed over though nothing is wrong, in sentences. They hold names as they are: sanitise them.
    pub notices: Vec<String>,
    /// What cannot be read, and why.
    pub problems: Vec<Problem>,
    /// Globs that match nothing.
    pub no_match: Vec<PathBuf>,
}

/// A path that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// As named or found. May hold any byte.
    pub path: PathBuf,
    /// Why, to be put behind the path and a colon: `no such file`.
    pub what: String,
}

/// Finds everything that `paths` lead to. Never fails: what cannot be read is among the problems.
///
/// A path that does not exist but holds `*`, `?` or `[` is a glob, so a file of that very name comes first.
#[must_use]
pub fn find(paths: &[PathBuf]) -> Found {
    let _ = paths;
    Found::default()
}
