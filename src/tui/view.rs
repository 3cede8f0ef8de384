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
use super::top::{SortOrder, TopEntry};

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
    /// The latest hits of a client, a path or a rule: the panel that has these, and its name.
    Details(Panel, Box<str>),
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
    pub(super) focus: Panel,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    /// The display is frozen.
    pub(super) paused: bool,
    pub(super) order: SortOrder,
    cursors: [RowCursor; Panel::ALL.len()],
    /// The cursor of the open page.
    pub(super) opened: RowCursor,
    /// The first line of the page of logs.
    pub(super) logs_from: usize,
}

impl ViewState {
    /// The cursor of a panel.
    pub(super) fn cursor(&mut self, panel: Panel) -> &mut RowCursor {
        &mut self.cursors[panel as usize]
    }

    /// Handles a key; `items` are the rows of the current list.
    pub(super) fn key(&mut self, key: KeyEvent, items: &[PanelItem<'_>]) -> Option<TuiCommand> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'C') => Some(TuiCommand::Interrupt),
                KeyCode::Char('l' | 'L') => Some(TuiCommand::Redraw),
                _ => None,
            };
        }
        if self.typing {
            self.type_filter(key.code);
            return None;
        }
        match key.code {
            KeyCode::Char('q') => return Some(TuiCommand::Quit),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('/') => {
                self.typing = matches!(self.page, ScreenPage::Overview | ScreenPage::Details(..));
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
        None
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
            // The first panel follows the last.
            self.focus = Panel::ALL[(self.focus as usize + steps) % Panel::ALL.len()];
        }
    }

    fn open(&mut self, items: &[PanelItem<'_>]) {
        let (panel, cursor) = match self.page {
            ScreenPage::Overview => (self.focus, self.cursors[self.focus as usize]),
            // A hit of a path or a rule opens its client.
            ScreenPage::Details(Panel::Paths | Panel::Rules, _) => (Panel::Latest, self.opened),
            ScreenPage::Details(..) | ScreenPage::Logs | ScreenPage::Help => return,
        };
        let item = items.get(cursor.position(items));
        if let Some((panel, name)) = item.and_then(|item| item.subject(panel)) {
            self.page = ScreenPage::Details(panel, name);
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
            ScreenPage::Overview => &mut self.cursors[self.focus as usize],
            ScreenPage::Details(..) => &mut self.opened,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Panel {
    Answered,
    #[default]
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

    /// What Enter opens: a client, a path or a rule by its name, with the panel that has these.
    fn subject(&self, panel: Panel) -> Option<(Panel, Box<str>)> {
        let client = |name: &str| Some((Panel::Clients, name.into()));
        match (self, panel) {
            (Self::Entry(name, _), Panel::Paths | Panel::Rules) => Some((panel, (*name).into())),
            (Self::Entry(_, entry), _) => client(&entry.sample.client),
            (Self::Hit(row), _) => client(&row.client),
            (Self::Alert(row), _) => match &row.client {
                Some(name) => client(name),
                None => row.path.clone().map(|path| (Panel::Paths, path)),
            },
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
        if let Some(table) = self.tables.of(panel) {
            let sorted = table.sorted(self.order).into_iter();
            return sorted
                .map(|(name, entry)| PanelItem::Entry(name, entry))
                .collect();
        }
        if panel == Panel::Latest {
            return self.hits_with(|_| true);
        }
        let alerts = self.snapshot.alerts.iter().rev();
        alerts
            .filter(|row| contains(&row.text, self.filter))
            .map(|row| PanelItem::Alert(row))
            .collect()
    }

    /// The hits of a client, path or rule, latest first.
    pub(super) fn hits_of(&self, panel: Panel, name: &str) -> Vec<PanelItem<'p>> {
        self.hits_with(|row| match panel {
            Panel::Clients => &*row.client == name,
            Panel::Paths => &*row.path == name,
            _ => row.rule_ids().any(|id| id == name),
        })
    }

    fn hits_with(&self, is_wanted: impl Fn(&HitRow) -> bool) -> Vec<PanelItem<'p>> {
        let wanted = self.hits.iter().rev().filter(|row| is_wanted(row));
        wanted.map(|row| PanelItem::Hit(row)).collect()
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
        let is_filtered = !filter.is_empty();
        if !is_filtered {
            *self = Self::default();
        } else if self.filter != filter || self.version != snapshot.version {
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
            tables: if is_filtered {
                &self.tables
            } else {
                &snapshot.tables
            },
            hits: if is_filtered {
                &self.hits
            } else {
                &snapshot.hits
            },
            filter,
            order,
        }
    }
}
