//! The model of the live view: takes events and keys, keeps bounded data, and draws.
//!
//! It owns what it shows, as lines are gone when it draws, and stores rules by name, as the rule
//! set may be replaced during a run. The caller passes the time. A [`DashboardSnapshot`] is the
//! data at one moment, with a limit for each part. A pause shows a copy of it, so its rows are
//! shared.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, KeyEventKind};

use super::hourly::{HourlySeries, TrafficCounts};
use super::paint;
use super::row::{AlertRow, HitRow};
use super::terminal::TerminalInput;
use super::top::TopTable;
use super::view::{FilterCache, Panel, ScreenPage, TuiCommand, ViewState};
use crate::alerting::Alert;
use crate::report::model::ReportedHit;
use crate::report::timeline::LiveTimeline;
use crate::rules::RuleSet;

/// The progress of one log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LogRow {
    /// Its path; any bytes.
    pub path: Vec<u8>,
    /// Bytes written and not read yet.
    pub lag: u64,
    /// Lines read.
    pub lines: u64,
}

/// The model of the live view. Its memory is bounded: the latest 5,000 hits, 200 alerts, at most
/// 2,000 each of clients, paths and rules, 60 minutes of counts, no text over a few hundred bytes;
/// twice that while it is paused.
#[derive(Debug)]
pub(crate) struct Dashboard {
    live: DashboardSnapshot,
    /// What is shown during a pause.
    frozen: Option<Box<DashboardSnapshot>>,
    filtered: FilterCache,
    view: ViewState,
    color: bool,
    changed: bool,
}

impl Dashboard {
    /// An empty dashboard. Counting begins at `now`. Without `color` it uses only bold, dim and
    /// reversed text.
    #[must_use]
    pub(crate) fn new(now: Instant, color: bool) -> Self {
        Self {
            live: DashboardSnapshot::new(now),
            frozen: None,
            filtered: FilterCache::default(),
            view: ViewState::default(),
            color,
            changed: true,
        }
    }

    /// Advances its time, so that rates fall when nothing happens. Call it at least once a second.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.changed |= self.live.hour.advance(now);
    }

    /// Counts requests, including hits.
    pub(crate) fn requests(&mut self, now: Instant, count: u64) {
        self.tick(now);
        self.live.hour.count(TrafficCounts {
            requests: count,
            hits: 0,
        });
        self.changed |= count > 0;
    }

    /// Adds a hit. [`requests`](Self::requests) counts its request.
    pub(crate) fn hit(&mut self, now: Instant, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.tick(now);
        self.live.hour.count(TrafficCounts {
            requests: 0,
            hits: 1,
        });
        self.live
            .hit(HitRow::new(self.live.hour.total().hits, hit, rules));
        self.changed = true;
    }

    /// Adds an alert.
    pub(crate) fn alert(&mut self, alert: &Alert, rules: &RuleSet) {
        self.live
            .alert(AlertRow::new(self.live.alert_count + 1, alert, rules));
        self.changed = true;
    }

    /// Adds a notice of the run to the alerts, as text on stderr would disturb the screen.
    pub(crate) fn notice(&mut self, notice: &str) {
        self.live
            .alert(AlertRow::notice(self.live.alert_count + 1, notice));
        self.changed = true;
    }

    /// Sets the progress of all logs.
    pub(crate) fn logs(&mut self, logs: Vec<LogRow>) {
        self.live.logs(logs);
        self.changed = true;
    }

    /// Updates a hit that got another grade.
    pub(crate) fn regrade(&mut self, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.live.regrade(HitRow::new(0, hit, rules));
        self.changed = true;
    }

    /// Handles input of the terminal.
    pub(crate) fn input(&mut self, input: TerminalInput) -> Option<TuiCommand> {
        match input {
            TerminalInput::Key(key) => self.key(key),
            TerminalInput::Resized => {
                self.changed = true;
                None
            }
            TerminalInput::Gone => Some(TuiCommand::Quit),
        }
    }

    /// Handles a key. Returns a command for the caller.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<TuiCommand> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        self.changed = true;
        let filter = self.view.filter.clone();
        let snapshot = self.frozen.as_deref().unwrap_or(&self.live);
        let shown = self.filtered.show(snapshot, &filter, self.view.order);
        let items = match &self.view.page {
            ScreenPage::Details(panel, name) => shown.hits_of(*panel, name),
            ScreenPage::Overview => shown.items(self.view.focus),
            ScreenPage::Logs | ScreenPage::Help => Vec::new(),
        };
        let command = self.view.key(key, &items);
        if self.view.paused != self.frozen.is_some() {
            self.frozen = self.view.paused.then(|| Box::new(self.live.clone()));
        }
        command
    }

    /// The live data.
    #[cfg(test)]
    pub(super) fn snapshot(&self) -> &DashboardSnapshot {
        &self.live
    }

    /// Whether it changed since it was last drawn.
    #[must_use]
    pub(crate) fn has_changed(&self) -> bool {
        self.changed
    }

    /// Draws it at any size.
    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>) {
        self.changed = false;
        let since = self
            .frozen
            .as_ref()
            .map(|frozen| self.live.hour.total().hits - frozen.hour.total().hits);
        let filter = self.view.filter.clone();
        let snapshot = self.frozen.as_deref().unwrap_or(&self.live);
        let shown = self.filtered.show(snapshot, &filter, self.view.order);
        paint::draw(&shown, &mut self.view, since, self.color, frame);
    }
}

/// The most hits: the latest are kept.
pub(super) const HITS: usize = 5_000;

/// The most alerts: the latest are kept.
pub(super) const ALERTS: usize = 200;

/// The most logs in the list; the others are only counted.
pub(super) const LOGS: usize = 1_000;

/// Counts by client, path and rule, and of pairs of client and path with distinct answers: a table
/// for each of the first panels.
#[derive(Debug, Clone, Default)]
pub(super) struct TopTables([TopTable; 4]);

impl TopTables {
    /// The table of a panel, if it shows one.
    pub(super) fn of(&self, panel: Panel) -> Option<&TopTable> {
        self.0.get(panel as usize)
    }

    /// Counts one hit.
    pub(super) fn count(&mut self, row: &Arc<HitRow>) {
        let [answered, clients, paths, rules] = &mut self.0;
        if row.answered {
            answered.count(&pair(row), row);
        }
        clients.count(&row.client, row);
        paths.count(&row.path, row);
        for id in row.rule_ids() {
            rules.count(id, row);
        }
    }

    /// Counts a hit that is now answered and was not, or was and is not any more.
    fn regrade(&mut self, old: &HitRow, new: &Arc<HitRow>) {
        let [answered, clients, paths, rules] = &mut self.0;
        if new.answered {
            return answered.count(&pair(new), new);
        }
        answered.remove_hit(&pair(old));
        clients.remove_answer(&old.client);
        paths.remove_answer(&old.path);
        for id in old.rule_ids() {
            rules.remove_answer(id);
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
    pub(super) timeline: LiveTimeline,
    pub(super) tables: TopTables,
    /// Oldest first.
    pub(super) hits: VecDeque<Arc<HitRow>>,
    /// Oldest first.
    pub(super) alerts: VecDeque<Arc<AlertRow>>,
    /// All alerts and notices so far.
    alert_count: u64,
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
            timeline: LiveTimeline::default(),
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
        if let Some(time) = row.time {
            self.timeline.add(time, row.outcome as usize, row.answered);
        }
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
        let Some(at) = self
            .hits
            .iter()
            .rposition(|row| row.location == new.location && row.target == new.target)
        else {
            return;
        };
        let old = Arc::clone(&self.hits[at]);
        let row = Arc::new(HitRow {
            number: old.number,
            ..new
        });
        if let Some(time) = old.time.filter(|_| old.answered != row.answered) {
            self.timeline.regrade(time, row.answered);
        }
        if old.answered != row.answered {
            self.tables.regrade(&old, &row);
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
