//! The state of the view: the focused panel, the selected row, the filter, and the open page. And
//! the rows of each panel, selected from a snapshot: sorted, and filtered.
//!
//! A key changes the state or gives a [`TuiCommand`] for the caller. With a filter the tables are
//! recounted from the latest hits that match it, so that all panels show the same requests.

use std::collections::VecDeque;
use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::dashboard::{DashboardSnapshot, TopTables};
use super::row::{AlertRow, HitRow, contains};
use super::top::{SortOrder, TopEntry, TopTable};

/// The most characters of a filter.
const MAX_FILTER_LEN: usize = 64;

/// Rows that a page key moves by.
const PAGE_ROWS: isize = 10;

/// A command for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TuiCommand {
    /// `q`: end the run.
    Quit,
    /// Ctrl-C, which is not a signal in raw mode: end the run as SIGINT does.
    Interrupt,
    /// Ctrl-L: redraw the whole screen.
    Redraw,
}

/// The open page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum ScreenPage {
    /// All panels.
    #[default]
    Overview,
    /// The latest hits of a client, a path or a rule.
    Details(DetailSubject),
    /// Each log.
    Logs,
    /// The keys.
    Help,
}

/// The selected row of a list, and the first visible row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RowCursor {
    /// `None`: the first row, whichever it is.
    id: Option<u64>,
    /// The last position of the selected row.
    at: usize,
    first: usize,
}

impl RowCursor {
    /// The position of the selected row; its last position if it is gone.
    pub(super) fn position(&self, items: &[PanelItem<'_>]) -> usize {
        let index = self
            .id
            .and_then(|id| items.iter().position(|item| item.id() == id));
        match self.id {
            None => 0,
            Some(_) => index.unwrap_or(self.at).min(items.len().saturating_sub(1)),
        }
    }

    fn choose(&mut self, items: &[PanelItem<'_>], at: usize) {
        self.at = at.min(items.len().saturating_sub(1));
        // At the first row the cursor stays at the top, so that it shows new rows.
        self.id = items
            .get(self.at)
            .map(PanelItem::id)
            .filter(|_| self.at > 0);
    }

    /// The first of `rows` visible rows, so that the selected one is visible.
    pub(super) fn scroll(&mut self, items: &[PanelItem<'_>], rows: usize) -> usize {
        let at = self.position(items);
        let most = items.len().saturating_sub(rows);
        self.first = self
            .first
            .clamp((at + 1).saturating_sub(rows.max(1)), at)
            .min(most);
        self.first
    }
}

/// The state of the view.
#[derive(Debug, Clone, Default)]
pub(super) struct ViewState {
    pub(super) page: ScreenPage,
    pub(super) focus: Option<Panel>,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    pub(super) order: SortOrder,
    cursors: [RowCursor; Panel::ALL.len()],
    opened: RowCursor,
    /// The first line of the page of logs.
    pub(super) logs_from: usize,
}

/// The result of a key, besides changes of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    Nothing,
    Pause,
    Command(TuiCommand),
}

impl ViewState {
    /// The focused panel.
    pub(super) fn focus(&self) -> Panel {
        self.focus.unwrap_or(Panel::Clients)
    }

    /// The cursor of a panel.
    pub(super) fn cursor(&mut self, panel: Panel) -> &mut RowCursor {
        &mut self.cursors[panel as usize]
    }

    /// The cursor of the open page.
    pub(super) fn detail_cursor(&mut self) -> &mut RowCursor {
        &mut self.opened
    }

    /// Handles a key; `items` are the rows of the current list.
    pub(super) fn key(&mut self, key: KeyEvent, items: &[PanelItem<'_>]) -> KeyOutcome {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'C') => KeyOutcome::Command(TuiCommand::Interrupt),
                KeyCode::Char('l' | 'L') => KeyOutcome::Command(TuiCommand::Redraw),
                _ => KeyOutcome::Nothing,
            };
        }
        if self.typing {
            self.type_filter(key.code);
            return KeyOutcome::Nothing;
        }
        match key.code {
            KeyCode::Char('q') => return KeyOutcome::Command(TuiCommand::Quit),
            KeyCode::Char('p' | ' ') => return KeyOutcome::Pause,
            KeyCode::Char('/') => {
                self.typing = matches!(self.page, ScreenPage::Overview | ScreenPage::Details(_));
            }
            KeyCode::Char('?') => self.turn_to(ScreenPage::Help),
            KeyCode::Char('l') => self.turn_to(ScreenPage::Logs),
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Esc => self.go_back(),
            KeyCode::Tab | KeyCode::Right => self.focus_on(1),
            KeyCode::BackTab | KeyCode::Left => self.focus_on(Panel::ALL.len() - 1),
            KeyCode::Enter => self.open(items),
            code => self.move_by(code, items),
        }
        KeyOutcome::Nothing
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) if !c.is_control() && self.filter.chars().count() < MAX_FILTER_LEN => {
                self.filter.push(c);
            }
            _ => {}
        }
    }

    /// Opens a page, or closes it when it is open.
    fn turn_to(&mut self, page: ScreenPage) {
        self.page = if self.page == page {
            ScreenPage::Overview
        } else {
            page
        };
        self.logs_from = 0;
    }

    /// Closes the open page, or clears the filter.
    fn go_back(&mut self) {
        if self.page == ScreenPage::Overview {
            self.filter.clear();
        } else {
            self.page = ScreenPage::Overview;
        }
    }

    fn focus_on(&mut self, steps: usize) {
        if self.page == ScreenPage::Overview {
            self.focus = Some(self.focus().after(steps));
        }
    }

    fn open(&mut self, items: &[PanelItem<'_>]) {
        let panel = match self.page {
            ScreenPage::Overview => self.focus(),
            // A hit of a path or a rule opens its client.
            ScreenPage::Details(DetailSubject::Path(_) | DetailSubject::Rule(_)) => Panel::Latest,
            ScreenPage::Details(DetailSubject::Client(_)) | ScreenPage::Logs | ScreenPage::Help => {
                return;
            }
        };
        let at = if self.page == ScreenPage::Overview {
            self.cursor(panel).position(items)
        } else {
            self.opened.position(items)
        };
        if let Some(subject) = items.get(at).and_then(|item| item.subject(panel)) {
            self.page = ScreenPage::Details(subject);
            self.opened = RowCursor::default();
        }
    }

    fn move_by(&mut self, code: KeyCode, items: &[PanelItem<'_>]) {
        let rows = match code {
            KeyCode::Up | KeyCode::Char('k') => -1,
            KeyCode::Down | KeyCode::Char('j') => 1,
            KeyCode::PageUp => -PAGE_ROWS,
            KeyCode::PageDown => PAGE_ROWS,
            KeyCode::Home | KeyCode::Char('g') => isize::MIN,
            KeyCode::End | KeyCode::Char('G') => isize::MAX,
            _ => return,
        };
        let cursor = match self.page {
            ScreenPage::Overview => &mut self.cursors[self.focus() as usize],
            ScreenPage::Details(_) => &mut self.opened,
            ScreenPage::Logs => {
                self.logs_from = self.logs_from.saturating_add_signed(rows);
                return;
            }
            ScreenPage::Help => return,
        };
        let at = cursor.position(items).saturating_add_signed(rows);
        cursor.choose(items, at);
    }
}

/// A list on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Answered,
    Clients,
    Paths,
    Rules,
    Latest,
    Alerts,
}

impl Panel {
    /// In the order of the screen.
    pub(super) const ALL: [Self; 6] = [
        Self::Answered,
        Self::Clients,
        Self::Paths,
        Self::Rules,
        Self::Latest,
        Self::Alerts,
    ];

    /// The panel `steps` after this one; the first follows the last.
    pub(super) fn after(self, steps: usize) -> Self {
        Self::ALL[(self as usize + steps) % Self::ALL.len()]
    }
}

/// The client, path or rule of a detail page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DetailSubject {
    Client(Box<str>),
    Path(Box<str>),
    Rule(Box<str>),
}

impl DetailSubject {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Client(name) | Self::Path(name) | Self::Rule(name) => name,
        }
    }

    /// Its entry in the tables.
    pub(super) fn entry<'p>(&self, tables: &'p TopTables) -> Option<&'p TopEntry> {
        match self {
            Self::Client(name) => tables.clients.get(name),
            Self::Path(name) => tables.paths.get(name),
            Self::Rule(name) => tables.rules.get(name),
        }
    }

    fn has(&self, row: &HitRow) -> bool {
        match self {
            Self::Client(name) => row.client == *name,
            Self::Path(name) => row.path == *name,
            Self::Rule(name) => row.rule_ids().any(|id| id == &**name),
        }
    }
}

/// One row of a panel.
#[derive(Debug, Clone, Copy)]
pub(super) enum PanelItem<'p> {
    Entry(&'p str, &'p TopEntry),
    Hit(&'p HitRow),
    Alert(&'p AlertRow),
}

impl PanelItem<'_> {
    /// Identifies the row in its panel, in every snapshot of a run.
    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Entry(_, entry) => entry.id,
            Self::Hit(row) => row.number,
            Self::Alert(row) => row.number,
        }
    }

    /// What Enter opens.
    pub(super) fn subject(&self, panel: Panel) -> Option<DetailSubject> {
        match (self, panel) {
            (Self::Entry(name, _), Panel::Paths) => Some(DetailSubject::Path((*name).into())),
            (Self::Entry(name, _), Panel::Rules) => Some(DetailSubject::Rule((*name).into())),
            (Self::Entry(_, entry), _) => Some(DetailSubject::Client(entry.sample.client.clone())),
            (Self::Hit(row), _) => Some(DetailSubject::Client(row.client.clone())),
            (Self::Alert(row), _) => {
                let path = || row.path.clone().map(DetailSubject::Path);
                row.client.clone().map(DetailSubject::Client).or_else(path)
            }
        }
    }
}

/// A filtered snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct VisibleRows<'p> {
    pub(super) snapshot: &'p DashboardSnapshot,
    /// The tables of the snapshot, or of the filter.
    pub(super) tables: &'p TopTables,
    /// The hits that pass the filter, oldest first.
    pub(super) hits: &'p VecDeque<Arc<HitRow>>,
    pub(super) filter: &'p str,
    pub(super) order: SortOrder,
}

impl<'p> VisibleRows<'p> {
    /// The rows of a panel, sorted.
    pub(super) fn items(&self, panel: Panel) -> Vec<PanelItem<'p>> {
        match panel {
            Panel::Answered => self.entries(&self.tables.answered),
            Panel::Clients => self.entries(&self.tables.clients),
            Panel::Paths => self.entries(&self.tables.paths),
            Panel::Rules => self.entries(&self.tables.rules),
            Panel::Latest => self
                .hits
                .iter()
                .rev()
                .map(|row| PanelItem::Hit(row))
                .collect(),
            Panel::Alerts => self.alerts(),
        }
    }

    fn entries(&self, top: &'p TopTable) -> Vec<PanelItem<'p>> {
        top.sorted(self.order)
            .into_iter()
            .map(|(name, entry)| PanelItem::Entry(name, entry))
            .collect()
    }

    fn alerts(&self) -> Vec<PanelItem<'p>> {
        let matching = self
            .snapshot
            .alerts
            .iter()
            .rev()
            .filter(|row| contains(&row.text, self.filter));
        matching.map(|row| PanelItem::Alert(row)).collect()
    }

    /// The hits of a client, path or rule, latest first.
    pub(super) fn hits_of(&self, subject: &DetailSubject) -> Vec<PanelItem<'p>> {
        self.hits
            .iter()
            .rev()
            .filter(|row| subject.has(row))
            .map(|row| PanelItem::Hit(row))
            .collect()
    }
}

/// The hits that match a filter, and their tables. Recomputed when used after a change.
#[derive(Debug, Default)]
pub(super) struct FilterCache {
    filter: String,
    version: u64,
    hits: VecDeque<Arc<HitRow>>,
    tables: TopTables,
}

impl FilterCache {
    /// A filtered snapshot.
    pub(super) fn show<'p>(
        &'p mut self,
        snapshot: &'p DashboardSnapshot,
        filter: &'p str,
        order: SortOrder,
    ) -> VisibleRows<'p> {
        if filter.is_empty() {
            *self = Self::default();
            return VisibleRows {
                snapshot,
                tables: &snapshot.tables,
                hits: &snapshot.hits,
                filter,
                order,
            };
        }
        if self.filter != filter || self.version != snapshot.version {
            self.hits = snapshot
                .hits
                .iter()
                .filter(|row| row.has(filter))
                .cloned()
                .collect();
            self.tables = TopTables::default();
            self.hits.iter().for_each(|row| self.tables.count(row));
            self.version = snapshot.version;
            filter.clone_into(&mut self.filter);
        }
        VisibleRows {
            snapshot,
            tables: &self.tables,
            hits: &self.hits,
            filter,
            order,
        }
    }
}
