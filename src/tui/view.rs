//! Where on the screen we are: the panel and row that keys act on, the filter, and which page is open.
//!
//! Turns keys into changes of itself, or into a [`Command`] for whoever runs the view. Counts nothing.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::shown::{Item, Panel, Subject};
use super::top::Order;

/// Characters of a filter.
const MOST_FILTER: usize = 64;

/// Rows that a page key moves by.
const PAGE: usize = 10;

/// What a key asks of whoever runs the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// `q`: end the run.
    Quit,
    /// Ctrl-C, which is no signal while the terminal is in raw mode: end the run as SIGINT does.
    Interrupt,
    /// Ctrl-L: something else wrote on the terminal; draw all of it anew.
    Redraw,
}

/// What fills the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Page {
    /// All panels.
    #[default]
    Overview,
    /// The latest hits of a client, a path or a rule.
    Opened(Subject),
    /// Each log.
    Logs,
    /// The keys.
    Help,
}

/// The chosen row of a list, and the first one that is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    /// `None` is the first row, whichever it is.
    id: Option<u64>,
    /// Where the chosen row was last.
    at: usize,
    first: usize,
}

impl Mark {
    /// Where the chosen row is now; where it was, when it is gone.
    pub(super) fn position(&self, items: &[Item<'_>]) -> usize {
        let found = self.id.and_then(|id| items.iter().position(|item| item.id() == id));
        match self.id {
            None => 0,
            Some(_) => found.unwrap_or(self.at).min(items.len().saturating_sub(1)),
        }
    }

    fn choose(&mut self, items: &[Item<'_>], at: usize) {
        self.at = at.min(items.len().saturating_sub(1));
        // The first row is a place, not a thing: whoever stands there sees what comes.
        self.id = items.get(self.at).map(Item::id).filter(|_| self.at > 0);
    }

    /// The first of `rows` rows to show, so that the chosen one is among them.
    pub(super) fn scroll(&mut self, items: &[Item<'_>], rows: usize) -> usize {
        let at = self.position(items);
        let most = items.len().saturating_sub(rows);
        self.first = self.first.clamp((at + 1).saturating_sub(rows.max(1)), at).min(most);
        self.first
    }
}

/// Where we are.
#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) page: Page,
    pub(super) focus: Option<Panel>,
    pub(super) filter: String,
    /// The filter is being typed.
    pub(super) typing: bool,
    pub(super) order: Order,
    marks: [Mark; Panel::ALL.len()],
    opened: Mark,
    /// The first line of the page of logs.
    pub(super) logs_from: usize,
}

/// What is to be done about a key, besides what the view did itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Pause,
    Command(Command),
}

/// How far to move.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Up(usize),
    Down(usize),
}

impl View {
    /// The panel that keys act on.
    pub(super) fn focus(&self) -> Panel {
        self.focus.unwrap_or(Panel::Clients)
    }

    /// The mark of a panel.
    pub(super) fn mark(&mut self, panel: Panel) -> &mut Mark {
        &mut self.marks[panel as usize]
    }

    /// The mark of the page that is open.
    pub(super) fn opened_mark(&mut self) -> &mut Mark {
        &mut self.opened
    }

    /// Acts on a key; `items` are the rows that it may move in.
    pub(super) fn key(&mut self, key: KeyEvent, items: &[Item<'_>]) -> Asked {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'C') => Asked::Command(Command::Interrupt),
                KeyCode::Char('l' | 'L') => Asked::Command(Command::Redraw),
                _ => Asked::Nothing,
            };
        }
        if self.typing {
            self.type_filter(key.code);
            return Asked::Nothing;
        }
        match key.code {
            KeyCode::Char('q') => return Asked::Command(Command::Quit),
            KeyCode::Char('p' | ' ') => return Asked::Pause,
            KeyCode::Char('/') => self.typing = matches!(self.page, Page::Overview | Page::Opened(_)),
            KeyCode::Char('?') => self.turn_to(Page::Help),
            KeyCode::Char('l') => self.turn_to(Page::Logs),
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Esc => self.go_back(),
            KeyCode::Tab | KeyCode::Right => self.focus_on(1),
            KeyCode::BackTab | KeyCode::Left => self.focus_on(Panel::ALL.len() - 1),
            KeyCode::Enter => self.open(items),
            code => self.move_by(code, items),
        }
        Asked::Nothing
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(c) if !c.is_control() && self.filter.chars().count() < MOST_FILTER => self.filter.push(c),
            _ => {}
        }
    }

    /// Opens a page, or closes it when it is open.
    fn turn_to(&mut self, page: Page) {
        self.page = if self.page == page { Page::Overview } else { page };
        self.logs_from = 0;
    }

    /// Out of the page that is open, or out of the filter.
    fn go_back(&mut self) {
        if self.page == Page::Overview {
            self.filter.clear();
        } else {
            self.page = Page::Overview;
        }
    }

    fn focus_on(&mut self, places: usize) {
        if self.page == Page::Overview {
            self.focus = Some(self.focus().after(places));
        }
    }

    fn open(&mut self, items: &[Item<'_>]) {
        let panel = match self.page {
            Page::Overview => self.focus(),
            // A request of a path or a rule leads on to who asked.
            Page::Opened(Subject::Path(_) | Subject::Rule(_)) => Panel::Latest,
            Page::Opened(Subject::Client(_)) | Page::Logs | Page::Help => return,
        };
        let at = if self.page == Page::Overview { self.mark(panel).position(items) } else { self.opened.position(items) };
        if let Some(subject) = items.get(at).and_then(|item| item.subject(panel)) {
            self.page = Page::Opened(subject);
            self.opened = Mark::default();
        }
    }

    fn move_by(&mut self, code: KeyCode, items: &[Item<'_>]) {
        let step = match code {
            KeyCode::Up | KeyCode::Char('k') => Step::Up(1),
            KeyCode::Down | KeyCode::Char('j') => Step::Down(1),
            KeyCode::PageUp => Step::Up(PAGE),
            KeyCode::PageDown => Step::Down(PAGE),
            KeyCode::Home | KeyCode::Char('g') => Step::Up(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => Step::Down(usize::MAX),
            _ => return,
        };
        let stepped = |at: usize| match step {
            Step::Up(rows) => at.saturating_sub(rows),
            Step::Down(rows) => at.saturating_add(rows),
        };
        let mark = match self.page {
            Page::Overview => &mut self.marks[self.focus() as usize],
            Page::Opened(_) => &mut self.opened,
            Page::Logs => {
                self.logs_from = stepped(self.logs_from);
                return;
            }
            Page::Help => return,
        };
        let at = stepped(mark.position(items));
        mark.choose(items, at);
    }
}
