//! Finds redundant rules: the same literal with the same conditions, a literal that contains
//! another one, a rule that matches nothing which others do not.
//!
//! All literals are compiled to one automaton, which searches each of them, so the time is linear.
//! Rules are compared as written: equivalent rules with different texts are not recognised.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aho_corasick::AhoCorasick;

use super::super::definition::{Case, Definition, Field, LocatedRule, OneOrMany, PathAnchor};
use super::super::literals::bit;
use super::{Diagnostic, LintLevel, list_first, report};
use crate::log::finding::{RuleId, Severity};
use crate::rules::glob;

/// Literals as written, by the number of another rule that finds them.
type CoveredLiterals<'r> = BTreeMap<usize, BTreeSet<&'r str>>;

pub(super) fn check(
    rules: &[LocatedRule],
    mut verdict: impl FnMut(&Case) -> Vec<RuleId>,
    found: &mut Vec<Diagnostic>,
) {
    for list in LiteralList::ALL {
        report_duplicates(rules, list, found);
    }
    let index = LiteralIndex::new(rules);
    let mut matched = |case: &Case| {
        verdict(case)
            .into_iter()
            .map(|id| usize::from(id.0))
            .collect::<BTreeSet<_>>()
    };
    for number in 0..rules.len() {
        report_covered_by_own_list(rules, number, &index, found);
        report_covered_by_other_rules(rules, number, &index, &mut matched, found);
    }
}

/// Reports literals that are in two rules with the same other conditions.
fn report_duplicates(rules: &[LocatedRule], list: LiteralList, found: &mut Vec<Diagnostic>) {
    let mut first: HashMap<(String, String), usize> = HashMap::new();
    for (number, rule) in rules.iter().enumerate() {
        let literals = list.literals(&rule.definition);
        if literals.is_empty() {
            continue;
        }
        let conditions = other_conditions(list, &rule.definition);
        let mut by_rule = CoveredLiterals::new();
        for literal in literals {
            let key = (literal.to_ascii_lowercase(), conditions.clone());
            let other = *first.entry(key).or_insert(number);
            if other != number {
                by_rule.entry(other).or_default().insert(literal);
            }
        }
        let mut seen = BTreeSet::new();
        let repeated: Vec<_> = literals
            .iter()
            .filter(|l| !seen.insert(l.to_ascii_lowercase()))
            .map(String::as_str)
            .collect();
        if !repeated.is_empty() {
            report(
                rule,
                LintLevel::Warning,
                format!("{}: {} is listed twice", list.key(), list_first(repeated)),
                "keep one",
                found,
            );
        }
        for (other, literals) in by_rule {
            let what = format!(
                "{}: {} is in '{}' too",
                list.key(),
                list_first(literals),
                id(rules, other)
            );
            report(
                rule,
                LintLevel::Warning,
                what,
                "keep it in one of the two",
                found,
            );
        }
    }
}

/// Reports literals that another literal of the same list finds already.
fn report_covered_by_own_list(
    rules: &[LocatedRule],
    number: usize,
    index: &LiteralIndex,
    found: &mut Vec<Diagnostic>,
) {
    let rule = &rules[number];
    for list in LiteralList::ALL
        .into_iter()
        .filter(|list| *list != LiteralList::Globs)
    {
        let mut covered = BTreeMap::new();
        for literal in list.literals(&rule.definition) {
            let text = literal.to_ascii_lowercase();
            let mut covering = index.covering(list, &text, false);
            if let Some(other) =
                covering.find(|o| o.rule == number && o.list == list && o.text != text)
            {
                covered.insert(literal.as_str(), other.text.as_str());
            }
        }
        if !covered.is_empty() {
            let pairs: Vec<_> = covered
                .iter()
                .map(|(longer, shorter)| format!("{longer} by {shorter}"))
                .collect();
            let what = format!(
                "{}: found by another one of the same list: {}",
                list.key(),
                list_first(pairs.iter().map(String::as_str))
            );
            report(
                rule,
                LintLevel::Warning,
                what,
                "remove the longer one",
                found,
            );
        }
    }
}

/// Reports literals, or rules, that a rule of the same class and at least the same severity finds
/// already.
fn report_covered_by_other_rules(
    rules: &[LocatedRule],
    number: usize,
    index: &LiteralIndex,
    matched: &mut impl FnMut(&Case) -> BTreeSet<usize>,
    found: &mut Vec<Diagnostic>,
) {
    let rule = &rules[number];
    let Some(list) = LiteralList::ALL.into_iter().find(|list| {
        !list.literals(&rule.definition).is_empty() && is_only_condition(*list, &rule.definition)
    }) else {
        return;
    };
    let root = rule.definition.at == Some(PathAnchor::Root);
    let mut by_rule = CoveredLiterals::new();
    let mut covered = 0;
    for literal in list.literals(&rule.definition) {
        let text = literal.to_ascii_lowercase();
        let holds = |o: &&LiteralEntry| {
            o.rule != number
                && (o.list, &o.text) != (list, &text)
                && replaces(&rules[o.rule], rule, o)
        };
        let other = index
            .covering(list, &text, root)
            .find(holds)
            .map(|other| other.rule);
        if let Some(other) = other {
            covered += 1;
            by_rule.entry(other).or_default().insert(literal);
        }
    }
    let others: BTreeSet<usize> = by_rule.keys().copied().collect();
    let nothing_left = covered == list.literals(&rule.definition).len();
    if nothing_left
        && covered > 0
        && rule
            .definition
            .must_match
            .iter()
            .all(|case| !matched(case).is_disjoint(&others))
    {
        let names: Vec<_> = others.iter().map(|other| id(rules, *other)).collect();
        let what = format!("all it finds is found by {} already", list_first(names));
        report(
            rule,
            LintLevel::Warning,
            what,
            "remove it, or add what it is for: a CVE, a higher severity, a narrower case",
            found,
        );
        return;
    }
    for (other, literals) in by_rule {
        let what = format!(
            "{}: {} is found by '{}' already",
            list.key(),
            list_first(literals),
            id(rules, other)
        );
        report(rule, LintLevel::Warning, what, "remove it", found);
    }
}

/// Whether a rule can replace another.
fn replaces(rule: &LocatedRule, other: &LocatedRule, entry: &LiteralEntry) -> bool {
    let (d, o) = (&rule.definition, &other.definition);
    let has_same_meaning = d.class == o.class
        && d.severity >= o.severity
        && o.cve.iter().all(|cve| d.cve.contains(cve));
    let searches_fields = entry.list != LiteralList::Words || searches_fields_of(d, o);
    has_same_meaning && searches_fields && is_only_condition(entry.list, d)
}

/// Whether the words of a rule are searched in all fields of another rule.
fn searches_fields_of(rule: &Definition, other: &Definition) -> bool {
    let wanted = if other.words.is_empty() {
        bit::of_field(Field::Path)
    } else {
        other.field_mask()
    };
    rule.field_mask() & wanted == wanted
}

fn id(rules: &[LocatedRule], number: usize) -> &str {
    &rules[number].definition.id
}

/// A literal that others may contain.
struct LiteralEntry {
    rule: usize,
    list: LiteralList,
    text: String,
    root: bool,
}

/// All literals, to find them in each other.
struct LiteralIndex {
    automaton: Option<AhoCorasick>,
    entries: Vec<LiteralEntry>,
}

impl LiteralIndex {
    fn new(rules: &[LocatedRule]) -> Self {
        let mut entries = Vec::new();
        for (rule, located) in rules.iter().enumerate() {
            let root = located.definition.at == Some(PathAnchor::Root);
            for list in LiteralList::ALL
                .into_iter()
                .filter(|list| *list != LiteralList::Globs)
            {
                let texts = list
                    .literals(&located.definition)
                    .iter()
                    .map(|text| text.to_ascii_lowercase());
                entries.extend(texts.map(|text| LiteralEntry {
                    rule,
                    list,
                    text,
                    root,
                }));
            }
        }
        let automaton = AhoCorasick::new(entries.iter().map(|entry| &entry.text)).ok();
        Self { automaton, entries }
    }

    /// The literals that are found wherever this one is found.
    fn covering<'i, 't>(
        &'i self,
        list: LiteralList,
        text: &'t str,
        root: bool,
    ) -> impl Iterator<Item = &'i LiteralEntry> + use<'i, 't> {
        let found = self
            .automaton
            .iter()
            .flat_map(move |automaton| automaton.find_overlapping_iter(text));
        found.filter_map(move |found| {
            let entry = &self.entries[found.pattern().as_usize()];
            let (at_start, rest) = (found.start() == 0, &text[found.end()..]);
            let covers = match (entry.list, list) {
                (LiteralList::Paths, LiteralList::Paths) => {
                    (rest.is_empty() || rest.starts_with('/') || entry.text.ends_with('/'))
                        && (!entry.root || (root && at_start))
                }
                (LiteralList::Suffixes, LiteralList::Paths | LiteralList::Suffixes) => {
                    rest.is_empty() && !entry.root
                }
                (LiteralList::Words, LiteralList::Words | LiteralList::Paths)
                | (LiteralList::Agents, LiteralList::Agents) => true,
                (LiteralList::Prefixes, LiteralList::Prefixes) => at_start,
                _ => false,
            };
            covers.then_some(entry)
        })
    }
}

/// The lists of literals of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum LiteralList {
    Paths,
    Suffixes,
    Globs,
    Words,
    Agents,
    Prefixes,
}

impl LiteralList {
    pub(super) const ALL: [Self; 6] = [
        Self::Paths,
        Self::Suffixes,
        Self::Globs,
        Self::Words,
        Self::Agents,
        Self::Prefixes,
    ];

    /// The key in rule files.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Paths => "paths",
            Self::Suffixes => "suffixes",
            Self::Globs => "path_glob",
            Self::Words => "words",
            Self::Agents => "agents",
            Self::Prefixes => "raw_prefixes",
        }
    }

    /// The literals of a rule, as written.
    pub(super) fn literals(self, d: &Definition) -> &[String] {
        match self {
            Self::Paths => &d.paths,
            Self::Suffixes => &d.suffixes,
            Self::Globs => &d.path_glob.0,
            Self::Words => &d.words,
            Self::Agents => &d.agents,
            Self::Prefixes => &d.raw_prefixes,
        }
    }

    fn clear(self, d: &mut Definition) {
        match self {
            Self::Paths => d.paths.clear(),
            Self::Suffixes => d.suffixes.clear(),
            Self::Globs => d.path_glob = OneOrMany(Vec::new()),
            Self::Words => d.words.clear(),
            Self::Agents => d.agents.clear(),
            Self::Prefixes => d.raw_prefixes.clear(),
        }
    }

    /// The text that the literal search uses.
    pub(super) fn search_text(self, text: &str) -> String {
        if self == Self::Globs {
            glob::anchor(text).to_ascii_lowercase()
        } else {
            text.to_ascii_lowercase()
        }
    }
}

/// All conditions of a rule except one of its lists, as a text to compare. New keys of rules are
/// included automatically.
fn other_conditions(list: LiteralList, definition: &Definition) -> String {
    let mut rest = without_metadata(definition);
    list.clear(&mut rest);
    format!("{rest:?}")
}

/// Whether a rule has no condition but this list and its fields.
fn is_only_condition(list: LiteralList, definition: &Definition) -> bool {
    let mut rest = without_metadata(definition);
    list.clear(&mut rest);
    rest.at = None;
    rest.fields = None;
    empty_definition().is_some_and(|empty| format!("{rest:?}") == format!("{empty:?}"))
}

/// A rule without its metadata.
fn without_metadata(definition: &Definition) -> Definition {
    let mut d = definition.clone();
    let texts = !d.words.is_empty() || d.regex.is_some() || d.unless.is_some();
    d.fields = texts.then(|| definition.fields().to_vec());
    if let Some(empty) = empty_definition() {
        (d.id, d.title, d.class, d.severity, d.answer) =
            (empty.id, empty.title, empty.class, Severity::Info, None);
    }
    for list in [
        &mut d.cve,
        &mut d.attack,
        &mut d.references,
        &mut d.false_positives,
    ] {
        list.clear();
    }
    d.cwe.clear();
    d.must_match.clear();
    d.must_not_match.clear();
    d
}

/// A rule without conditions.
fn empty_definition() -> Option<Definition> {
    toml::from_str("id = ''\ntitle = ''\nclass = ''\nseverity = 'info'").ok()
}
