//! Counts hits by class and outcome, for metrics: over one report, and over all runs with one
//! state.
//!
//! Each hit counts once, in the class of its most severe rule. Neither clients nor paths are
//! counted.

use std::collections::BTreeMap;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};

use super::hit::LiveHit;
use super::labels;
use super::model::ClassHits;
use super::rows::RowItem;
use crate::log::finding::RuleId;
use crate::log::log_entry::Outcome;
use crate::rules::RuleSet;

/// The hits of each class that has one, sorted by class.
pub(crate) fn class_hits<'a>(rules: &'a RuleSet, items: &[RowItem<'_>]) -> Vec<ClassHits<'a>> {
    let mut classes: HashMap<&str, ClassHits<'a>> = HashMap::default();
    for item in items {
        let class = class_of(rules, item.rules);
        let sum = classes.entry(class).or_insert(ClassHits {
            class,
            outcomes: [0; 8],
            answered: 0,
        });
        let hits = item.view.cell.hits;
        sum.outcomes[item.outcome as usize] += hits;
        sum.answered += if item.answered { hits } else { 0 };
    }
    let mut classes: Vec<_> = classes.into_values().collect();
    classes.sort_unstable_by_key(|hits| hits.class);
    classes
}

/// The class of the most severe rule, the first of several.
fn class_of<'a>(rules: &'a RuleSet, ids: &[RuleId]) -> &'a str {
    labels::worst(rules, ids).map_or("", |rule| &rule.class)
}

/// Counts over all runs with one state. They only grow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricCounters {
    /// When counting began, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Lines that were read.
    pub lines: u64,
    /// Lines that no format matches.
    pub unparsed: u64,
    /// The hits by class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, ClassCounter>,
}

/// The hits of one class over all runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassCounter {
    /// Hits by the name of the outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Hits with a distinct answer.
    pub answered: u64,
}

impl MetricCounters {
    /// Whether nothing was counted.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Begins to count, unless an earlier run did. `now` is in seconds since 1970.
    pub(crate) fn start(&mut self, now: u64) {
        self.since.get_or_insert(now);
    }

    /// Adds lines.
    pub(crate) fn add_lines(&mut self, lines: u64, unparsed: u64) {
        self.lines = self.lines.saturating_add(lines);
        self.unparsed = self.unparsed.saturating_add(unparsed);
    }

    /// Adds the hits of a report.
    pub(crate) fn add_report(&mut self, classes: &[ClassHits<'_>]) {
        for hits in classes {
            let counter = self.class(hits.class);
            counter.answered = counter.answered.saturating_add(hits.answered);
            for (outcome, &count) in Outcome::ALL
                .into_iter()
                .zip(&hits.outcomes)
                .filter(|(_, count)| **count > 0)
            {
                counter.add(outcome, count);
            }
        }
    }

    /// Adds a live hit. One that is reported again because its grade changed counts only as
    /// answered, if it is now; a counter never takes back what it counted.
    pub(crate) fn add_live(&mut self, live: &LiveHit<'_>, rules: &RuleSet) {
        let counter = self.class(class_of(rules, live.hit.rules));
        if live.change.is_none() {
            counter.add(live.hit.outcome, 1);
        }
        counter.answered += u64::from(live.answered);
    }

    fn class(&mut self, class: &str) -> &mut ClassCounter {
        self.classes.entry(class.to_owned()).or_default()
    }
}

impl ClassCounter {
    fn add(&mut self, outcome: Outcome, count: u64) {
        let sum = self
            .outcomes
            .entry(outcome.as_str().to_owned())
            .or_default();
        *sum = sum.saturating_add(count);
    }
}
