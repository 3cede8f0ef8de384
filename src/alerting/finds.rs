//! Which finds raised an alert.
//!
//! A find is a path of a site with a distinct answer. It raises one alert. A client other than the first one raises another, once
//! a day: someone else takes the leak. If the answer proves to be a soft 404, the alert is withdrawn, and the find may raise a new one.

use super::{AlertKind, HitId};
use crate::finding::Severity;
use crate::lru::LruMap;

/// The most alerts of one find that can be withdrawn: a week, with one a day.
const MAX_ALERTS: usize = 8;

/// The finds that raised an alert, by a hash of site and path.
#[derive(Debug)]
pub(super) struct RaisedFinds(LruMap<u64, RaisedFind>);

#[derive(Debug)]
struct RaisedFind {
    /// The hash of the client of the first alert.
    client: Option<u64>,
    /// The day of the latest alert about another client.
    latest_again: Option<i64>,
    alerts: Vec<(HitId, Severity)>,
}

impl RaisedFinds {
    /// Remembers at most `keys` finds.
    pub(super) fn new(keys: usize) -> Self {
        Self(LruMap::new(keys))
    }

    /// The alert that a hit of a find raises on a day, if any; it is recorded.
    pub(super) fn raise(&mut self, find: u64, client: Option<u64>, id: HitId, severity: Severity, day: i64) -> Option<AlertKind> {
        let find = self.0.get_or_insert_with(find, || RaisedFind { client, latest_again: None, alerts: Vec::with_capacity(1) });
        let kind = if find.alerts.is_empty() {
            AlertKind::Answered
        } else if find.client == client || find.latest_again == Some(day) || find.alerts.iter().any(|alert| alert.0 == id) {
            return None;
        } else {
            find.latest_again = Some(day);
            AlertKind::AnsweredAgain
        };
        if find.alerts.len() == MAX_ALERTS {
            find.alerts.remove(0);
        }
        find.alerts.push((id, severity));
        Some(kind)
    }

    /// Withdraws the alert that a hit raised, if it did. Returns its severity.
    pub(super) fn withdraw(&mut self, find: u64, id: HitId) -> Option<Severity> {
        let mut known = self.0.remove(&find)?;
        let at = known.alerts.iter().position(|alert| alert.0 == id);
        let severity = at.map(|at| known.alerts.remove(at).1);
        if !known.alerts.is_empty() {
            self.0.get_or_insert_with(find, || known);
        }
        severity
    }

    /// The number of finds remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.values().count()
    }

    /// Bytes of one find in the table, and of what all of them allocate.
    #[cfg(test)]
    pub(super) fn memory_use(&self) -> (usize, usize) {
        let alert = size_of::<(HitId, Severity)>();
        (size_of::<RaisedFind>(), self.0.values().map(|find| find.alerts.capacity() * alert).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_eight_alerts_of_a_find_can_be_withdrawn() {
        let mut finds = RaisedFinds::new(8);
        for day in 0..10 {
            assert!(finds.raise(1, Some(day), (7, day), Severity::High, day.cast_signed()).is_some());
        }
        let withdrawn = (0..10).filter(|offset| finds.withdraw(1, (7, *offset)).is_some());
        assert_eq!(withdrawn.collect::<Vec<_>>(), (2..10).collect::<Vec<_>>());
        assert_eq!(finds.len(), 0, "nothing of it is remembered");
    }
}
