//! The model of the live view: told of what happens, it keeps a bounded snapshot, takes keys and draws.
//!
//! It owns all it shows, as lines are gone when it is drawn, and knows rules by their names alone, as a rule set may be
//! replaced while it runs. Time is what it is told: it asks no clock.

use std::time::Instant;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, KeyEventKind};

use super::alert_row::AlertRow;
use super::hit_row::HitRow;
use super::hourly::TrafficCounts;
use super::keys::TerminalInput;
use super::paint;
use super::snapshot::DashboardSnapshot;
use super::view::{KeyOutcome, ScreenPage, TuiCommand, ViewState};
use super::visible_rows::FilterCache;
use crate::alerting::alert::Alert;
use crate::analysis::model::ReportedHit;
use crate::rules::RuleSet;

/// How one log stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogRow {
    /// Its path; may hold any byte.
    pub path: Vec<u8>,
    /// Bytes that are written and not yet read.
    pub lag: u64,
    /// Lines read.
    pub lines: u64,
}

/// The model. Its memory is bounded: the latest 5,000 hits, 200 alerts, at most 2,000 each of clients, paths and rules,
/// 60 minutes of counts, no text over a few hundred bytes; twice that while it is paused.
#[derive(Debug)]
pub struct Dashboard {
    live: DashboardSnapshot,
    /// What is shown while it is paused.
    frozen: Option<Box<DashboardSnapshot>>,
    filtered: FilterCache,
    view: ViewState,
    color: bool,
    changed: bool,
}

impl Dashboard {
    /// A dashboard that has seen nothing. `now` is when counting begins; without `color` it uses bold, dim and reversed
    /// text alone.
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

    /// Moves its time on, so that rates fall when nothing happens. To be called once a second or more often.
    pub fn tick(&mut self, now: Instant) {
        self.changed |= self.live.hour.advance(now);
    }

    /// Counts requests, hits among them or not.
    pub fn requests(&mut self, now: Instant, count: u64) {
        self.tick(now);
        self.live.hour.count(TrafficCounts { requests: count, hits: 0 });
        self.changed |= count > 0;
    }

    /// Keeps a hit. It is no request of its own: [`requests`](Self::requests) counts that.
    pub fn hit(&mut self, now: Instant, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.tick(now);
        self.live.hour.count(TrafficCounts { requests: 0, hits: 1 });
        self.live.hit(HitRow::new(self.live.hour.total().hits, hit, rules));
        self.changed = true;
    }

    /// Keeps an alert.
    pub fn alert(&mut self, alert: &Alert, rules: &RuleSet) {
        self.live.alert(AlertRow::new(self.live.alert_count + 1, alert, rules));
        self.changed = true;
    }

    /// Keeps a notice of the run among the alerts: what would go to stderr would spoil the snapshot.
    pub fn notice(&mut self, notice: &str) {
        self.live.alert(AlertRow::notice(self.live.alert_count + 1, notice));
        self.changed = true;
    }

    /// Says how the logs stand now, all of them.
    pub fn logs(&mut self, logs: Vec<LogRow>) {
        self.live.logs(logs);
        self.changed = true;
    }

    /// Takes in a new grade of a hit.
    pub fn regrade(&mut self, hit: &ReportedHit<'_>, rules: &RuleSet) {
        self.live.regrade(HitRow::new(0, hit, rules));
        self.changed = true;
    }

    /// Takes what came from the terminal.
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

    /// Acts on a key; says what is asked of whoever runs the view.
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

    /// What it knows.
    #[cfg(test)]
    pub(super) fn snapshot(&self) -> &DashboardSnapshot {
        &self.live
    }

    /// Whether it looks other than when it was drawn last.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Draws it, to any size.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        self.changed = false;
        let since = self.frozen.as_ref().map(|frozen| self.live.hour.total().hits - frozen.hour.total().hits);
        let filter = self.view.filter.clone();
        let snapshot = self.frozen.as_deref().unwrap_or(&self.live);
        let shown = self.filtered.show(snapshot, &filter, self.view.order);
        paint::draw(&shown, &mut self.view, since, self.color, frame);
    }
}
