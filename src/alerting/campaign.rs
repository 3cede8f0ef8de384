//! Many clients that ask for the same unusual paths within minutes, as a botnet does that was given a new list.
//!
//! A path is unusual where nobody had asked for it in the hour before, as far as the log was seen: `/.env` and
//! `/wp-login.php`, for which somebody asks all day, are noise on every site and no campaign. It stays unusual for as long
//! as a campaign may take to show. What was first asked for within an hour of the log's beginning may be noise or not, and
//! is taken for noise.
//!
//! There is a campaign where five unusual paths were asked for by five networks each. It is not asked whether they are the
//! same five: botnets share their lists out.

use super::sliding_window::{SlidingWindow, WindowEntry, WindowLimit, WindowSummary};
use crate::recent::Recent;

/// Networks that ask for one path. Two or three strangers may have read the same news; our own machines are fewer.
const MIN_NETWORKS: usize = 5;

/// Such paths. A new hole has one path or two, and the report names those; a list has more.
pub(super) const MIN_PATHS: usize = 5;

/// Ten minutes: a list is worked through in that, and ordinary noise does not meet by chance.
const WITHIN: u32 = 600;

/// An hour without a request makes a path unusual. Noise of the internet comes more often to a site that matters, and to one
/// where it comes less often it does not come from five networks at once.
const QUIET_SECONDS: i64 = 3_600;

const NETWORK_LIMIT: WindowLimit = WindowLimit { count: MIN_NETWORKS, within: WITHIN };
const PATH_LIMIT: WindowLimit = WindowLimit { count: MIN_PATHS, within: WITHIN };

/// Who asks for what.
#[derive(Debug)]
pub(super) struct CampaignDetector {
    /// The earliest time of all.
    start: i64,
    paths: Recent<u64, PathActivity>,
    /// The unusual paths that enough networks asked for.
    unusual_paths: SlidingWindow,
}

/// Who asked for a path.
#[derive(Debug, Default)]
struct PathActivity {
    burst: Option<Burst>,
    /// By network.
    networks: SlidingWindow,
}

/// Requests for a path without an hour between two of them.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// The earliest request; where it may have gone on before the log was seen, the beginning of time.
    since: i64,
    /// The latest request.
    last: i64,
}

impl CampaignDetector {
    /// Remembers at most so many paths.
    pub(super) fn new(keys: usize) -> Self {
        Self { start: i64::MAX, paths: Recent::new(keys), unusual_paths: SlidingWindow::default() }
    }

    /// Takes in a request for a path, a hash, with the entry of the client's network; the latest time of the campaign that
    /// there is then, if there is one.
    pub(super) fn observe(&mut self, path: u64, entry: WindowEntry) -> Option<i64> {
        self.start = self.start.min(entry.utc);
        let known = self.paths.value(path, PathActivity::default);
        let burst = Burst::with(known.burst, entry.utc, self.start);
        known.burst = Some(burst);
        if !known.networks.record(entry, NETWORK_LIMIT) || !burst.is_unusual() {
            return None;
        }
        let path_entry = WindowEntry { utc: burst.last, distinct_key: path, ..entry };
        if self.unusual_paths.record(path_entry, PATH_LIMIT) { self.unusual_paths.latest() } else { None }
    }

    /// What the campaign comes to: its paths are [`MIN_PATHS`], its requests one of each network for each path.
    pub(super) fn summary(&self) -> WindowSummary {
        WindowSummary::from_windows(
            self.unusual_paths.entries().filter_map(|entry| self.paths.peek(&entry.distinct_key)).map(|path| &path.networks),
        )
    }

    /// Bytes it has allocated_bytes for, but for the table itself, and the paths it knows.
    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> (usize, usize) {
        (self.paths.values().map(|path| path.networks.allocated_bytes()).sum(), self.paths.values().count())
    }
}

impl Burst {
    fn with(known: Option<Self>, utc: i64, start: i64) -> Self {
        match known {
            None if utc < start.saturating_add(QUIET_SECONDS) => Self { since: i64::MIN, last: utc },
            Some(Self { since, last }) if utc < last.saturating_add(QUIET_SECONDS) => Self { since: since.min(utc), last: last.max(utc) },
            _ => Self { since: utc, last: utc },
        }
    }

    fn is_unusual(self) -> bool {
        self.last < self.since.saturating_add(i64::from(WITHIN))
    }
}
