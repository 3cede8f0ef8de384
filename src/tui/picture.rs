//! All that the live view knows at one moment. Bounded: every part says how much of it is kept.
//!
//! A copy of it is what a pause shows, so its rows are shared, not copied.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::alarm::AlarmRow;
use super::dashboard::LogRow;
use super::hour::Hour;
use super::row::HitRow;
use super::top::Top;

/// The latest hits that are kept.
pub(super) const HITS: usize = 5_000;

/// The latest alerts that are kept.
pub(super) const ALARMS: usize = 200;

/// Logs that are listed; more are only counted.
pub(super) const LOGS: usize = 1_000;

/// Who, what and by which rule, counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables {
    /// Client and path of hits whose answer means something.
    pub(super) answered: Top,
    pub(super) clients: Top,
    pub(super) paths: Top,
    pub(super) rules: Top,
}

impl Tables {
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

    fn take_back(&mut self, row: &HitRow) {
        self.clients.take_back(&row.client);
        self.paths.take_back(&row.path);
        for id in row.rule_ids() {
            self.rules.take_back(id);
        }
    }
}

fn pair(row: &HitRow) -> String {
    format!("{} {}", row.client, row.path)
}

/// Everything.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    pub(super) hour: Hour,
    pub(super) tables: Tables,
    /// Oldest first.
    pub(super) hits: VecDeque<Arc<HitRow>>,
    /// Oldest first.
    pub(super) alarms: VecDeque<Arc<AlarmRow>>,
    /// Alerts and notices, ever.
    pub(super) alarms_told: u64,
    pub(super) logs: Vec<LogRow>,
    /// Sums over all logs, listed or not.
    pub(super) log_count: usize,
    pub(super) lag: u64,
    /// Goes up with everything that changes what tables and lists show.
    pub(super) version: u64,
}

impl Picture {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            hour: Hour::new(start),
            tables: Tables::default(),
            hits: VecDeque::new(),
            alarms: VecDeque::new(),
            alarms_told: 0,
            logs: Vec::new(),
            log_count: 0,
            lag: 0,
            version: 0,
        }
    }

    /// Keeps a hit.
    pub(super) fn hit(&mut self, row: HitRow) {
        let row = Arc::new(row);
        self.tables.count(&row);
        push(&mut self.hits, row, HITS);
        self.version += 1;
    }

    /// Keeps an alert.
    pub(super) fn alarm(&mut self, row: AlarmRow) {
        self.alarms_told = row.number;
        push(&mut self.alarms, Arc::new(row), ALARMS);
        self.version += 1;
    }

    /// What is known of the logs now.
    pub(super) fn logs(&mut self, mut logs: Vec<LogRow>) {
        self.log_count = logs.len();
        self.lag = logs.iter().map(|log| log.lag).fold(0, u64::saturating_add);
        logs.sort_by(|a, b| b.lag.cmp(&a.lag).then_with(|| a.path.cmp(&b.path)));
        logs.truncate(LOGS);
        logs.shrink_to_fit();
        self.logs = logs;
    }

    /// Takes in a new grade of a hit, as far as it is kept.
    pub(super) fn regrade(&mut self, new: HitRow) {
        let Some(at) = self.hits.iter().rposition(|row| row.place == new.place && row.target == new.target) else { return };
        let old = Arc::clone(&self.hits[at]);
        let row = Arc::new(HitRow { number: old.number, ..new });
        match (old.answered, row.answered) {
            (true, false) => {
                self.tables.take_back(&old);
                self.tables.answered.uncount(&pair(&old));
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
