//! The model of the live view: takes events and keys, keeps bounded data, and draws.
//!
//! It owns what it shows, as lines are gone when it draws, and stores rules by name, as the rule set may be replaced during a
//! run. The caller passes the time.

use std::time::Instant;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, KeyEventKind};

use super::hourly::TrafficCounts;
use super::paint;
use super::row::{AlertRow, HitRow};
use super::snapshot::DashboardSnapshot;
use super::terminal::TerminalInput;
use super::view::{KeyOutcome, ScreenPage, TuiCommand, ViewState};
use super::visible_rows::FilterCache;
use crate::alerting::Alert;
use crate::analysis::model::ReportedHit;
use crate::rules::RuleSet;

/// The progress of one log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogRow {
    /// Its path; any bytes.
    pub path: Vec<u8>,
    /// Bytes written and not read yet.
    pub lag: u64,
    /// Lines read.
    pub lines: u64,
}

/// The model of the live view. Its memory is bounded: the latest 5,000 hits, 200 alerts, at most 2,000 each of clients, paths and rules,
/// 60 minutes of counts, no text over a few hundred bytes; twice that while it is paused.
#[derive(Debug)]
pub struct Dashboard {
    live: DashboardSnapshot,
    /// What is shown during a pause.
    frozen: Option<Box<DashboardSnapshot>>,
    filtered: FilterCache,
    view: ViewState,
    color: bool,
    changed: bool,
}

impl Dashboard {
    /// An empty dashboard. Counting begins at `now`. Without `color` it uses only bold, dim and reversed text.
    #[must_use]
    pub fn new(now: Instant, color: bool) -> Self {
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
    pub fn tick(&mut self, now: Instant) {
        self.changed |= self.live.hour.advance(now);
    }

    /// Counts requests, including hits.
    pub fn requests(&mut self, now: Instant, count: u64) {
        self.tick(now);
        self.live.hour.count(TrafficCounts { requests: count, hits: 0 });
        self.changed |= count > 0;
    }

    /// Adds a hit. [`requests`](Self::requests) counts its request.
    pub fn hit(&mut self, now: Instant, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.tick(now);
        self.live.hour.count(TrafficCounts { requests: 0, hits: 1 });
        self.live.hit(HitRow::new(self.live.hour.total().hits, hit, rules));
        self.changed = true;
    }

    /// Adds an alert.
    pub fn alert(&mut self, alert: &Alert, rules: &RuleSet) {
        self.live.alert(AlertRow::new(self.live.alert_count + 1, alert, rules));
        self.changed = true;
    }

    /// Adds a notice of the run to the alerts, as text on stderr would disturb the screen.
    pub fn notice(&mut self, notice: &str) {
        self.live.alert(AlertRow::notice(self.live.alert_count + 1, notice));
        self.changed = true;
    }

    /// Sets the progress of all logs.
    pub fn logs(&mut self, logs: Vec<LogRow>) {
        self.live.logs(logs);
        self.changed = true;
    }

    /// Updates a hit that got another grade.
    pub fn regrade(&mut self, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.live.regrade(HitRow::new(0, hit, rules));
        self.changed = true;
    }

    /// Handles input of the terminal.
    pub fn input(&mut self, input: TerminalInput) -> Option<TuiCommand> {
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
    pub fn key(&mut self, key: KeyEvent) -> Option<TuiCommand> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        self.changed = true;
        let filter = self.view.filter.clone();
        let snapshot = self.frozen.as_deref().unwrap_or(&self.live);
        let shown = self.filtered.show(snapshot, &filter, self.view.order);
        let items = match &self.view.page {
            ScreenPage::Details(subject) => shown.hits_of(subject),
            ScreenPage::Overview => shown.items(self.view.focus()),
            ScreenPage::Logs | ScreenPage::Help => Vec::new(),
        };
        match self.view.key(key, &items) {
            KeyOutcome::Nothing => None,
            KeyOutcome::Command(command) => Some(command),
            KeyOutcome::Pause => {
                self.frozen = if self.frozen.is_none() { Some(Box::new(self.live.clone())) } else { None };
                None
            }
        }
    }

    /// The live data.
    #[cfg(test)]
    pub(super) fn snapshot(&self) -> &DashboardSnapshot {
        &self.live
    }

    /// Whether it changed since it was last drawn.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Draws it at any size.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        self.changed = false;
        let since = self.frozen.as_ref().map(|frozen| self.live.hour.total().hits - frozen.hour.total().hits);
        let filter = self.view.filter.clone();
        let snapshot = self.frozen.as_deref().unwrap_or(&self.live);
        let shown = self.filtered.show(snapshot, &filter, self.view.order);
        paint::draw(&shown, &mut self.view, since, self.color, frame);
    }
}
