//! Which report folders are kept, by their number and by their age.
//!
//! Folders have ages by their names, not by file times, which copying changes. A clock that jumps
//! ahead would make all of them old at once, so a run compares its clock with the run before it and
//! with the newest folder: the time between them counts only if it is plausible. After a pause that
//! was taken for a jump, older folders are kept longer, and are removed later.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::name::ReportDirName;
use super::{LATEST, ReportStore, ReportStoreError, is_report};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Which report folders are kept; without limits, all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Retention {
    /// Keep the newest N; runs, days and hours are counted separately.
    pub runs: Option<usize>,
    /// Keep runs, and periods that ended, less than this long ago.
    pub age: Option<Duration>,
}

impl Retention {
    /// The longest time between two runs that passed for certain; if the clock says more, it is
    /// taken for a jump. This is half of the age that is kept, so that no jump removes the newer
    /// half of the folders; at most 31 days, the longest usual interval of runs, and at least one;
    /// and one more day, because runs can be late.
    fn longest_interval(self) -> Duration {
        (self.age.unwrap_or(Duration::MAX) / 2).clamp(DAY, 31 * DAY) + DAY
    }
}

/// A time that did not pass, as far as ages are concerned. In seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Jump {
    /// The last time before it.
    pub from: u64,
    /// The time of the run that noticed it.
    pub to: u64,
}

impl Jump {
    /// Its length in whole days.
    pub(crate) fn days(self) -> u64 {
        (self.to - self.from) / DAY.as_secs()
    }
}

/// The clock of a run, by which folders have ages. A state contains that of its last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetentionClock {
    /// The time of the run, in seconds since 1970.
    now: u64,
    /// The last jump ahead. Only the last one, so that folders are removed eventually even if runs
    /// are rarer than usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jump: Option<Jump>,
}

impl RetentionClock {
    /// The clock of a run at `now`, after the run with the clock `last`, and after the newest
    /// folder.
    fn new(last: Option<Self>, newest: Option<u64>, now: SystemTime, keep: Retention) -> Self {
        let now = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        // A clock that was set back to before a jump has undone it.
        let is_undone = |jump: &Jump| now < jump.to;
        let jump = last.and_then(|last| last.jump);
        let last = last.map(|last| jump.filter(is_undone).map_or(last.now, |jump| jump.from));
        let from = last.into_iter().chain(newest).min();
        let jumped =
            from.filter(|from| now.saturating_sub(*from) > keep.longest_interval().as_secs());
        let jump = jumped
            .map(|from| Jump { from, to: now })
            .or(jump.filter(|jump| !is_undone(jump)));
        Self { now, jump }
    }

    /// The jump that the run with this clock is the first to notice, after the run with the clock
    /// `last`.
    pub(crate) fn new_jump(self, last: Option<Self>) -> Option<Jump> {
        self.jump
            .filter(|jump| last.and_then(|last| last.jump) != Some(*jump))
    }

    /// How long ago this was, in seconds, by the clock alone.
    fn since(self, end: u64) -> u64 {
        self.now.saturating_sub(end)
    }

    /// How long ago this was, in seconds, without the time that did not pass.
    fn age(self, end: u64) -> u64 {
        let skipped = self
            .jump
            .map_or(0, |jump| jump.to.saturating_sub(jump.from.max(end)));
        self.since(end).saturating_sub(skipped)
    }
}

/// What retention did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pruned {
    /// Folders that were removed.
    pub removed: usize,
    /// Folders that were kept only because of a jump of the clock.
    pub kept_by_jump: usize,
}

impl ReportStore {
    /// The clock of a run that started at `now`, after the run with the clock `last`. Call it
    /// before the folders of the run are published: the time of a run is no evidence for its own
    /// clock. The names of its periods are; they come from the logs.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub(crate) fn clock(
        &self,
        last: Option<RetentionClock>,
        now: SystemTime,
        periods: &[String],
        keep: Retention,
    ) -> Result<RetentionClock, ReportStoreError> {
        let seconds = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        // A period of a log with another clock, or the current one, may end later.
        let past = |name: ReportDirName| Some(name.end()).filter(|end| *end <= seconds);
        let mut newest = periods
            .iter()
            .filter_map(|name| ReportDirName::parse(name))
            .filter_map(past)
            .max();
        for (name, parsed) in self.report_folders()? {
            let end = past(parsed);
            if end > newest && is_report(&self.folder, &name)? {
                newest = end;
            }
        }
        Ok(RetentionClock::new(last, newest, now, keep))
    }

    /// Removes the folders that are not kept.
    ///
    /// # Errors
    ///
    /// A folder cannot be read or removed; the next run removes what is left.
    pub(crate) fn prune(
        &self,
        keep: Retention,
        clock: RetentionClock,
    ) -> Result<Pruned, ReportStoreError> {
        let mut report_folders = self.report_folders()?;
        report_folders.sort_unstable_by(|(_, a), (_, b)| b.cmp(a));
        let latest = self.folder.symlink_target(LATEST);
        // By kind, and latest first within a kind.
        let (mut before, mut rank): (Option<ReportDirName>, usize) = (None, 0);
        let (mut removed, mut kept_by_jump) = (Vec::new(), 0);
        for (name, parsed) in report_folders {
            if !is_report(&self.folder, &name)? {
                continue;
            }
            rank = if before
                .replace(parsed)
                .is_some_and(|other| other.is_same_kind(parsed))
            {
                rank + 1
            } else {
                0
            };
            let is_young = |age| keep.age.is_none_or(|kept| Duration::from_secs(age) < kept);
            let is_kept =
                keep.runs.is_none_or(|runs| rank < runs) && is_young(clock.age(parsed.end()));
            if is_kept || latest.as_deref() == Some(&name) {
                kept_by_jump += usize::from(is_kept && !is_young(clock.since(parsed.end())));
            } else {
                removed.push(name);
            }
        }
        self.discard(&removed)?;
        Ok(Pruned {
            removed: removed.len(),
            kept_by_jump,
        })
    }
}
