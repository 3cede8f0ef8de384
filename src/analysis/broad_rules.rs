//! Rules that match most lines of an input, in sentences: a rule that is too broad hides what others find.
//!
//! Counts what was tallied, and judges no rule: a log that holds nothing but an attack is told in the same words.

use std::collections::HashMap;

use super::build::{LogAnalysis, ReportInput};
use super::model::InputSummary;
use crate::number::grouped;

/// An input of fewer lines says nothing of a rule: a few requests of one scanner are half of it.
const LINES: u64 = 100;
/// One line in so many: on servers that were read by hand, one in ten is the most that any rule matches, but for floods.
const SHARE: u64 = 2;
/// Sentences at most: where everything is an attack, many rules match most lines.
const MOST: usize = 3;

/// A sentence for each such rule and input, that of most hits first. `inputs` are in the order of the sources.
#[must_use]
pub fn warnings(material: &ReportInput<'_>, context: &LogAnalysis<'_>, inputs: &[InputSummary]) -> Vec<String> {
    let mut hits: HashMap<(u32, u16), u64> = HashMap::new();
    for (view, _) in material.tally.cells().zip(context.decisions()).filter(|(_, decision)| decision.reported) {
        for rule in material.tally.rule_list(view.rules) {
            *hits.entry((view.input, rule.0)).or_default() += view.cell.hits;
        }
    }
    let mut broad: Vec<_> = hits
        .into_iter()
        .filter_map(|((input, rule), hits)| {
            let lines = inputs.get(input as usize)?.lines;
            (lines >= LINES && hits >= lines.div_ceil(SHARE)).then_some((hits, input, rule, lines))
        })
        .collect();
    broad.sort_unstable_by_key(|&(hits, input, rule, _)| (std::cmp::Reverse(hits), input, rule));
    let sentence = |(hits, input, rule, lines): (u64, u32, u16, u64)| {
        let path = String::from_utf8_lossy(&inputs[input as usize].path).into_owned();
        let rule = &material.rules.rule(crate::finding::RuleId(rule)).id;
        format!(
            "{path}: the rule {rule} matches {} of {} lines: it is too broad, or nearly all of the log is an attack; to leave it out, type --disable {rule}",
            grouped(hits),
            grouped(lines)
        )
    };
    broad.into_iter().take(MOST).map(sentence).collect()
}
