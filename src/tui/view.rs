//! The state of the view: the focused panel, the selected row, the filter, and the open page.
//!
//! A key changes the state or gives a [`TuiCommand`] for the caller.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::top::SortOrder;
use super::visible_rows::{DetailSubject, Panel, PanelItem};

/// The most characters of a filter.
const MAX_FILTER: usize = 64;

/// Rows that a page key moves by.
const PAGE: usize = 10;

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
        let found = self.id.and_then(|id| items.iter().position(|item| item.id() == id));
        match self.id {
            None => 0,
            Some(_) => found.unwrap_or(self.at).min(items.len().saturating_sub(1)),
        }
    }

    fn choose(&mut self, items: &[PanelItem<'_>], at: usize) {
        self.at = at.min(items.len().saturating_sub(1));
        // At the first row the cursor stays at the top, so that it shows new rows.
        self.id = items.get(self.at).map(PanelItem::id).filter(|_| self.at > 0);
    }

    /// The first of `rows` visible rows, so that the selected one is visible.
    pub(super) fn scroll(&mut self, items: &[PanelItem<'_>], rows: usize) -> usize {
        let at = self.position(items);
        let most = items.len().saturating_sub(rows);
        self.first = self.first.clamp((at + 1).saturating_sub(rows.max(1)), at).min(most);
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

/// How far to move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Movement {
    Up(usize),
    Down(usize),
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
            KeyCode::Char('/') => self.typing = matches!(self.page, ScreenPage::Overview | ScreenPage::Details(_)),
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
            KeyCode::Char(c) if !c.is_control() && self.filter.chars().count() < MAX_FILTER => self.filter.push(c),
            _ => {}
        }
    }

    /// Opens a page, or closes it when it is open.
    fn turn_to(&mut self, page: ScreenPage) {
        self.page = if self.page == page { ScreenPage::Overview } else { page };
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

    fn focus_on(&mut self, places: usize) {
        if self.page == ScreenPage::Overview {
            self.focus = Some(self.focus().after(places));
        }
    }

    fn open(&mut self, items: &[PanelItem<'_>]) {
        let panel = match self.page {
            ScreenPage::Overview => self.focus(),
            // A hit of a path or a rule opens its client.
            ScreenPage::Details(DetailSubject::Path(_) | DetailSubject::Rule(_)) => Panel::Latest,
            ScreenPage::Details(DetailSubject::Client(_)) | ScreenPage::Logs | ScreenPage::Help => return,
        };
        let at = if self.page == ScreenPage::Overview { self.cursor(panel).position(items) } else { self.opened.position(items) };
        if let Some(subject) = items.get(at).and_then(|item| item.subject(panel)) {
            self.page = ScreenPage::Details(subject);
            self.opened = RowCursor::default();
        }
    }

    fn move_by(&mut self, code: KeyCode, items: &[PanelItem<'_>]) {
        let step = match code {
            KeyCode::Up | KeyCode::Char('k') => Movement::Up(1),
            KeyCode::Down | KeyCode::Char('j') => Movement::Down(1),
            KeyCode::PageUp => Movement::Up(PAGE),
            KeyCode::PageDown => Movement::Down(PAGE),
            KeyCode::Home | KeyCode::Char('g') => Movement::Up(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => Movement::Down(usize::MAX),
            _ => return,
        };
        let stepped = |at: usize| match step {
            Movement::Up(rows) => at.saturating_sub(rows),
            Movement::Down(rows) => at.saturating_add(rows),
        };
        let cursor = match self.page {
            ScreenPage::Overview => &mut self.cursors[self.focus() as usize],
            ScreenPage::Details(_) => &mut self.opened,
            ScreenPage::Logs => {
                self.logs_from = stepped(self.logs_from);
                return;
            }
            ScreenPage::Help => return,
        };
        let at = stepped(cursor.position(items));
        cursor.choose(items, at);
    }
}
