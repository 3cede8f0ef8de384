//! Saves the state: before the first hit of a log is printed, at most once a second while lines come in, and at the end.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant, SystemTime};

use super::failure::Failure;
use crate::analysis::site::SiteHistory;
use crate::commands::FollowSettings;
use crate::commands::message::{self, shown};
use crate::source::Checkpoint;
use crate::state::{KEEP_ABSENT, StateFolder, TailState};

/// The state's name in its folder: other commands keep theirs beside it.
const NAME: &str = "follow";

/// How old a state may get while lines come in.
const EVERY: Duration = Duration::from_secs(1);

/// How old what it says of sites may get: it changes slowly, and is larger.
const SITES_EVERY: Duration = Duration::from_secs(10);

/// The state, where a folder for it is set.
#[derive(Debug)]
pub(super) struct Keeper {
    folder: Option<StateFolder>,
    rules: u64,
    sites: SiteHistory,
    sites_saved: Option<Instant>,
    /// Logs that were not found, and since when.
    absent: BTreeMap<u64, u64>,
    saved: Instant,
    /// Lines were read since.
    is_dirty: bool,
}

impl Keeper {
    /// Takes the state's folder, and what the last run left in it; `None` where there was none.
    pub(super) fn open(settings: &FollowSettings, rules: u64) -> Result<(Self, Option<TailState>), Failure> {
        let folder = settings.state.dir.as_deref().map(|dir| StateFolder::open(dir, NAME, settings.state.insecure)).transpose()?;
        let keeper = |folder, absent| Self {
            folder,
            rules,
            sites: SiteHistory::default(),
            sites_saved: None,
            absent,
            saved: Instant::now(),
            is_dirty: false,
        };
        let Some(folder) = folder else { return Ok((keeper(None, BTreeMap::new()), None)) };
        if settings.state.reset {
            folder.reset()?;
        }
        let Some(mut state) = folder.load::<TailState>()? else { return Ok((keeper(Some(folder), BTreeMap::new()), None)) };
        if state.rules != rules && !settings.scan.quiet {
            let path = shown(&folder.path().to_string_lossy());
            message::notice(&format!("{path}: other rules than in the last run; what it read is not judged again"));
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let is_there = |known: &Checkpoint| fs::symlink_metadata(OsStr::from_bytes(&known.path)).is_ok();
        state.drop_absent(is_there, now, KEEP_ABSENT);
        let mut keeper = keeper(Some(folder), state.absent.clone());
        keeper.sites.clone_from(&state.sites);
        Ok((keeper, Some(state)))
    }

    /// Whether there is a state to keep.
    pub(super) fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// Records that lines were read which the state does not hold.
    pub(super) fn mark_dirty(&mut self) {
        self.is_dirty = true;
    }

    /// Whether it is time to save.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.is_on() && self.is_dirty && now.saturating_duration_since(self.saved) >= EVERY
    }

    /// Whether what sites answered is to be saved as well.
    pub(super) fn wants_sites(&self, now: Instant) -> bool {
        self.is_on() && self.sites_saved.is_none_or(|saved| now.saturating_duration_since(saved) >= SITES_EVERY)
    }

    /// Takes what sites answered, to be saved with the next state.
    pub(super) fn take_sites(&mut self, now: Instant, sites: &SiteHistory) {
        self.sites.clone_from(sites);
        self.sites_saved = Some(now);
    }

    /// Saves how far the logs were read. Everything up to there must have been written out.
    pub(super) fn save(&mut self, checkpoints: Vec<Checkpoint>) -> Result<(), Failure> {
        let Some(folder) = &self.folder else { return Ok(()) };
        // Lent to the state and taken back: they are too large to copy every second.
        let (absent, sites) = (mem::take(&mut self.absent), mem::take(&mut self.sites));
        let state = TailState { rules: self.rules, absent, checkpoints, sites };
        let saved = folder.save(&state);
        (self.absent, self.sites) = (state.absent, state.sites);
        saved?;
        (self.saved, self.is_dirty) = (Instant::now(), false);
        Ok(())
    }

    /// Goes on with other rules.
    pub(super) fn take_rules(&mut self, rules: u64) {
        self.rules = rules;
    }
}
