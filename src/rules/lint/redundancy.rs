//! Rules that say what others say: the same literal under the same conditions, a literal that holds another one, a rule
//! of which nothing is left.
//!
//! All literals of a kind are one automaton, and each literal is a text it is run over: a hundred thousand of them cost
//! no more than reading them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aho_corasick::AhoCorasick;

use super::super::case::Case;
use super::super::definition::{At, Definition, Field};
use super::super::literals::bit;
use super::super::load::LocatedRule;
use super::literal::{LiteralList, besides, fields, is_alone};
use super::{Diagnostic, LintLevel, few, report};
use crate::finding::RuleId;

/// A literal of a rule: the rule's number, and the literal as it is written.
type CoveredLiterals<'r> = BTreeMap<usize, BTreeSet<&'r str>>;

pub(super) fn check(rules: &[LocatedRule], mut verdict: impl FnMut(&Case) -> Vec<RuleId>, found: &mut Vec<Diagnostic>) {
    for list in LiteralList::ALL {
        twice(rules, list, found);
    }
    let index = LiteralIndex::of(rules);
    let mut matched = |case: &Case| verdict(case).into_iter().map(|id| usize::from(id.0)).collect::<BTreeSet<_>>();
    for number in 0..rules.len() {
        within(rules, number, &index, found);
        by_others(rules, number, &index, &mut matched, found);
    }
}

/// Literals that stand in two rules which ask for nothing else or for the same besides.
fn twice(rules: &[LocatedRule], list: LiteralList, found: &mut Vec<Diagnostic>) {
    let mut first: HashMap<(String, String), usize> = HashMap::new();
    for (number, rule) in rules.iter().enumerate() {
        let literals = list.of(&rule.definition);
        if literals.is_empty() {
            continue;
        }
        let besides = besides(list, &rule.definition);
        let mut told = CoveredLiterals::new();
        for literal in literals {
            let key = (literal.to_ascii_lowercase(), besides.clone());
            let other = *first.entry(key).or_insert(number);
            if other != number {
                told.entry(other).or_default().insert(literal);
            }
        }
        let mut seen = BTreeSet::new();
        let repeated: Vec<_> = literals.iter().filter(|l| !seen.insert(l.to_ascii_lowercase())).map(String::as_str).collect();
        if !repeated.is_empty() {
            report(rule, LintLevel::Warning, format!("{}: {} stands there twice", list.key(), few(repeated)), "keep one", found);
        }
        for (other, literals) in told {
            let what = format!("{}: {} is in '{}' too", list.key(), few(literals), id(rules, other));
            report(rule, LintLevel::Warning, what, "keep it in one of the two", found);
        }
    }
}

/// Literals that another one of the same list finds already.
fn within(rules: &[LocatedRule], number: usize, index: &LiteralIndex, found: &mut Vec<Diagnostic>) {
    let rule = &rules[number];
    for list in LiteralList::ALL.into_iter().filter(|list| *list != LiteralList::Globs) {
        let mut needless = BTreeMap::new();
        for literal in list.of(&rule.definition) {
            let text = literal.to_ascii_lowercase();
            let mut covering = index.covering(list, &text, false);
            if let Some(other) = covering.find(|o| o.rule == number && o.list == list && o.text != text) {
                needless.insert(literal.as_str(), other.text.as_str());
            }
        }
        if !needless.is_empty() {
            let pairs: Vec<_> = needless.iter().map(|(longer, shorter)| format!("{longer} by {shorter}")).collect();
            let what = format!("{}: found by another one of the same list: {}", list.key(), few(pairs.iter().map(String::as_str)));
            report(rule, LintLevel::Warning, what, "leave the longer one out", found);
        }
    }
}

/// Literals, or all of a rule, that a rule of the same class finds already, and no less severely.
fn by_others(
    rules: &[LocatedRule],
    number: usize,
    index: &LiteralIndex,
    matched: &mut impl FnMut(&Case) -> BTreeSet<usize>,
    found: &mut Vec<Diagnostic>,
) {
    let rule = &rules[number];
    let Some(list) = LiteralList::ALL.into_iter().find(|list| !list.of(&rule.definition).is_empty() && is_alone(*list, &rule.definition))
    else {
        return;
    };
    let root = rule.definition.at == Some(At::Root);
    let mut told = CoveredLiterals::new();
    let mut covered = 0;
    for literal in list.of(&rule.definition) {
        let text = literal.to_ascii_lowercase();
        let holds = |o: &&LiteralEntry| o.rule != number && (o.list, &o.text) != (list, &text) && replaces(&rules[o.rule], rule, o);
        let other = index.covering(list, &text, root).find(holds).map(|other| other.rule);
        if let Some(other) = other {
            covered += 1;
            told.entry(other).or_default().insert(literal);
        }
    }
    let others: BTreeSet<usize> = told.keys().copied().collect();
    let nothing_left = covered == list.of(&rule.definition).len();
    if nothing_left && covered > 0 && rule.definition.must_match.iter().all(|case| !matched(case).is_disjoint(&others)) {
        let names: Vec<_> = others.iter().map(|other| id(rules, *other)).collect();
        let what = format!("all it finds is found by {} already", few(names));
        report(rule, LintLevel::Warning, what, "drop it, or say what it adds: a CVE, a higher severity, a narrower case", found);
        return;
    }
    for (other, literals) in told {
        let what = format!("{}: {} is found by '{}' already", list.key(), few(literals), id(rules, other));
        report(rule, LintLevel::Warning, what, "leave it out", found);
    }
}

/// Whether a rule can stand in for another: it says as much.
fn replaces(rule: &LocatedRule, other: &LocatedRule, entry: &LiteralEntry) -> bool {
    let (d, o) = (&rule.definition, &other.definition);
    let says_as_much = d.class == o.class && d.severity >= o.severity && o.cve.iter().all(|cve| d.cve.contains(cve));
    let words_see_it = entry.list != LiteralList::Words || sees(d, o);
    says_as_much && words_see_it && is_alone(entry.list, d)
}

/// Whether the words of a rule look wherever another rule does.
fn sees(rule: &Definition, other: &Definition) -> bool {
    let wanted = if other.words.is_empty() { bit::of_field(Field::Path) } else { fields(other) };
    fields(rule) & wanted == wanted
}

fn id(rules: &[LocatedRule], number: usize) -> &str {
    &rules[number].definition.id
}

/// A literal that may stand in others.
struct LiteralEntry {
    rule: usize,
    list: LiteralList,
    text: String,
    root: bool,
}

/// All literals, to be found in each other.
struct LiteralIndex {
    automaton: Option<AhoCorasick>,
    entries: Vec<LiteralEntry>,
}

impl LiteralIndex {
    fn of(rules: &[LocatedRule]) -> Self {
        let mut entries = Vec::new();
        for (rule, located) in rules.iter().enumerate() {
            let root = located.definition.at == Some(At::Root);
            for list in LiteralList::ALL.into_iter().filter(|list| *list != LiteralList::Globs) {
                let texts = list.of(&located.definition).iter().map(|text| text.to_ascii_lowercase());
                entries.extend(texts.map(|text| LiteralEntry { rule, list, text, root }));
            }
        }
        let automaton = AhoCorasick::new(entries.iter().map(|entry| &entry.text)).ok();
        Self { automaton, entries }
    }

    /// The literals that are found wherever this one is.
    fn covering<'i, 't>(&'i self, list: LiteralList, text: &'t str, root: bool) -> impl Iterator<Item = &'i LiteralEntry> + use<'i, 't> {
        let found = self.automaton.iter().flat_map(move |automaton| automaton.find_overlapping_iter(text));
        found.filter_map(move |found| {
            let entry = &self.entries[found.pattern().as_usize()];
            let (at_start, rest) = (found.start() == 0, &text[found.end()..]);
            let covers = match (entry.list, list) {
                (LiteralList::Paths, LiteralList::Paths) => {
                    (rest.is_empty() || rest.starts_with('/') || entry.text.ends_with('/')) && (!entry.root || (root && at_start))
                }
                (LiteralList::Suffixes, LiteralList::Paths | LiteralList::Suffixes) => rest.is_empty() && !entry.root,
                (LiteralList::Words, LiteralList::Words | LiteralList::Paths) | (LiteralList::Agents, LiteralList::Agents) => true,
                (LiteralList::Prefixes, LiteralList::Prefixes) => at_start,
                _ => false,
            };
            covers.then_some(entry)
        })
    }
}
