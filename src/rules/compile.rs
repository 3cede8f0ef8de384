//! Compiles definitions to a rule set, or reports their errors.

use std::sync::OnceLock;

use rayon::prelude::*;

use super::condition::{Condition, TextCondition};
use super::definition::{
    APP_FAMILY, AnswerMeaning, Class, Definition, EXCEPTIONS, LocatedRule, PathAnchor, RuleNotes,
};
use super::error::{RuleError, nearest};
use super::exceptions::{CommonExceptions, Exceptions};
use super::glob::{self, Globs};
use super::guess::Guess;
use super::literal_table::{LiteralCollector, RuleLiterals};
use super::literals::{Literals, bit};
use super::pattern::RulePattern;
use super::set::{Rule, RuleSet, evidence_rule};
use super::window::Window;
use crate::log::finding::RuleId;
use crate::soft_404::RuleSubject;

/// The most rules of a set: ids have 16 bits, and one value is reserved.
pub(crate) const MAX_RULES: usize = u16::MAX as usize;

/// Compiles definitions, which must be sorted by id and unique.
pub(super) fn compile(definitions: Vec<LocatedRule>) -> Result<RuleSet, RuleError> {
    let mut compiler = Compiler {
        literals: Some(RuleLiterals::default()),
        ..Compiler::default()
    };
    compiler.add_all(definitions)?;
    let searches = Searches::new(compiler.literals.take().unwrap_or_default())?;
    Ok(compiler.finish(searches))
}

/// Compiles definitions whose literals are in these searches; they must be sorted by id and unique.
pub(super) fn compile_with(
    definitions: Vec<LocatedRule>,
    searches: Searches,
) -> Result<RuleSet, RuleError> {
    let mut compiler = Compiler::default();
    compiler.add_all(definitions)?;
    Ok(compiler.finish(searches))
}

impl RuleSet {
    /// A set of these rules and rules of an earlier report that it does not have, for reporting. It
    /// matches nothing.
    ///
    /// # Errors
    ///
    /// The literal search could not be built.
    pub(crate) fn with_unknown_rules(&self, others: &[Rule]) -> Result<Self, RuleError> {
        let mut rules: Vec<Rule> = self.rules.iter().chain(others).cloned().collect();
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Compiler {
            rules,
            ..Compiler::default()
        }
        .finish(Searches::new(RuleLiterals::default())?))
    }
}

/// The literals of a set.
#[derive(Debug)]
pub(super) struct Searches {
    pub(super) request: Literals,
    pub(super) headers: Literals,
}

impl Searches {
    fn new(literals: RuleLiterals) -> Result<Self, RuleError> {
        let [request, headers] =
            [literals.request, literals.headers].map(LiteralCollector::into_table);
        let (request, headers) = rayon::join(
            || Literals::prefiltered(request),
            || Literals::prefiltered(headers),
        );
        Ok(Self {
            request: request?,
            headers: headers?,
        })
    }
}

#[derive(Default)]
struct Compiler {
    rules: Vec<Rule>,
    conditions: Vec<Condition>,
    /// The literals of the rules; `None` if the caller has their searches.
    literals: Option<RuleLiterals>,
    unanchored: Vec<u16>,
    unknown: Vec<RuleId>,
    warnings: Vec<String>,
}

impl Compiler {
    fn add_all(&mut self, definitions: Vec<LocatedRule>) -> Result<(), RuleError> {
        if definitions.len() > MAX_RULES {
            return Err(RuleError::TooMany {
                found: definitions.len(),
                most: MAX_RULES,
            });
        }
        let common = CommonExceptions::new();
        // Only built-in rules have their searches already, and a test checks these.
        let checks = self.literals.is_some();
        let conditions: Vec<_> = definitions
            .par_iter()
            .map(|located| condition_of(located, &common, checks))
            .collect();
        self.conditions.reserve(definitions.len());
        let add = |(located, condition): (&LocatedRule, Result<Condition, String>)| {
            condition
                .and_then(|condition| self.add(located, condition))
                .err()
                .map(|message| located.error(message))
        };
        let mut errors: Vec<_> = definitions.iter().zip(conditions).filter_map(add).collect();
        match errors.len() {
            0 => {
                // Without literals, definitions lack notes too, but for those of apps.
                let has_notes = |rule: &Rule| checks || rule.is_app_evidence;
                let rule = |located: LocatedRule| Rule::from(*located.definition);
                let with_notes = |rule: Rule| {
                    if has_notes(&rule) {
                        rule
                    } else {
                        Rule {
                            notes: OnceLock::new(),
                            ..rule
                        }
                    }
                };
                self.rules = definitions
                    .into_par_iter()
                    .map(rule)
                    .map(with_notes)
                    .collect();
            }
            1 => return Err(errors.remove(0)),
            _ => return Err(RuleError::Several(errors)),
        }
        Ok(())
    }

    fn add(&mut self, located: &LocatedRule, condition: Condition) -> Result<(), String> {
        let rule = self.conditions.len() as u16;
        if !located.is_builtin {
            self.warnings
                .extend(empty_match_warning(located, &condition));
        }
        if let Some(literals) = &mut self.literals {
            literals.add(located.definition.literal_keys(), rule)?;
        }
        if condition.needs == 0 && !condition.text.as_ref().is_some_and(|t| t.has_words) {
            self.unanchored.push(rule);
        }
        if located.definition.unknown {
            self.unknown.push(RuleId(rule));
        }
        self.conditions.push(condition);
        Ok(())
    }

    fn finish(self, Searches { request, headers }: Searches) -> RuleSet {
        let evidence_rules = |rule: &Rule| {
            rule.unless_app
                .iter()
                .filter_map(|app| evidence_rule(&self.rules, app))
                .collect()
        };
        RuleSet {
            suppressed_by_apps: self.rules.iter().map(evidence_rules).collect(),
            rules: self.rules,
            conditions: self.conditions,
            request,
            headers,
            unanchored: self.unanchored,
            unknown: self.unknown,
            warnings: self.warnings,
        }
    }
}

/// The condition of a rule. Only the patterns of rules that are not built in are compiled, to find
/// their errors.
fn condition_of(
    located: &LocatedRule,
    common: &CommonExceptions,
    checks: bool,
) -> Result<Condition, String> {
    if checks {
        check(&located.definition)?;
    }
    let condition = uncompiled_condition(&located.definition, common);
    if !located.is_builtin {
        condition.patterns().try_for_each(RulePattern::check)?;
    }
    Ok(condition)
}

/// The condition of a definition, whose patterns are compiled when they are first needed.
fn uncompiled_condition(d: &Definition, common: &CommonExceptions) -> Condition {
    let present = |list: &[String], bit: u16| if list.is_empty() { 0 } else { bit };
    let needs = present(&d.paths, bit::PATHS)
        | present(&d.suffixes, bit::SUFFIX)
        | present(&d.path_glob.0, bit::GLOB)
        | present(&d.agents, bit::AGENT)
        | present(&d.raw_prefixes, bit::PREFIX)
        | if d.unknown { bit::UNKNOWN } else { 0 };
    let fields = d.field_mask();
    let pattern = d.regex.clone().map(RulePattern::lazy);
    let text = (!d.words.is_empty() || pattern.is_some()).then_some(TextCondition {
        fields,
        has_words: !d.words.is_empty(),
        regex: pattern,
    });
    Condition {
        needs,
        text,
        globs: Globs::any_of(&d.path_glob.0, d.at == Some(PathAnchor::Root)),
        methods: d.methods.iter().map(|m| m.as_bytes().to_vec()).collect(),
        statuses: d.statuses.clone(),
        shape: d.shape,
        unless: Exceptions::new(d, common),
    }
}

fn empty_match_warning(located: &LocatedRule, condition: &Condition) -> Option<String> {
    let regex = condition.text.as_ref()?.regex.as_ref()?;
    let id = located.id();
    let warning = || {
        format!(
            "rule '{id}': its regex matches the empty text, so it restricts nothing; remove it or make it stricter"
        )
    };
    regex.is_match(b"").then(warning)
}

impl From<Definition> for Rule {
    fn from(d: Definition) -> Self {
        let (answer, counts_requests) = (d.answer(), d.counts_requests());
        Self {
            id: d.id,
            title: d.title,
            class: d.class,
            severity: d.severity,
            answer,
            wants: d.wants,
            remedy: d.remedy,
            with_client: d.with_client,
            window: d.window,
            guess: d.guess,
            unless_app: d.unless_app.0,
            is_app_evidence: d.is_app_evidence,
            // That there are many requests does not show what a path contains.
            subject: if counts_requests {
                RuleSubject::Client
            } else {
                d.subject
            },
            notes: RuleNotes {
                cve: d.cve,
                of: d.of,
                attack: d.attack,
                cwe: d.cwe,
                references: d.references,
            }
            .into(),
            false_positives: d.false_positives,
            must_match: d.must_match,
            must_not_match: d.must_not_match,
        }
    }
}

/// Checks a definition without compiling anything.
fn check(d: &Definition) -> Result<(), String> {
    check_names_and_texts(d)?;
    let literals = [
        &d.paths,
        &d.suffixes,
        &d.path_glob.0,
        &d.words,
        &d.agents,
        &d.raw_prefixes,
    ];
    if d.unknown && (d.with_client.is_none() || d.statuses.is_empty()) {
        return Err(
            "unknown: such a request is ordinary by itself; give the rule with_client and statuses"
                .into(),
        );
    }
    if literals.iter().all(|l| l.is_empty())
        && d.methods.is_empty()
        && d.shape.is_none()
        && !d.unknown
    {
        return Err("it has no literal, no method and no shape; give it paths, suffixes, path_glob, words, agents, raw_prefixes, methods or a shape (a regex alone would be tried on every line)".into());
    }
    for (name, list) in [("paths", &d.paths), ("path_glob", &d.path_glob.0)] {
        if let Some(path) = list.iter().find(|p| !p.starts_with('/')) {
            return Err(format!("{name}: '{path}' must begin with '/'"));
        }
    }
    if d.paths.iter().any(|p| p == "/") {
        return Err("paths: '/' is in every path; name a file or folder".into());
    }
    if let Some(glob) = d.path_glob.0.iter().find(|g| glob::anchor(g).len() < 3) {
        return Err(format!(
            "path_glob: '{glob}' needs three characters in a row that are no wildcard"
        ));
    }
    if let Some(glob) = d.path_glob.0.iter().find(|g| g.len() > glob::MAX_LEN) {
        return Err(format!(
            "path_glob: a pattern of {} bytes is too long; {} is the most",
            glob.len(),
            glob::MAX_LEN
        ));
    }
    if let Some(with) = &d.with_client {
        if with.distinct_paths == 0 {
            return Err(
                "with_client: distinct_paths is 0, which every client has; use at least 1".into(),
            );
        }
        with.classes
            .iter()
            .try_for_each(|class| check_class(class))?;
    }
    check_counts(d)?;
    let entries = d.of.iter().flatten();
    if let Some(cve) = entries
        .flat_map(|entry| &entry.cve)
        .find(|cve| !d.cve.contains(cve))
    {
        return Err(format!(
            "of: found '{cve}', which is not among the `cve` of the rule; add it there"
        ));
    }
    if let Some(name) = d
        .unless
        .iter()
        .flat_map(|unless| &unless.known)
        .find(|name| EXCEPTIONS.iter().all(|(known, _)| known != name))
    {
        let known: Vec<&str> = EXCEPTIONS.iter().map(|(known, _)| *known).collect();
        return Err(format!(
            "unless.known: no exception is called '{name}'; there are {}",
            known.join(", ")
        ));
    }
    if d.fields.as_ref().is_some_and(Vec::is_empty) {
        return Err("fields: the list is empty; leave it out for path and query".into());
    }
    Ok(())
}

/// Checks `window` and `guess`, and that the rule has no key that only a single finding can have.
fn check_counts(d: &Definition) -> Result<(), String> {
    d.window.map_or(Ok(()), Window::check)?;
    d.guess.map_or(Ok(()), Guess::check)?;
    let key = match (d.window, d.guess) {
        (None, None) => return Ok(()),
        (Some(_), _) => "window",
        (None, Some(_)) => "guess",
    };
    if d.with_client.is_some() {
        return Err(format!(
            "{key} and with_client: a rule can have only one of them; remove one"
        ));
    }
    if !d.unless_app.0.is_empty() {
        return Err(format!(
            "{key} and unless_app: no request of this rule is a finding by itself, so there is nothing for an app to suppress; remove `unless_app`"
        ));
    }
    if d.answer == Some(AnswerMeaning::Exposes) {
        return Err(format!(
            "{key} and answer: no request of this rule is a finding by itself, so its answer exposes nothing; remove `answer`"
        ));
    }
    Ok(())
}

/// Ids, classes and empty texts.
fn check_names_and_texts(d: &Definition) -> Result<(), String> {
    let id = &d.id;
    let is_valid_part = |p: &str| {
        !p.is_empty()
            && p.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if !id
        .split_once('/')
        .is_some_and(|(family, name)| is_valid_part(family) && is_valid_part(name))
    {
        return Err("an id is family/name, of lower-case letters, digits and '-'".into());
    }
    if !d.is_app_evidence {
        check_class(&d.class)?;
        if id.starts_with(APP_FAMILY) && id[APP_FAMILY.len()..].starts_with('/') {
            return Err(format!(
                "ids of the family '{APP_FAMILY}' are those of [[app]] tables; give the rule another family"
            ));
        }
    }
    for (name, list) in [
        ("paths", &d.paths),
        ("suffixes", &d.suffixes),
        ("words", &d.words),
        ("agents", &d.agents),
        ("raw_prefixes", &d.raw_prefixes),
        ("methods", &d.methods),
    ] {
        if list.iter().any(String::is_empty) {
            return Err(format!("{name}: an empty text would match every request"));
        }
    }
    Ok(())
}

fn check_class(class: &str) -> Result<(), String> {
    if Class::find(class).is_some() {
        return Ok(());
    }
    let suggestion = nearest(class, Class::ids())
        .map(|n| format!(" (did you mean '{n}'?)"))
        .unwrap_or_default();
    Err(format!(
        "no class is called '{class}'{suggestion}; there are {}",
        Class::ids().collect::<Vec<_>>().join(", ")
    ))
}
