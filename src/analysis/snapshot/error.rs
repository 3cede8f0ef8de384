//! Why a file gave no evidence, and what to do about it. Whoever knows the file's name puts it in front.

use std::io;

use thiserror::Error;

/// The version of the document this reads.
pub(crate) const READS_SCHEMA: u32 = 4;

/// Why a report cannot be read back.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("is no report: {0}; name files that `probewatch scan -f json` or `probewatch report` wrote")]
    Foreign(String),
    /// A later version wrote it.
    #[error("is a report of schema_version {0}, and this probewatch reads {READS_SCHEMA}; use the one that wrote it, or a newer one")]
    Newer(u32),
    /// An earlier version wrote it.
    #[error("is a report of schema_version {0}, and this probewatch reads {READS_SCHEMA}; scan the logs again with it")]
    Older(u32),
    /// It was cut.
    #[error("holds no evidence, as it was cut by --top; write it again without --top")]
    Cut,
    /// Its clients are hidden.
    #[error("holds no evidence, as its clients are hidden; write it again without --anonymize, and hide them in the merged one")]
    Hidden,
    /// It is not whole, or not as it was written.
    #[error("is damaged: {0}; write it again, or leave it out")]
    Damaged(String),
}
