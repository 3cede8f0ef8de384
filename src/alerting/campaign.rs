//! Detects campaigns: several networks that request the same unusual paths within minutes, as a
//! botnet does after an update of its path list.
//!
//! A path is unusual if it was not requested in the previous hour. `/.env` and `/wp-login.php` are
//! requested all day, which is background noise and no campaign. A path stays unusual for as long
//! as a campaign may take to build up. Paths that are first requested within an hour of the start
//! of the log may be noise, and count as noise.
//!
//! A campaign is reported when five networks each requested five unusual paths. They need not be
//! the same five networks for each path: botnets split their lists.

use super::sliding_window::{SlidingWindow, WindowEntry, WindowLimit, WindowSummary};
use crate::collections::lru::LruMap;

/// Networks that request one path. Two or three unrelated clients may react to the same news, and a
/// site's own clients are fewer.
const MIN_NETWORKS: usize = 5;

/// Unusual paths of a campaign. A new vulnerability has one or two paths, and the report lists
/// those; a botnet's list has more.
pub(super) const MIN_PATHS: usize = 5;

/// Ten minutes: long enough for a botnet to work through a list, and too short for unrelated noise
/// to coincide.
const WINDOW_SECONDS: u32 = 600;

/// A path without a request for this long is unusual.
const QUIET_SECONDS: i64 = 3_600;

const NETWORK_LIMIT: WindowLimit = WindowLimit {
    count: MIN_NETWORKS,
    within: WINDOW_SECONDS,
};
const PATH_LIMIT: WindowLimit = WindowLimit {
    count: MIN_PATHS,
    within: WINDOW_SECONDS,
};

/// Which networks request which paths.
#[derive(Debug)]
pub(super) struct CampaignDetector {
    /// The earliest time seen.
    start: i64,
    paths: LruMap<u64, PathActivity>,
    /// The unusual paths that enough networks requested.
    unusual_paths: SlidingWindow,
}

/// The recent requests for one path.
#[derive(Debug, Default)]
struct PathActivity {
    burst: Option<Burst>,
    /// One entry for each network.
    networks: SlidingWindow,
}

/// Requests for a path with less than [`QUIET_SECONDS`] between them.
#[derive(Debug, Clone, Copy)]
struct Burst {
    /// The earliest request, or `i64::MIN` if the burst may have begun before the log.
    since: i64,
    /// The latest request.
    last: i64,
}

impl CampaignDetector {
    /// Remembers at most `keys` paths.
    pub(super) fn new(keys: usize) -> Self {
        Self {
            start: i64::MAX,
            paths: LruMap::new(keys),
            unusual_paths: SlidingWindow::default(),
        }
    }

    /// Records a request for a path (a hash), with an entry for the client's network. Returns the
    /// latest time of the campaign if there is one.
    pub(super) fn observe(&mut self, path: u64, entry: WindowEntry) -> Option<i64> {
        self.start = self.start.min(entry.utc);
        let activity = self.paths.get_or_insert_with(path, PathActivity::default);
        let burst = Burst::with(activity.burst, entry.utc, self.start);
        activity.burst = Some(burst);
        if !activity.networks.record(entry, NETWORK_LIMIT) || !burst.is_unusual() {
            return None;
        }
        let path_entry = WindowEntry {
            utc: burst.last,
            distinct_key: path,
            ..entry
        };
        if self.unusual_paths.record(path_entry, PATH_LIMIT) {
            self.unusual_paths.latest()
        } else {
            None
        }
    }

    /// The totals of the campaign: [`MIN_PATHS`] paths, and for each path one request of each
    /// network.
    pub(super) fn summary(&self) -> WindowSummary {
        WindowSummary::from_windows(
            self.unusual_paths
                .entries()
                .filter_map(|entry| self.paths.peek(&entry.distinct_key))
                .map(|path| &path.networks),
        )
    }

    /// Allocated bytes without the table itself, and the number of paths.
    #[cfg(test)]
    pub(super) fn allocated_bytes(&self) -> (usize, usize) {
        (
            self.paths
                .values()
                .map(|path| path.networks.allocated_bytes())
                .sum(),
            self.paths.values().count(),
        )
    }
}

impl Burst {
    fn with(previous: Option<Self>, utc: i64, start: i64) -> Self {
        match previous {
            None if utc < start.saturating_add(QUIET_SECONDS) => Self {
                since: i64::MIN,
                last: utc,
            },
            Some(Self { since, last }) if utc < last.saturating_add(QUIET_SECONDS) => Self {
                since: since.min(utc),
                last: last.max(utc),
            },
            _ => Self {
                since: utc,
                last: utc,
            },
        }
    }

    fn is_unusual(self) -> bool {
        self.last < self.since.saturating_add(i64::from(WINDOW_SECONDS))
    }
}
