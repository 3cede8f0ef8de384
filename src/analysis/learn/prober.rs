//! Who is known to probe: by what the rules say of all a client asked for, never by one request.
//!
//! Anyone may stumble over a rule once, and a search engine over several, among thousands of pages.

use std::collections::BTreeMap;

use crate::analysis::build::LogAnalysis;
use crate::finding::{RuleId, Severity};
use crate::rules::RuleSet;
use crate::tally::Tally;

/// The clients that probe.
pub(crate) struct KnownProbers<'a> {
    each: BTreeMap<u32, ProbeProfile<'a>>,
}

/// What the rules found of a client.
#[derive(Default)]
struct ClientFindings<'a> {
    hits: u64,
    /// The numbers of paths, each with a class it was found in.
    paths: Vec<(u32, &'a str)>,
}

/// What a client looks for: how many paths, and how many of each class.
#[derive(Default)]
struct ProbeProfile<'a> {
    paths: u64,
    classes: BTreeMap<&'a str, u64>,
}

/// Rules that say how or with what was asked: they tell nothing of what was looked for.
const EXCLUDED_CLASSES: [&str; 4] = ["method", "non-http", "proxy", "scanner-agent"];

/// A vote of one prober is shared among what it looks for.
const VOTE_WEIGHT: u64 = 1_000;

impl<'a> KnownProbers<'a> {
    pub(crate) fn new(rules: &'a RuleSet, tally: &Tally, context: &LogAnalysis<'_>) -> Self {
        let classes = |list: &[RuleId]| -> Vec<&'a str> {
            let mut classes: Vec<_> = list
                .iter()
                .map(|&id| rules.rule(id))
                .filter(|r| r.severity >= Severity::Low && r.with_client.is_none())
                .map(|r| r.class.as_str())
                .collect();
            classes.retain(|class| !EXCLUDED_CLASSES.contains(class));
            classes
        };
        let mut found: BTreeMap<u32, ClientFindings<'a>> = BTreeMap::new();
        for (view, decision) in tally.cells().zip(context.decisions()) {
            let classes = classes(context.list(decision));
            if !classes.is_empty() {
                let of_client = found.entry(view.client).or_default();
                of_client.hits += view.cell.hits;
                of_client.paths.extend(classes.into_iter().map(|class| (view.path, class)));
            }
        }
        let each = found.into_iter().filter_map(|(client, ClientFindings { hits, paths })| {
            let interests = ProbeProfile::new(paths);
            interests
                .is_prober(hits, tally.client_counts().get(client as usize).map_or(0, |count| count.requests))
                .then_some((client, interests))
        });
        Self { each: each.collect() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether a client is one of them.
    pub(crate) fn contains(&self, client: u32) -> bool {
        self.each.contains_key(&client)
    }

    /// How much of what a client looks for is of this class.
    pub(crate) fn class_votes(&self, client: u32, class: &str) -> u64 {
        self.each.get(&client).map_or(0, |interests| interests.classes.get(class).map_or(0, |n| n * VOTE_WEIGHT / interests.paths.max(1)))
    }
}

impl<'a> ProbeProfile<'a> {
    fn new(mut found: Vec<(u32, &'a str)>) -> Self {
        found.sort_unstable();
        found.dedup();
        let paths = found.chunk_by(|a, b| a.0 == b.0).count() as u64;
        let mut classes = BTreeMap::new();
        for (_, class) in found {
            *classes.entry(class).or_default() += 1;
        }
        Self { paths, classes }
    }

    /// Three probed paths that are a good part of what it asked for; of one that asks for little, two will do.
    fn is_prober(&self, hits: u64, requests: u64) -> bool {
        (self.paths >= 3 && hits * 4 >= requests) || (self.paths >= 2 && hits * 2 >= requests)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::learn::prober::*;

    #[test]
    fn a_good_part_of_few_or_many_requests() {
        let tells = |paths, hits, requests| ProbeProfile { paths, ..ProbeProfile::default() }.is_prober(hits, requests);
        assert!(tells(3, 3, 12) && !tells(3, 3, 13));
        assert!(tells(2, 2, 4) && !tells(2, 2, 5));
        assert!(!tells(1, 100, 100));
    }

    #[test]
    fn a_path_with_two_classes_is_one_path() {
        let interests = ProbeProfile::new(vec![(1, "webshell"), (1, "wordpress"), (2, "webshell"), (1, "webshell")]);
        assert_eq!((interests.paths, interests.classes["webshell"], interests.classes["wordpress"]), (2, 2, 1));
    }
}
