//! Selects the rows of each panel from a snapshot: sorted, and filtered.
//!
//! With a filter the tables are recounted from the latest hits that match it, so that all panels show the same requests.

use std::collections::VecDeque;
use std::sync::Arc;

use super::dashboard::{DashboardSnapshot, TopTables};
use super::row::{AlertRow, HitRow, contains};
use super::top::{SortOrder, TopEntry, TopTable};

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
    pub(super) const ALL: [Self; 6] = [Self::Answered, Self::Clients, Self::Paths, Self::Rules, Self::Latest, Self::Alerts];

    /// The panel `places` after this one; the first follows the last.
    pub(super) fn after(self, places: usize) -> Self {
        Self::ALL[(self as usize + places) % Self::ALL.len()]
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
            Panel::Latest => self.hits.iter().rev().map(|row| PanelItem::Hit(row)).collect(),
            Panel::Alerts => self.alerts(),
        }
    }

    fn entries(&self, top: &'p TopTable) -> Vec<PanelItem<'p>> {
        top.sorted(self.order).into_iter().map(|(name, entry)| PanelItem::Entry(name, entry)).collect()
    }

    fn alerts(&self) -> Vec<PanelItem<'p>> {
        let matching = self.snapshot.alerts.iter().rev().filter(|row| contains(&row.text, self.filter));
        matching.map(|row| PanelItem::Alert(row)).collect()
    }

    /// The hits of a client, path or rule, latest first.
    pub(super) fn hits_of(&self, subject: &DetailSubject) -> Vec<PanelItem<'p>> {
        self.hits.iter().rev().filter(|row| subject.has(row)).map(|row| PanelItem::Hit(row)).collect()
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
    pub(super) fn show<'p>(&'p mut self, snapshot: &'p DashboardSnapshot, filter: &'p str, order: SortOrder) -> VisibleRows<'p> {
        if filter.is_empty() {
            *self = Self::default();
            return VisibleRows { snapshot, tables: &snapshot.tables, hits: &snapshot.hits, filter, order };
        }
        if self.filter != filter || self.version != snapshot.version {
            self.hits = snapshot.hits.iter().filter(|row| row.has(filter)).cloned().collect();
            self.tables = TopTables::default();
            self.hits.iter().for_each(|row| self.tables.count(row));
            self.version = snapshot.version;
            filter.clone_into(&mut self.filter);
        }
        VisibleRows { snapshot, tables: &self.tables, hits: &self.hits, filter, order }
    }
}
