//! Which finds raised an alert.
//!
//! A find is a path of a site with a distinct answer. All finds of one leak, such as the files of a
//! repository, raise one alert. A client other than the first one raises another, once a day:
//! someone else takes the leak. If the answer that raised an alert proves to be a soft 404, the
//! alert is withdrawn, and the leak may raise a new one.

use foldhash::HashSet;
use serde::{Deserialize, Serialize};

use super::{AlertKind, HitId};
use crate::collections::lru::LruMap;
use crate::log::finding::Severity;

/// The most alerts of one leak that can be withdrawn: a week, with one a day.
const MAX_ALERTS: usize = 8;

/// The place of a find among the leaks of its site, as hashes that are the same in every run. Two
/// finds are of one leak if one of them is near a folder of the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LeakPlace {
    /// The site and the path.
    pub path: u64,
    /// The folders in which others are of the same leak.
    pub near: Vec<u64>,
    /// All folders, these included.
    pub above: Vec<u64>,
}

impl LeakPlace {
    /// The keys of finds for which this one is deeper, beside or the same.
    fn upwards(&self) -> impl Iterator<Item = u64> {
        self.above
            .iter()
            .map(|folder| folder ^ NEAR)
            .chain([self.path])
    }

    /// The keys of finds that are deeper.
    fn downwards(&self) -> impl Iterator<Item = u64> {
        self.near.iter().copied()
    }
}

/// Distinguishes the folders near a find from those above it.
const NEAR: u64 = 1 << 63;

/// Keys of each leak, at most on average: repositories have two, and a file in a folder has five.
const KEYS_PER_LEAK: usize = 4;

/// The leaks that raised an alert.
#[derive(Debug)]
pub(super) struct RaisedFinds {
    /// By the path of the first find.
    leaks: LruMap<u64, RaisedLeak>,
    /// The leak of each path and folder.
    places: LruMap<u64, u64>,
}

/// The most leaks that are kept for the next run, each with its keys: at most 200 KB.
const MAX_SAVED: usize = 512;

/// The leaks that raised an alert, for the next run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedFinds {
    leaks: Vec<(u64, RaisedLeak)>,
    places: Vec<(u64, u64)>,
}

impl SavedFinds {
    /// Whether there are none.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.leaks.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RaisedLeak {
    /// The hash of the client of the first alert.
    client: Option<u16>,
    /// The day of the latest alert about another client.
    latest_again: Option<i64>,
    alerts: Vec<(HitId, Severity)>,
}

impl RaisedFinds {
    /// Remembers at most `keys` leaks.
    pub(super) fn new(keys: usize) -> Self {
        Self {
            leaks: LruMap::new(keys),
            places: LruMap::new(KEYS_PER_LEAK * keys),
        }
    }

    /// Adds the leaks of an earlier run.
    pub(super) fn with_saved(mut self, saved: SavedFinds) -> Self {
        // Those used last come first.
        for (number, leak) in saved.leaks.into_iter().rev() {
            self.leaks.get_or_insert_with(number, || leak);
        }
        for (key, number) in saved.places {
            self.places.get_or_insert_with(key, || number);
        }
        self
    }

    /// The leaks for the next run.
    pub(super) fn saved(&self) -> SavedFinds {
        let leaks: Vec<_> = self
            .leaks
            .iter()
            .take(MAX_SAVED)
            .map(|(number, leak)| (*number, leak.clone()))
            .collect();
        let numbers: HashSet<u64> = leaks.iter().map(|(number, _)| *number).collect();
        let kept = self
            .places
            .iter()
            .filter(|(_, number)| numbers.contains(number))
            .map(|(key, number)| (*key, *number));
        SavedFinds {
            places: kept.take(KEYS_PER_LEAK * MAX_SAVED).collect(),
            leaks,
        }
    }

    /// The alert that a hit of a find raises on a day, if any; it is recorded.
    pub(super) fn raise(
        &mut self,
        find: &LeakPlace,
        client: Option<u16>,
        id: HitId,
        severity: Severity,
        day: i64,
    ) -> Option<AlertKind> {
        let known = find.upwards().chain(find.downwards()).find_map(|key| {
            let leak = *self.places.peek(&key)?;
            self.leaks.peek(&leak).map(|_| leak)
        });
        let number = known.unwrap_or(find.path);
        let near = find.near.iter().map(|folder| folder ^ NEAR);
        for key in near.chain(find.above.iter().copied()).chain([find.path]) {
            *self.places.get_or_insert_with(key, || number) = number;
        }
        let leak = self.leaks.get_or_insert_with(number, || RaisedLeak {
            client,
            latest_again: None,
            alerts: Vec::with_capacity(1),
        });
        let kind = if leak.alerts.is_empty() {
            AlertKind::Answered
        } else if leak.client == client
            || leak.latest_again >= Some(day)
            || leak.alerts.iter().any(|alert| alert.0 == id)
        {
            return None;
        } else {
            leak.latest_again = Some(day);
            AlertKind::AnsweredAgain
        };
        if leak.alerts.len() == MAX_ALERTS {
            leak.alerts.remove(0);
        }
        leak.alerts.push((id, severity));
        Some(kind)
    }

    /// Withdraws the alert that a hit raised, if it did. Returns its severity.
    pub(super) fn withdraw(&mut self, id: HitId) -> Option<Severity> {
        let raised = |leak: &RaisedLeak| leak.alerts.iter().position(|alert| alert.0 == id);
        let number = self
            .leaks
            .iter()
            .find_map(|(number, leak)| raised(leak).map(|_| *number))?;
        let mut leak = self.leaks.remove(&number)?;
        let severity = raised(&leak).map(|at| leak.alerts.remove(at).1);
        if !leak.alerts.is_empty() {
            self.leaks.get_or_insert_with(number, || leak);
        }
        severity
    }

    /// The number of leaks remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.leaks.len()
    }

    /// Bytes of one leak in the table, the number of keys, and bytes that all of them allocate.
    #[cfg(test)]
    pub(super) fn memory_use(&self) -> (usize, usize, usize) {
        let alert = size_of::<(HitId, Severity)>();
        (
            size_of::<RaisedLeak>(),
            self.places.len(),
            self.leaks
                .values()
                .map(|leak| leak.alerts.capacity() * alert)
                .sum(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_eight_alerts_of_a_leak_can_be_withdrawn() {
        let mut finds = RaisedFinds::new(8);
        let find = LeakPlace {
            path: 1,
            ..LeakPlace::default()
        };
        for day in 0..10_u16 {
            assert!(
                finds
                    .raise(
                        &find,
                        Some(day),
                        (7, day.into()),
                        Severity::High,
                        day.into()
                    )
                    .is_some()
            );
        }
        let withdrawn = (0..10).filter(|offset| finds.withdraw((7, *offset)).is_some());
        assert_eq!(withdrawn.collect::<Vec<_>>(), (2..10).collect::<Vec<_>>());
        assert_eq!(finds.len(), 0, "nothing of it is remembered");
    }

    #[test]
    fn the_leaks_of_512_alerts_are_saved() {
        let place = |path: u64| LeakPlace {
            path,
            near: vec![path << 32],
            above: vec![path << 32],
        };
        let mut finds = RaisedFinds::new(4_096);
        for path in 1..=600 {
            assert_eq!(
                finds.raise(&place(path), Some(1), (7, path), Severity::High, 0),
                Some(AlertKind::Answered)
            );
        }
        let saved = finds.saved();
        assert_eq!((saved.leaks.len(), saved.places.len()), (512, 512 * 3));
        let text = serde_json::to_string(&saved).expect("numbers");
        let mut next = RaisedFinds::new(4_096)
            .with_saved(serde_json::from_str(&text).expect("what was written"));
        let path = saved.leaks[0].0;
        assert_eq!(
            next.raise(&place(path), Some(1), (8, 0), Severity::High, 0),
            None,
            "the same client"
        );
        assert_eq!(
            next.raise(&place(path), Some(2), (8, 1), Severity::High, 0),
            Some(AlertKind::AnsweredAgain)
        );
        assert_eq!(next.withdraw((7, path)), Some(Severity::High));
    }

    /// `/a/b` is near `/a`, and `/a/b/c/d` is deeper; `/x` is elsewhere.
    #[test]
    fn finds_of_one_leak_raise_one_alert() {
        let place = |path, near: &[u64], above: &[u64]| LeakPlace {
            path,
            near: near.into(),
            above: above.into(),
        };
        let finds = [
            place(11, &[1, 2], &[1, 2]),
            place(12, &[4, 3], &[4, 3, 1, 2]),
            place(13, &[9], &[9]),
        ];
        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0]] {
            let mut raised = RaisedFinds::new(8);
            let kinds = order
                .map(|at| raised.raise(&finds[at], Some(1), (7, at as u64), Severity::High, 0));
            assert_eq!(kinds.iter().flatten().count(), 2, "{order:?}: {kinds:?}");
        }
    }
}
