//! The data of the live view at one moment, with a limit for each part.
//!
//! A pause shows a copy of it, so its rows are shared.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::dashboard::LogRow;
use super::hourly::HourlySeries;
use super::row::{AlertRow, HitRow};
use super::top::TopTable;

/// The most hits: the latest are kept.
pub(super) const HITS: usize = 5_000;

/// The most alerts: the latest are kept.
pub(super) const ALERTS: usize = 200;

/// The most logs in the list; the others are only counted.
pub(super) const LOGS: usize = 1_000;

/// Counts by client, path and rule.
#[derive(Debug, Clone, Default)]
pub(super) struct TopTables {
    /// Pairs of client and path with distinct answers.
    pub(super) answered: TopTable,
    pub(super) clients: TopTable,
    pub(super) paths: TopTable,
    pub(super) rules: TopTable,
}

impl TopTables {
    /// Counts one hit.
    pub(super) fn count(&mut self, row: &Arc<HitRow>) {
        if row.answered {
            self.answered.count(&pair(row), row);
        }
        self.clients.count(&row.client, row);
        self.paths.count(&row.path, row);
        for id in row.rule_ids() {
            self.rules.count(id, row);
        }
    }

    fn remove_answer(&mut self, row: &HitRow) {
        self.clients.remove_answer(&row.client);
        self.paths.remove_answer(&row.path);
        for id in row.rule_ids() {
            self.rules.remove_answer(id);
        }
    }
}

fn pair(row: &HitRow) -> String {
    format!("{} {}", row.client, row.path)
}

/// The data of the live view.
#[derive(Debug, Clone)]
pub(super) struct DashboardSnapshot {
    pub(super) hour: HourlySeries,
    pub(super) tables: TopTables,
    /// Oldest first.
    pub(super) hits: VecDeque<Arc<HitRow>>,
    /// Oldest first.
    pub(super) alerts: VecDeque<Arc<AlertRow>>,
    /// All alerts and notices so far.
    pub(super) alert_count: u64,
    pub(super) logs: Vec<LogRow>,
    /// Sums over all logs.
    pub(super) log_count: usize,
    pub(super) lag: u64,
    /// Increases with every change of tables and lists.
    pub(super) version: u64,
}

impl DashboardSnapshot {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            hour: HourlySeries::new(start),
            tables: TopTables::default(),
            hits: VecDeque::new(),
            alerts: VecDeque::new(),
            alert_count: 0,
            logs: Vec::new(),
            log_count: 0,
            lag: 0,
            version: 0,
        }
    }

    /// Adds a hit.
    pub(super) fn hit(&mut self, row: HitRow) {
        let row = Arc::new(row);
        self.tables.count(&row);
        push(&mut self.hits, row, HITS);
        self.version += 1;
    }

    /// Adds an alert.
    pub(super) fn alert(&mut self, row: AlertRow) {
        self.alert_count = row.number;
        push(&mut self.alerts, Arc::new(row), ALERTS);
        self.version += 1;
    }

    /// Sets the progress of the logs.
    pub(super) fn logs(&mut self, mut logs: Vec<LogRow>) {
        self.log_count = logs.len();
        self.lag = logs.iter().map(|log| log.lag).fold(0, u64::saturating_add);
        logs.sort_by(|a, b| b.lag.cmp(&a.lag).then_with(|| a.path.cmp(&b.path)));
        logs.truncate(LOGS);
        logs.shrink_to_fit();
        self.logs = logs;
    }

    /// Updates a hit that got another grade, if it is still kept.
    pub(super) fn regrade(&mut self, new: HitRow) {
        let Some(at) = self.hits.iter().rposition(|row| row.place == new.place && row.target == new.target) else { return };
        let old = Arc::clone(&self.hits[at]);
        let row = Arc::new(HitRow { number: old.number, ..new });
        match (old.answered, row.answered) {
            (true, false) => {
                self.tables.remove_answer(&old);
                self.tables.answered.remove_hit(&pair(&old));
            }
            (false, true) => self.tables.answered.count(&pair(&row), &row),
            _ => {}
        }
        self.hits[at] = row;
        self.version += 1;
    }
}

fn push<T>(ring: &mut VecDeque<T>, item: T, most: usize) {
    if ring.len() >= most {
        ring.pop_front();
    }
    ring.push_back(item);
}
