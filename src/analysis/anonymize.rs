//! What of a finished report is told: who asked as it is or hidden, secrets masked or as they were logged.
//!
//! The last step before any output, behind all that is decided: context, what is new, whom one could block. Nothing is hidden
//! in a tally or a state, which are no outputs. Addresses in texts are hidden too; what names no address, as a host does or the
//! path of a log, is not looked at.

mod live;
mod room;

use std::cmp::Reverse;
use std::collections::HashMap;

pub use self::live::RedactionBuffers;
use self::room::RedactionMap;
use super::block_candidates::BlockDecision;
use super::model::{FloodRow, Report, Row, RowKey, SampleRequest};
use super::novelty::{NewItem, display_key};
use crate::analysis::seen::NoveltyKind;
use crate::client::Anonymizer;
use crate::redact::mask::unredacted;

/// How much is told.
#[derive(Debug, Clone)]
pub struct Privacy {
    /// How clients are hidden; `None` tells them.
    veil: Option<Anonymizer>,
    /// Whether secrets are masked.
    redact: bool,
}

impl Default for Privacy {
    /// Tells clients and masks secrets.
    fn default() -> Self {
        Self { veil: None, redact: true }
    }
}

/// Where a text stands: an agent has versions that look like addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextKind {
    Text,
    Agent,
}

impl Privacy {
    /// Hides clients behind a veil, if there is one, and masks secrets, if that is wanted.
    #[must_use]
    pub fn new(veil: Option<Anonymizer>, redact: bool) -> Self {
        Self { veil, redact }
    }

    /// Whether it is told as it is, secrets masked.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.veil.is_none() && self.redact
    }

    /// Whether clients are hidden.
    #[must_use]
    pub fn hides_clients(&self) -> bool {
        self.veil.is_some()
    }

    /// What a reader must know of a report whose clients are hidden.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let how = match self.veil.as_ref()? {
            Anonymizer::Truncate => "of clients only the networks are told",
            Anonymizer::Key(_) => "clients have pseudonyms",
        };
        Some(format!("As --anonymize asks, {how}: this cannot be merged with other reports, and says of nobody that one could block it."))
    }

    /// Gives the report as it is told, and what is new in it, to `use_it`.
    pub fn with_redacted<R>(&self, report: &Report<'_>, news: &[NewItem<'_>], use_it: impl FnOnce(&Report<'_>, &[NewItem<'_>]) -> R) -> R {
        if self.is_default() {
            return use_it(report, news);
        }
        let room = self.redaction_map(report, news);
        use_it(&self.report(report, &room), &self.news(news, report, &room))
    }

    /// The report as it is told, with rows in an order that gives no address away. One without clients has no evidence and
    /// nobody to block.
    fn report<'r>(&self, report: &Report<'r>, room: &'r RedactionMap) -> Report<'r> {
        let mut told = report.clone();
        room::visit(&mut told, &mut |text, place| *text = room.text(text, place), &mut |client| *client = room.client(*client));
        if let Some(veil) = &self.veil {
            told.hidden = Some(veil.as_str());
            told.blocks = told.blocks.map(|blocks| vec![BlockDecision::HIDDEN; blocks.len()]);
            told.evidence = None;
            for rows in [&mut told.answered, &mut told.uncertain, &mut told.pairs, &mut told.clients] {
                sort_rows(rows);
            }
            let order = |flood: &FloodRow<'_>| (Reverse((flood.severity, flood.requests)), flood.rule);
            told.floods.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| (a.client, a.path).cmp(&(b.client, b.path))));
        }
        told
    }

    /// What is needed to tell a report and what is new in it.
    fn redaction_map(&self, report: &Report<'_>, news: &[NewItem<'_>]) -> RedactionMap {
        let mut room = RedactionMap::default();
        if self.is_default() {
            return room;
        }
        let mut report = report.clone();
        // Nothing is changed: each is only looked at.
        let (mut texts, mut clients) = (Vec::new(), Vec::new());
        room::visit(&mut report, &mut |text, place| texts.push((*text, place)), &mut |client| clients.push(*client));
        let of_news =
            news.iter().flat_map(|one| [(one.sample.target, TextKind::Text), (one.sample.user_agent.unwrap_or_default(), TextKind::Agent)]);
        for (text, place) in texts.into_iter().chain(of_news) {
            room.insert_text(text, place, || self.text(text, place));
        }
        if let Some(veil) = &self.veil {
            for client in clients {
                room.insert_client(client, || veil.anonymize(client));
            }
        }
        room
    }

    /// What is new in a report, as it is told.
    fn news<'r>(&self, news: &[NewItem<'r>], report: &Report<'r>, room: &'r RedactionMap) -> Vec<NewItem<'r>> {
        let mut keys: HashMap<(NoveltyKind, String), String> = HashMap::new();
        for (kind, rows) in
            [(NoveltyKind::Answer, &report.answered), (NoveltyKind::Path, &report.paths), (NoveltyKind::Client, &report.clients)]
        {
            for row in rows {
                let key = |key| display_key(report.rule_set, key);
                keys.entry((kind, key(row.key))).or_insert_with(|| key(room.key(row.key)));
            }
        }
        let told = |one: &NewItem<'r>| {
            let mut told = one.clone();
            room::visit_sample(&mut told.sample, &mut |text, place| *text = room.text(text, place));
            if let Some(key) = keys.get(&(one.kind, one.key.clone())) {
                told.key.clone_from(key);
            }
            told
        };
        let mut told: Vec<NewItem<'r>> = news.iter().map(told).collect();
        if self.hides_clients() {
            told.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        }
        told
    }

    /// The text as it is told.
    fn text(&self, text: &[u8], place: TextKind) -> Vec<u8> {
        // What there is nothing of has nothing to show.
        if text.is_empty() {
            return Vec::new();
        }
        let hidden = match &self.veil {
            Some(veil) => veil.anonymize_text(text, place == TextKind::Agent).into_owned(),
            None => text.to_vec(),
        };
        if self.redact { hidden } else { unredacted(&hidden) }
    }
}

/// The order of what is new: by its kind, then as rows are.
fn sort_key<'n>(one: &'n NewItem<'_>) -> (NoveltyKind, Reverse<(crate::finding::Severity, u64)>, &'n str) {
    (one.kind, Reverse((one.severity, one.hits)), &one.key)
}

/// Brings rows into the order of what is told of them: that of what is not told would say something of it.
fn sort_rows(rows: &mut [Row<'_>]) {
    rows.sort_by(|a, b| {
        let order = |row: &Row<'_>| Reverse((row.answered > 0, row.severity, row.answered, row.hits));
        order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
    });
}

#[cfg(test)]
mod tests;
