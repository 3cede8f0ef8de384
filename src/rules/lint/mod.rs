//! Lints for rules that load: redundant rules, common literals, missing cases, invalid metadata, unsafe exceptions.
//!
//! It reports problems and changes nothing. It uses the engine only through a function of the caller; `rules test` runs the
//! cases.
//!
//! The metadata are title, id, CVE, ATT&CK and CWE numbers, references, and the number of cases. An exception is unsafe if an
//! attacker could use it to hide a payload or an answer. The engine lets no header exempt a request that was answered; the lint
//! covers what the engine cannot know: which text of a request selects the resource, and which text was only added.

mod common;
mod redundancy;

pub(crate) use self::common::is_ordinary;

pub(super) use self::common::is_common;

use std::fmt;

use regex_syntax::hir::Look;

use super::case::Case;
use super::compile::compile;
use super::definition::{Answer, Definition, Field, PAYLOADS, Unless};
use super::error::RuleError;
use super::load::{LocatedRule, RuleChoice, selected_rules};
use super::pattern::RulePattern;
use super::set::RuleSet;
use crate::finding::RuleId;
use crate::log_entry::Outcome;

/// The level of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LintLevel {
    /// The rule is wrong.
    Error,
    /// The rule could be better.
    Warning,
}

/// A problem of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The file.
    pub file: String,
    /// The line of the rule's id, from 1.
    pub line: usize,
    /// The rule.
    pub id: String,
    /// How bad it is.
    pub level: LintLevel,
    /// The problem.
    pub what: String,
    /// How to fix it.
    pub advice: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, id, level, what, advice } = self;
        let level = if *level == LintLevel::Error { "error" } else { "warning" };
        write!(f, "{file}:{line}: {level}: rule '{id}': {what}; {advice}")
    }
}

/// Rules to check.
#[derive(Debug)]
pub(crate) struct Lint {
    rules: Vec<LocatedRule>,
    set: RuleSet,
}

impl Lint {
    /// Loads the selected rules.
    ///
    /// # Errors
    ///
    /// Those of [`load`](super::load): rules that do not load are not checked.
    pub(crate) fn load(choice: &RuleChoice) -> Result<Self, RuleError> {
        let rules = selected_rules(&RuleChoice { with_cases: true, ..choice.clone() })?.rules;
        let set = compile(rules.clone())?;
        Ok(Self { rules, set })
    }

    /// The same rules compiled, in the same order.
    #[must_use]
    pub(crate) fn set(&self) -> &RuleSet {
        &self.set
    }

    /// All diagnostics, by file and line. `verdict` returns the rules that match a case.
    pub(crate) fn diagnostics(&self, verdict: impl FnMut(&Case) -> Vec<RuleId>) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for rule in &self.rules {
            check_metadata(rule, &mut found);
            common::check(rule, &mut found);
            check_exceptions(rule, &mut found);
        }
        redundancy::check(&self.rules, verdict, &mut found);
        found.sort_by(|a, b| (&a.file, a.line, a.level, &a.what).cmp(&(&b.file, b.line, b.level, &b.what)));
        found
    }
}

/// Adds a diagnostic of a rule.
fn report(rule: &LocatedRule, level: LintLevel, what: String, advice: &str, found: &mut Vec<Diagnostic>) {
    let id = rule.definition.id.clone();
    found.push(Diagnostic { file: rule.file.clone(), line: rule.line, id, level, what, advice: advice.to_owned() });
}

/// The first few items of a list, quoted, and the number of the others.
fn few<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let items: Vec<_> = items.into_iter().map(|item| format!("'{}'", item.escape_debug())).collect();
    let shown = items[..items.len().min(SHOWN)].join(", ");
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Fewest `must_match` cases, and fewest `must_not_match` cases, of a rule.
const CASES: usize = 2;

/// The first year of a CVE id.
const FIRST_YEAR: u16 = 1999;

/// The highest plausible CWE number.
const HIGHEST_CWE: u32 = 2000;

fn check_metadata(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    check_title(rule, found);
    check_family(rule, found);
    check_catalogues(rule, found);
    check_case_count(rule, found);
    check_regex(rule, found);
}

fn check_title(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let title = &rule.definition.title;
    let first = title.split(' ').next().unwrap_or_default();
    // A product may be called phpMyAdmin.
    if title.trim().is_empty() {
        report(rule, LintLevel::Error, "it has no title".into(), "describe in a few words what it finds", found);
    } else if first.starts_with(|c: char| c.is_lowercase()) && !first.contains(char::is_uppercase) {
        report(
            rule,
            LintLevel::Warning,
            format!("its title '{title}' begins with a lower-case letter"),
            "begin with a capital letter",
            found,
        );
    } else if title.ends_with('.') {
        report(rule, LintLevel::Warning, format!("its title '{title}' ends with a full stop"), "remove it", found);
    }
}

fn check_family(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let family = rule.definition.id.split('/').next().unwrap_or_default();
    if !rule.family.is_empty() && rule.family != family {
        let what = format!("the file's family is '{}'", rule.family);
        report(rule, LintLevel::Error, what, "put the rule into the file of its family, or give it an id of this one", found);
    }
}

/// CVE, ATT&CK, CWE, pages.
fn check_catalogues(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let mut wrong = |key: &str, items: Vec<&str>, advice: &str| {
        if !items.is_empty() {
            report(rule, LintLevel::Error, format!("{key}: {} cannot be looked up", few(items)), advice, found);
        }
    };
    let not = |list: &'_ [String], is: fn(&str) -> bool| -> Vec<String> { list.iter().filter(|text| !is(text)).cloned().collect() };
    wrong("cve", not(&d.cve, is_cve).iter().map(String::as_str).collect(), "write CVE-2021-41773, in capitals");
    wrong("attack", not(&d.attack, is_technique).iter().map(String::as_str).collect(), "write T1190 or T1595.002");
    wrong("references", not(&d.references, is_page).iter().map(String::as_str).collect(), "write an address that begins with https://");
    let cwe: Vec<_> = d.cwe.iter().filter(|n| !(1..=HIGHEST_CWE).contains(*n)).map(ToString::to_string).collect();
    wrong("cwe", cwe.iter().map(String::as_str).collect(), "write the number of the weakness, such as 22");
}

fn is_cve(text: &str) -> bool {
    let Some((year, number)) = text.strip_prefix("CVE-").and_then(|rest| rest.split_once('-')) else { return false };
    year.len() == 4
        && year.parse::<u16>().is_ok_and(|year| year >= FIRST_YEAR)
        && (4..=7).contains(&number.len())
        && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_technique(text: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = text.strip_prefix('T') else { return false };
    match rest.split_once('.') {
        Some((technique, sub)) => digits(technique, 4) && digits(sub, 3),
        None => digits(rest, 4),
    }
}

fn is_page(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.len() > 3 && !rest.contains(' ')))
}

fn check_case_count(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let (must, must_not) = (rule.definition.must_match.len(), rule.definition.must_not_match.len());
    if must >= CASES && must_not >= CASES {
        return;
    }
    let level = if rule.is_builtin { LintLevel::Error } else { LintLevel::Warning };
    let what = format!("it has {must} must_match and {must_not} must_not_match cases");
    report(rule, level, what, "give it two of each: requests that it must match, and ordinary requests that are similar", found);
}

fn check_regex(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let matches_nothing = |source: &String| RulePattern::later(source.clone()).is_match(b"");
    if rule.definition.regex.as_ref().is_some_and(matches_nothing) {
        report(
            rule,
            LintLevel::Error,
            "its regex matches the empty text, so it restricts nothing".into(),
            "remove it or make it stricter",
            found,
        );
    }
    let unless = rule.definition.unless.iter();
    if unless.flat_map(|u| u.regex.iter().chain(&u.referer)).any(matches_nothing) {
        let what = "the regex of its `unless` matches the empty text, so the rule never matches";
        report(rule, LintLevel::Error, what.into(), "make it stricter", found);
    }
}

fn check_exceptions(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let Some(unless) = d.unless.as_ref().filter(|_| !d.is_app_evidence) else { return };
    let carries = PAYLOADS.contains(&d.class.as_str());
    if carries {
        check_header_exceptions(rule, unless, found);
    }
    // A rule with a regex removes only the excepted text; and if nothing was answered, only a payload can be lost.
    let is_whole = d.regex.is_none() && !(unless.words.is_empty() && unless.regex.is_none());
    if is_whole && (carries || (d.answer() == Answer::Exposes && may_be_answered(d))) {
        check_text_exceptions(rule, unless, carries, found);
    }
}

fn check_header_exceptions(rule: &LocatedRule, unless: &Unless, found: &mut Vec<Diagnostic>) {
    let keys = [("unless.referer", unless.referer.is_some()), ("unless.agents", !unless.agents.is_empty())];
    for (key, _) in keys.into_iter().filter(|(_, is_there)| *is_there) {
        let what = format!("{key}: requests of class '{}' carry a payload, and any client can send such a header", rule.definition.class);
        report(rule, LintLevel::Error, what, "remove it, and make the rule stricter", found);
    }
}

fn check_text_exceptions(rule: &LocatedRule, unless: &Unless, carries: bool, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let loose = |field: &&Field| carries || **field != Field::Path;
    let fields: Vec<_> = d.fields().iter().filter(loose).map(|field| field.name()).collect();
    if !fields.is_empty() {
        let what = format!("unless: it exempts the whole request by a text in {}, to which any client can add", few(fields));
        let advice = if carries {
            "give the rule a regex, so that only the text itself is exempted"
        } else {
            "set `fields = [\"path\"]`, or give the rule a regex"
        };
        report(rule, LintLevel::Error, what, advice, found);
    } else if !unless.words.is_empty() || unless.regex.as_ref().is_some_and(|regex| !is_anchored(regex)) {
        let what = "unless: it exempts a path by a text anywhere in it, and a server may run /x.php for /x.php/any/text".into();
        report(rule, LintLevel::Error, what, "write a regex that begins with '^' and names all of the path before that text", found);
    }
}

/// Whether the rule can match a request that was answered.
fn may_be_answered(d: &Definition) -> bool {
    let is_open = |status: &u16| matches!(Outcome::from_status(Some(*status)), Outcome::Answered | Outcome::Unknown);
    d.statuses.is_empty() || d.statuses.iter().any(is_open)
}

/// Whether a regex can match only from the start of a text: each of its alternatives begins with `^`.
fn is_anchored(regex: &str) -> bool {
    regex_syntax::parse(regex).is_ok_and(|hir| hir.properties().look_set_prefix().contains(Look::Start))
}

#[cfg(test)]
mod tests;
