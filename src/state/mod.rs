//! State that is kept between runs: how far each log was read, in a folder that one run locks at a
//! time.
//!
//! A state is always either the old or the new one, and an untrusted state is rejected: damaged, of
//! another version, a symbolic link, or writable by other users. No state is reset implicitly.
//! Whether a checkpoint still matches its log is decided by the reader of the log.
//!
//! The file is JSON with a version and a checksum, one checkpoint per line:
//! `{"probewatch-state":VERSION,"checksum":"HASH","state":{...}}`. The hash is the XXH3 of the
//! bytes of `{...}`, seeded with the version. Any file that was edited is rejected: other programs
//! may read a state but not write it.
//!
//! Errors contain raw paths: print them through `redact::sanitize`.

mod folder;

pub use folder::StateFolder;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Serializer;
use serde_json::ser::Formatter;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::alerting::SavedFinds;
use crate::judge::rule_status::SavedAnswers;
use crate::judge::site::SiteHistory;
use crate::log::source::Checkpoint;
use crate::os::system::errno_message;
use crate::report::block_list::{BlockLedger, NotListed};
use crate::report::class_hits::MetricCounters;
use crate::report::novelty::SeenHistory;
use crate::report::withdrawn::ListedAnswers;
use crate::report_store::{RetentionClock, Run};

/// How long a missing log is remembered by default: longer than logs are usually kept, so that a
/// log restored from a backup is recognized.
pub(crate) const KEEP_ABSENT: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// Data that can be stored as a state. Each command has its own type and versions.
pub trait PersistedState: Serialize + DeserializeOwned {
    /// The version that is written, the only one that is read.
    const VERSION: u32;

    /// The flag that resets the state, for messages.
    const RESET_FLAG: &'static str;
}

/// The read positions of all logs; the whole state of `follow` and a part of that of `report`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailState {
    /// The hash of the rules of the run. Other rules may match earlier lines differently.
    pub rules: u64,
    /// Missing logs: their generation, and since when, in seconds since 1970.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<u64, u64>,
    /// How far each log was read.
    pub checkpoints: Vec<Checkpoint>,
    /// The response history of the sites; `report` stores it in its own state.
    #[serde(default, skip_serializing_if = "SiteHistory::is_empty")]
    pub sites: SiteHistory,
    /// What all runs counted, for metrics.
    #[serde(default, skip_serializing_if = "MetricCounters::is_empty")]
    pub counters: MetricCounters,
    /// The leaks that raised an alert of `follow`.
    #[serde(default, skip_serializing_if = "SavedFinds::is_empty")]
    pub(crate) finds: SavedFinds,
    /// The answers of `follow` that wait for an alert or may be withdrawn.
    #[serde(default, skip_serializing_if = "SavedAnswers::is_empty")]
    pub(crate) answers: SavedAnswers,
}

impl PersistedState for TailState {
    const VERSION: u32 = 5;
    const RESET_FLAG: &'static str = "--reset-state";
}

impl TailState {
    /// Drops logs that have been missing for at least `after`, so that the state stays bounded.
    /// `now` is in seconds since 1970. Returns the number of dropped logs.
    ///
    /// A clock that is set back keeps a log longer and never drops it earlier.
    pub fn drop_absent(
        &mut self,
        is_there: impl Fn(&Checkpoint) -> bool,
        now: u64,
        after: Duration,
    ) -> usize {
        let before = self.checkpoints.len();
        let mut absent = BTreeMap::new();
        self.checkpoints.retain(|checkpoint| {
            if is_there(checkpoint) {
                return true;
            }
            let since = self
                .absent
                .get(&checkpoint.generation)
                .copied()
                .unwrap_or(now);
            let keep = now.saturating_sub(since) < after.as_secs();
            if keep {
                absent.insert(checkpoint.generation, since);
            }
            keep
        });
        self.absent = absent;
        before - self.checkpoints.len()
    }
}

/// The state of `report`. Saving it commits a run: all of it belongs to one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportState {
    /// How far each log was read.
    pub logs: TailState,
    /// The last run that created folders; they may still be staged.
    pub run: Option<Run>,
    /// The label of the latest period with a line. Lines of earlier periods are late.
    pub newest_period: Option<String>,
    /// What all runs have seen.
    pub seen: SeenHistory,
    /// The response history of the sites.
    #[serde(default)]
    pub sites: SiteHistory,
    /// The answers that reports listed, to take back those that later runs show to be soft 404s.
    #[serde(default, skip_serializing_if = "ListedAnswers::is_empty")]
    pub listed: ListedAnswers,
    /// The candidates of block lists, if a run kept lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) block: Option<BlockState>,
    /// The clock of the last run that created folders, if `--keep` removes old ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock: Option<RetentionClock>,
}

/// The candidates of block lists.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BlockState {
    /// Who could be blocked.
    pub ledger: BlockLedger,
    /// The lists were written since this changed.
    pub is_published: bool,
    /// Candidates of this run that are not in the ledger. Not stored.
    #[serde(skip)]
    pub not_listed: NotListed,
}

impl ReportState {
    /// The state before the first run. `seed` must be unpredictable: see [`SeenHistory::new`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            logs: TailState::default(),
            run: None,
            newest_period: None,
            seen: SeenHistory::new(seed),
            sites: SiteHistory::default(),
            listed: ListedAnswers::default(),
            block: None,
            clock: None,
        }
    }
}

impl PersistedState for ReportState {
    const VERSION: u32 = 4;
    const RESET_FLAG: &'static str = "--reset";
}

/// An error of a state. Each variant has its exit code.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another run holds the lock; the exit code is 5.
    #[error("{}: held by another run{}; wait for its end or choose another --state", path.display(), process(*by))]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// The process that holds the lock, if known.
        by: Option<u32>,
    },
    /// Other users could lock, forge or redirect the state; the exit code is 2.
    #[error("{}: {what}; {advice}", path.display())]
    Insecure {
        /// The folder or the file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// The remedy.
        advice: Cow<'static, str>,
    },
    /// The state exists but cannot be trusted or read; the exit code is 2.
    #[error(
        "{}: {what}{}; without it, it is unknown how far the logs were read: {reset} (or deleting the file) starts as on the first run, \
         so that lines may be reported twice or not at all",
        path.display(),
        copy_note(copy_path.as_deref())
    )]
    Damaged {
        /// The state file, which is left in place.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// A copy of the file, if one could be made.
        copy_path: Option<PathBuf>,
        /// The flag that resets the state.
        reset: &'static str,
    },
    /// A system call failed; the exit code is 4. The state is intact.
    #[error("cannot {step} {}: {}; {}", path.display(), errno_message(error), advice(error.kind()))]
    Failed {
        /// The operation, such as `write`.
        step: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The system error. It is part of the message, so `source` is not set.
        error: io::Error,
    },
}

impl StateError {
    fn failed(step: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        Self::Failed {
            step,
            path: path.to_owned(),
            error: error.into(),
        }
    }

    fn insecure(
        path: &Path,
        what: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Insecure {
            path: path.to_owned(),
            what: what.into(),
            advice: advice.into(),
        }
    }
}

fn process(by: Option<u32>) -> String {
    by.map_or_else(String::new, |by| format!(" (process {by})"))
}

fn copy_note(copy_path: Option<&Path>) -> String {
    copy_path.map_or_else(String::new, |copy_path| {
        format!(" (a copy is kept as {})", copy_path.display())
    })
}

fn advice(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space or choose another --state"
        }
        io::ErrorKind::FileTooLarge => "raise the file size limit (ulimit -f)",
        io::ErrorKind::NotFound => "make the folder above it first or choose another --state",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a --state in a folder that is yours to write to"
        }
        _ => "choose another --state",
    }
}

const HEAD: &[u8] = b"{\"probewatch-state\":";
const CHECKSUM: &[u8] = b",\"checksum\":\"";
const STATE: &[u8] = b"\",\"state\":";
const END: &[u8] = b"}\n";

/// Encodes a state.
///
/// # Errors
///
/// None are known; serialization to JSON may fail in theory.
fn encode<T: PersistedState>(state: &T) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    state.serialize(&mut Serializer::with_formatter(&mut body, ItemsOnLines))?;
    let mut bytes = Vec::with_capacity(body.len() + 128);
    for part in [
        HEAD,
        T::VERSION.to_string().as_bytes(),
        CHECKSUM,
        checksum(T::VERSION, &body).as_bytes(),
        STATE,
        &body,
        END,
    ] {
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}

/// Decodes a state.
///
/// # Errors
///
/// A description of what is wrong, to be printed after the file name and a colon.
fn decode<T: PersistedState>(bytes: &[u8]) -> Result<T, String> {
    let known = T::VERSION;
    if bytes.is_empty() {
        return Err("the state is damaged: the file is empty".into());
    }
    let (version, rest) =
        version(bytes).ok_or("the file is not a state, or it is damaged: its start is wrong")?;
    if version > known {
        return Err(format!(
            "a newer probewatch wrote this state (its version is {version}, this one supports {known}): use the newer one"
        ));
    }
    if version < known {
        return Err(format!(
            "the state is too old (its version is {version}, this probewatch supports {known})"
        ));
    }
    let (stated, body) = parts(rest).ok_or("the state is damaged: its end is missing")?;
    let expected = checksum(version, body);
    if stated != expected.as_bytes() {
        return Err(format!(
            "the state is damaged: its checksum should be {expected}"
        ));
    }
    serde_json::from_slice(body).map_err(|error| format!("the state is damaged: {error}"))
}

fn version(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let rest = bytes.strip_prefix(HEAD)?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    // Canonical numbers only: `01` is never written.
    let version = std::str::from_utf8(digits)
        .ok()?
        .parse()
        .ok()
        .filter(|version: &u32| version.to_string().as_bytes() == digits)?;
    Some((version, rest))
}

/// Splits the checksum from the state.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (checksum, rest) = bytes.strip_prefix(CHECKSUM)?.split_at_checked(16)?;
    Some((checksum, rest.strip_prefix(STATE)?.strip_suffix(END)?))
}

fn checksum(version: u32, body: &[u8]) -> String {
    format!("{:016x}", xxh3_64_with_seed(body, version.into()))
}

/// Compact JSON with each item of a list on its own line, for people and `grep`.
struct ItemsOnLines;

impl Formatter for ItemsOnLines {
    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"\n" } else { b",\n" })
    }
}

#[cfg(test)]
mod tests;
