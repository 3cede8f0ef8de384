//! Saves the state: before the first hit of a log is printed, at most once a second while lines are
//! read or alerts raised, and at the end.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use crate::alerting::SavedFinds;
use crate::commands::FollowSettings;
use crate::commands::error::CommandError;
use crate::commands::message::{self, sanitized_path};
use crate::judge::rule_status::SavedAnswers;
use crate::judge::site::SiteHistory;
use crate::log::source::Checkpoint;
use crate::os::system::unix_now;
use crate::report::class_hits::MetricCounters;
use crate::state::{KEEP_ABSENT, StateFolder, TailState};

/// The name of the state file; other commands use other names in the same folder.
const NAME: &str = "follow";

/// How often the state is saved while lines are read.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);

/// How often the history of sites is saved: it changes slowly and is larger.
const SITES_INTERVAL: Duration = Duration::from_secs(10);

/// The state of the run, if it has a state folder.
#[derive(Debug)]
pub(super) struct Checkpointer {
    folder: Option<StateFolder>,
    rules: u64,
    sites: SiteHistory,
    sites_saved: Option<Instant>,
    /// Logs that were not found, and since when.
    absent: BTreeMap<u64, u64>,
    saved: Instant,
    /// Lines were read or alerts raised since the last save.
    is_dirty: bool,
}

impl Checkpointer {
    /// Opens the state folder and loads the state of the last run; `None` if there is none.
    pub(super) fn open(
        settings: &FollowSettings,
        rules: u64,
    ) -> Result<(Self, Option<TailState>), CommandError> {
        let folder = settings
            .state
            .dir
            .as_deref()
            .map(|dir| StateFolder::open(dir, NAME, settings.state.insecure))
            .transpose()?;
        let checkpointer = |folder, absent| Self {
            folder,
            rules,
            sites: SiteHistory::default(),
            sites_saved: None,
            absent,
            saved: Instant::now(),
            is_dirty: false,
        };
        let Some(folder) = folder else {
            return Ok((checkpointer(None, BTreeMap::new()), None));
        };
        if settings.state.reset {
            folder.reset()?;
        }
        let Some(mut state) = folder.load::<TailState>()? else {
            return Ok((checkpointer(Some(folder), BTreeMap::new()), None));
        };
        if state.rules != rules && !settings.scan.quiet {
            let path = sanitized_path(&folder.path());
            message::notice(&format!(
                "{path}: the rules differ from those of the last run; lines that it read are not matched again"
            ));
        }
        let is_there =
            |known: &Checkpoint| fs::symlink_metadata(OsStr::from_bytes(&known.path)).is_ok();
        state.drop_absent(is_there, unix_now(), KEEP_ABSENT);
        let mut checkpointer = checkpointer(Some(folder), state.absent.clone());
        checkpointer.sites.clone_from(&state.sites);
        Ok((checkpointer, Some(state)))
    }

    /// Whether a state is kept.
    pub(super) fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// Records that lines were read, or alerts raised, after the last save.
    pub(super) fn mark_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Whether to save now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.is_on() && self.is_dirty && now.saturating_duration_since(self.saved) >= SAVE_INTERVAL
    }

    /// Whether the history of sites is to be saved with the next state.
    pub(super) fn wants_sites(&self, now: Instant) -> bool {
        self.is_on()
            && self
                .sites_saved
                .is_none_or(|saved| now.saturating_duration_since(saved) >= SITES_INTERVAL)
    }

    /// Takes the history of sites for the next save.
    pub(super) fn take_sites(&mut self, now: Instant, sites: &SiteHistory) {
        self.sites.clone_from(sites);
        self.sites_saved = Some(now);
    }

    /// Saves how far the logs were read. All output for these lines must have been flushed.
    pub(super) fn save(
        &mut self,
        checkpoints: Vec<Checkpoint>,
        counters: &MetricCounters,
        (finds, answers): (SavedFinds, SavedAnswers),
    ) -> Result<(), CommandError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        // Moved into the state and back: they are too large to copy every second.
        let (absent, sites) = (mem::take(&mut self.absent), mem::take(&mut self.sites));
        let state = TailState {
            rules: self.rules,
            absent,
            checkpoints,
            sites,
            counters: counters.clone(),
            finds,
            answers,
        };
        let saved = folder.save(&state);
        (self.absent, self.sites) = (state.absent, state.sites);
        saved?;
        (self.saved, self.is_dirty) = (Instant::now(), false);
        Ok(())
    }

    /// Sets the fingerprint of new rules.
    pub(super) fn set_rules(&mut self, rules: u64) {
        self.rules = rules;
    }
}
