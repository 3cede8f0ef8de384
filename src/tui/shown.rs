//! What of a picture is shown: the rows of each panel, sorted, and only those that the filter lets through.
//!
//! With a filter the tables are counted anew from the latest hits that match, so that all panels speak of the same
//! requests. Lists rows; draws nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use super::alarm::AlarmRow;
use super::picture::{Picture, Tables};
use super::row::{HitRow, contains};
use super::top::{Entry, Order, Top};

/// A part of the screen that lists something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Panel {
    Answered,
    Clients,
    Paths,
    Rules,
    Latest,
    AlertDetector,
}

impl Panel {
    /// In the order of the screen.
    pub(super) const ALL: [Self; 6] = [Self::Answered, Self::Clients, Self::Paths, Self::Rules, Self::Latest, Self::AlertDetector];

    /// The panel so many places on, in a circle.
    pub(super) fn after(self, places: usize) -> Self {
        Self::ALL[(self as usize + places) % Self::ALL.len()]
    }
}

/// What a row opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Subject {
    Client(Box<str>),
    Path(Box<str>),
    Rule(Box<str>),
}

impl Subject {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Client(name) | Self::Path(name) | Self::Rule(name) => name,
        }
    }

    /// What is known of it.
    pub(super) fn entry<'p>(&self, tables: &'p Tables) -> Option<&'p Entry> {
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
pub(super) enum Item<'p> {
    Entry(&'p str, &'p Entry),
    Hit(&'p HitRow),
    Alarm(&'p AlarmRow),
}

impl Item<'_> {
    /// Names the row among the others of its panel, in every picture of a run.
    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Entry(_, entry) => entry.id,
            Self::Hit(row) => row.number,
            Self::Alarm(row) => row.number,
        }
    }

    /// What Enter opens.
    pub(super) fn subject(&self, panel: Panel) -> Option<Subject> {
        match (self, panel) {
            (Self::Entry(name, _), Panel::Paths) => Some(Subject::Path((*name).into())),
            (Self::Entry(name, _), Panel::Rules) => Some(Subject::Rule((*name).into())),
            (Self::Entry(_, entry), _) => Some(Subject::Client(entry.sample.client.clone())),
            (Self::Hit(row), _) => Some(Subject::Client(row.client.clone())),
            (Self::Alarm(row), _) => {
                let path = || row.path.clone().map(Subject::Path);
                row.client.clone().map(Subject::Client).or_else(path)
            }
        }
    }
}

/// A picture through a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'p> {
    pub(super) picture: &'p Picture,
    /// Those of the picture, or those of the filter.
    pub(super) tables: &'p Tables,
    /// The hits that are kept, oldest first: all, or those that the filter lets through.
    pub(super) hits: &'p VecDeque<Arc<HitRow>>,
    pub(super) filter: &'p str,
    pub(super) order: Order,
}

impl<'p> Shown<'p> {
    /// The rows of a panel, in their order.
    pub(super) fn items(&self, panel: Panel) -> Vec<Item<'p>> {
        match panel {
            Panel::Answered => self.entries(&self.tables.answered),
            Panel::Clients => self.entries(&self.tables.clients),
            Panel::Paths => self.entries(&self.tables.paths),
            Panel::Rules => self.entries(&self.tables.rules),
            Panel::Latest => self.hits.iter().rev().map(|row| Item::Hit(row)).collect(),
            Panel::AlertDetector => self.alarms(),
        }
    }

    fn entries(&self, top: &'p Top) -> Vec<Item<'p>> {
        top.sorted(self.order).into_iter().map(|(name, entry)| Item::Entry(name, entry)).collect()
    }

    fn alarms(&self) -> Vec<Item<'p>> {
        let matching = self.picture.alarms.iter().rev().filter(|row| contains(&row.text, self.filter));
        matching.map(|row| Item::Alarm(row)).collect()
    }

    /// The latest hits of something, latest first.
    pub(super) fn hits_of(&self, subject: &Subject) -> Vec<Item<'p>> {
        self.hits.iter().rev().filter(|row| subject.has(row)).map(|row| Item::Hit(row)).collect()
    }
}

/// The hits that match a filter, and their tables: made when they are asked for and something changed.
#[derive(Debug, Default)]
pub(super) struct Filtered {
    filter: String,
    version: u64,
    hits: VecDeque<Arc<HitRow>>,
    tables: Tables,
}

impl Filtered {
    /// A picture through a filter.
    pub(super) fn show<'p>(&'p mut self, picture: &'p Picture, filter: &'p str, order: Order) -> Shown<'p> {
        if filter.is_empty() {
            *self = Self::default();
            return Shown { picture, tables: &picture.tables, hits: &picture.hits, filter, order };
        }
        if self.filter != filter || self.version != picture.version {
            self.hits = picture.hits.iter().filter(|row| row.has(filter)).cloned().collect();
            self.tables = Tables::default();
            self.hits.iter().for_each(|row| self.tables.count(row));
            self.version = picture.version;
            filter.clone_into(&mut self.filter);
        }
        Shown { picture, tables: &self.tables, hits: &self.hits, filter, order }
    }
}
