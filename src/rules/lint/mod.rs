//! Lints for rules that load: redundant rules, common literals, missing cases, invalid metadata,
//! unsafe exceptions.
//!
//! It reports problems and changes nothing. It uses the engine only through a function of the
//! caller; `rules test` runs the cases.
//!
//! The metadata are title, id, CVE, ATT&CK and CWE numbers, references, and the number of cases. An
//! exception is unsafe if an attacker could use it to hide a payload or an answer. The engine lets
//! no header exempt a request that was answered; the lint covers what the engine cannot know: which
//! text of a request selects the resource, and which text was only added.
//!
//! Each literal that is found costs a check of its rule. How common a literal is, is measured on a
//! sample of ordinary traffic that is embedded here: requests of plain sites, shops, forums and
//! blogs, and user agents and referers of browsers, feed readers and search engines. The sample is
//! synthetic and small: what is common in it is common everywhere.

mod redundancy;

use std::collections::BTreeSet;
use std::fmt;

use regex_syntax::hir::Look;
use regex_syntax::hir::literal::{Extractor, Literal};

use self::redundancy::LiteralList;
use super::compile::compile;
use super::definition::{AnswerMeaning, Case, Class, Definition, Field, LocatedRule, Unless};
use super::error::RuleError;
use super::literals::bit;
use super::load::{RuleChoice, selected_rules};
use super::pattern::RulePattern;
use super::set::RuleSet;
use crate::log::finding::RuleId;
use crate::log::log_entry::Outcome;

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
        let Self {
            file,
            line,
            id,
            level,
            what,
            advice,
        } = self;
        let level = if *level == LintLevel::Error {
            "error"
        } else {
            "warning"
        };
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
    /// As for [`load`](super::load): rules that do not load are not checked.
    pub(crate) fn load(choice: &RuleChoice) -> Result<Self, RuleError> {
        let rules = selected_rules(&RuleChoice {
            with_cases: true,
            ..choice.clone()
        })?
        .rules;
        let set = compile(rules.clone())?;
        Ok(Self { rules, set })
    }

    /// The rules, compiled, in their order.
    #[must_use]
    pub(crate) fn set(&self) -> &RuleSet {
        &self.set
    }

    /// All diagnostics, by file and line. `verdict` returns the rules that match a case.
    pub(crate) fn diagnostics(&self, verdict: impl FnMut(&Case) -> Vec<RuleId>) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for rule in &self.rules {
            check_metadata(rule, &mut found);
            check_common_literals(rule, &mut found);
            check_exceptions(rule, &mut found);
        }
        redundancy::check(&self.rules, verdict, &mut found);
        found.sort_by(|a, b| {
            (&a.file, a.line, a.level, &a.what).cmp(&(&b.file, b.line, b.level, &b.what))
        });
        found
    }
}

/// Adds a diagnostic of a rule.
fn report(
    rule: &LocatedRule,
    level: LintLevel,
    what: String,
    advice: &str,
    found: &mut Vec<Diagnostic>,
) {
    let id = rule.definition.id.clone();
    found.push(Diagnostic {
        file: rule.file.to_string(),
        line: rule.line,
        id,
        level,
        what,
        advice: advice.to_owned(),
    });
}

/// The first items of a list, quoted, and the number of the others.
fn list_first<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let items: Vec<_> = items
        .into_iter()
        .map(|item| format!("'{}'", item.escape_debug()))
        .collect();
    let shown = items[..items.len().min(SHOWN)].join(", ");
    match items.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Fewest `must_match` cases, and fewest `must_not_match` cases, of a rule.
const MIN_CASES: usize = 2;

/// The first year of a CVE id.
const MIN_CVE_YEAR: u16 = 1999;

/// The highest plausible CWE number.
const MAX_CWE: u32 = 2000;

fn check_metadata(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    check_title(rule, found);
    check_family(rule, found);
    check_identifiers(rule, found);
    check_case_count(rule, found);
    check_regex(rule, found);
}

fn check_title(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let title = &rule.definition.title;
    let first = title.split(' ').next().unwrap_or_default();
    // A product may be called phpMyAdmin.
    if title.trim().is_empty() {
        report(
            rule,
            LintLevel::Error,
            "it has no title".into(),
            "describe in a few words what it finds",
            found,
        );
    } else if first.starts_with(|c: char| c.is_lowercase()) && !first.contains(char::is_uppercase) {
        report(
            rule,
            LintLevel::Warning,
            format!("its title '{title}' begins with a lower-case letter"),
            "begin with a capital letter",
            found,
        );
    } else if title.ends_with('.') {
        report(
            rule,
            LintLevel::Warning,
            format!("its title '{title}' ends with a full stop"),
            "remove it",
            found,
        );
    }
}

fn check_family(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let family = rule.definition.id.split('/').next().unwrap_or_default();
    if !rule.family.is_empty() && *rule.family != *family {
        let what = format!("the file's family is '{}'", rule.family);
        report(
            rule,
            LintLevel::Error,
            what,
            "put the rule into the file of its family, or give it an id of this one",
            found,
        );
    }
}

/// Checks CVE IDs, ATT&CK techniques, CWE numbers and URLs.
fn check_identifiers(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let mut report_invalid = |key: &str, items: Vec<&str>, advice: &str| {
        if !items.is_empty() {
            report(
                rule,
                LintLevel::Error,
                format!("{key}: {} cannot be looked up", list_first(items)),
                advice,
                found,
            );
        }
    };
    let invalid = |list: &'_ [String], is: fn(&str) -> bool| -> Vec<String> {
        list.iter().filter(|text| !is(text)).cloned().collect()
    };
    report_invalid(
        "cve",
        invalid(&d.cve, is_cve).iter().map(String::as_str).collect(),
        "write CVE-2021-41773, in capitals",
    );
    report_invalid(
        "attack",
        invalid(&d.attack, is_technique)
            .iter()
            .map(String::as_str)
            .collect(),
        "write T1190 or T1595.002",
    );
    report_invalid(
        "references",
        invalid(&d.references, is_page)
            .iter()
            .map(String::as_str)
            .collect(),
        "write an address that begins with https://",
    );
    let cwe: Vec<_> = d
        .cwe
        .iter()
        .filter(|n| !(1..=MAX_CWE).contains(*n))
        .map(ToString::to_string)
        .collect();
    report_invalid(
        "cwe",
        cwe.iter().map(String::as_str).collect(),
        "write the number of the weakness, such as 22",
    );
}

fn is_cve(text: &str) -> bool {
    let Some((year, number)) = text
        .strip_prefix("CVE-")
        .and_then(|rest| rest.split_once('-'))
    else {
        return false;
    };
    year.len() == 4
        && year.parse::<u16>().is_ok_and(|year| year >= MIN_CVE_YEAR)
        && (4..=7).contains(&number.len())
        && number.bytes().all(|b| b.is_ascii_digit())
}

fn is_technique(text: &str) -> bool {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let Some(rest) = text.strip_prefix('T') else {
        return false;
    };
    match rest.split_once('.') {
        Some((technique, sub)) => digits(technique, 4) && digits(sub, 3),
        None => digits(rest, 4),
    }
}

fn is_page(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.strip_prefix(scheme)
            .is_some_and(|rest| rest.len() > 3 && !rest.contains(' '))
    })
}

fn check_case_count(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let (must, must_not) = (
        rule.definition.must_match.len(),
        rule.definition.must_not_match.len(),
    );
    if must >= MIN_CASES && must_not >= MIN_CASES {
        return;
    }
    let level = if rule.is_builtin {
        LintLevel::Error
    } else {
        LintLevel::Warning
    };
    let what = format!("it has {must} must_match and {must_not} must_not_match cases");
    report(
        rule,
        level,
        what,
        "give it two of each: requests that it must match, and ordinary requests that are similar",
        found,
    );
}

fn check_regex(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let matches_nothing = |source: &String| RulePattern::lazy(source.clone()).is_match(b"");
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
    if unless
        .flat_map(|u| u.regex.iter().chain(&u.referer))
        .any(matches_nothing)
    {
        let what = "the regex of its `unless` matches the empty text, so the rule never matches";
        report(
            rule,
            LintLevel::Error,
            what.into(),
            "make it stricter",
            found,
        );
    }
}

fn check_exceptions(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let Some(unless) = d.unless.as_ref().filter(|_| !d.is_app_evidence) else {
        return;
    };
    let has_payload = Class::is_payload(&d.class);
    if has_payload {
        check_header_exceptions(rule, unless, found);
    } else if let Some(referer) = unless
        .referer
        .as_ref()
        .filter(|regex| !is_of_one_site(regex))
    {
        let what = format!(
            "unless.referer: found '{referer}', which referers of other sites match too, and any scanner sends one; expected a regex that begins with '^', a scheme and the host of one site"
        );
        let advice = r"remove `referer`, or type the host of the site: referer = '^https?://www\.example\.org/'";
        report(rule, LintLevel::Error, what, advice, found);
    }
    // A rule with a regex removes only the excepted text; and if nothing was answered, only a
    // payload can be lost.
    let is_whole = d.regex.is_none() && !(unless.words.is_empty() && unless.regex.is_none());
    if is_whole && (has_payload || (d.answer() == AnswerMeaning::Exposes && may_be_answered(d))) {
        check_text_exceptions(rule, unless, has_payload, found);
    }
}

fn check_header_exceptions(rule: &LocatedRule, unless: &Unless, found: &mut Vec<Diagnostic>) {
    let keys = [
        ("unless.referer", unless.referer.is_some()),
        ("unless.agents", !unless.agents.is_empty()),
    ];
    for (key, _) in keys.into_iter().filter(|(_, is_set)| *is_set) {
        let what = format!(
            "{key}: requests of class '{}' carry a payload, and any client can send such a header",
            rule.definition.class
        );
        report(
            rule,
            LintLevel::Error,
            what,
            "remove it, and make the rule stricter",
            found,
        );
    }
}

fn check_text_exceptions(
    rule: &LocatedRule,
    unless: &Unless,
    has_payload: bool,
    found: &mut Vec<Diagnostic>,
) {
    let d = &rule.definition;
    let is_unsafe = |field: &&Field| has_payload || **field != Field::Path;
    let fields: Vec<_> = d
        .fields()
        .iter()
        .filter(is_unsafe)
        .map(|field| field.name())
        .collect();
    if !fields.is_empty() {
        let what = format!(
            "unless: it exempts the whole request by a text in {}, to which any client can add",
            list_first(fields)
        );
        let advice = if has_payload {
            "give the rule a regex, so that only the text itself is exempted"
        } else {
            "set `fields = [\"path\"]`, or give the rule a regex"
        };
        report(rule, LintLevel::Error, what, advice, found);
    } else if !unless.words.is_empty()
        || unless
            .regex
            .as_ref()
            .is_some_and(|regex| !is_anchored(regex))
    {
        let what = "unless: it exempts a path by a text anywhere in it, and a server may run /x.php for /x.php/any/text".into();
        report(
            rule,
            LintLevel::Error,
            what,
            "write a regex that begins with '^' and names all of the path before that text",
            found,
        );
    }
}

/// Whether the rule can match a request that was answered.
fn may_be_answered(d: &Definition) -> bool {
    let is_open = |status: &u16| {
        matches!(
            Outcome::from_status(Some(*status)),
            Outcome::Answered | Outcome::Unknown
        )
    };
    d.statuses.is_empty() || d.statuses.iter().any(is_open)
}

/// Whether a regex can match only from the start of a text: each of its alternatives begins with
/// `^`.
fn is_anchored(regex: &str) -> bool {
    regex_syntax::parse(regex)
        .is_ok_and(|hir| hir.properties().look_set_prefix().contains(Look::Start))
}

/// Whether a regex matches only URLs of one host: it is anchored, and each text that it can begin
/// with has a scheme and all of that host.
fn is_of_one_site(regex: &str) -> bool {
    let Ok(hir) = regex_syntax::parse(regex) else {
        return false;
    };
    let starts = Extractor::new().extract(&hir);
    let host_of = |start: &Literal| {
        let url = std::str::from_utf8(start.as_bytes()).ok()?;
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"))?;
        rest.split_once('/')
            .map(|(host, _)| host.to_owned())
            .filter(|host| !host.is_empty())
    };
    let hosts: Option<BTreeSet<String>> = starts
        .literals()
        .and_then(|starts| starts.iter().map(host_of).collect());
    is_anchored(regex) && hosts.is_some_and(|hosts| hosts.len() == 1)
}

/// Ordinary request lines, in lower case.
const REQUESTS: &str = include_str!("requests.txt");
/// Ordinary user agents and referers, in lower case.
const HEADERS: &str = include_str!("headers.txt");

/// A literal that occurs in more than one of this many requests is common.
const ONE_IN_REQUESTS: usize = 20;
/// A literal that occurs in more than one of this many headers is common: most lines have the same
/// few headers, for which the search is cached if nothing was found.
const ONE_IN_HEADERS: usize = 50;

/// Reports common literals of a rule.
fn check_common_literals(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let in_headers = bit::of_field(Field::Referer) | bit::of_field(Field::UserAgent);
    for list in LiteralList::ALL {
        let samples: &[(&str, usize)] = match list {
            LiteralList::Agents => &[(HEADERS, ONE_IN_HEADERS)],
            LiteralList::Words => match rule.definition.field_mask() {
                mask if mask & !in_headers == 0 => &[(HEADERS, ONE_IN_HEADERS)],
                mask if mask & in_headers == 0 => &[(REQUESTS, ONE_IN_REQUESTS)],
                _ => &[(REQUESTS, ONE_IN_REQUESTS), (HEADERS, ONE_IN_HEADERS)],
            },
            _ => &[(REQUESTS, ONE_IN_REQUESTS)],
        };
        // Prefixes count only at the start of a request.
        let at_start = list == LiteralList::Prefixes;
        let literals: BTreeSet<String> = list
            .literals(&rule.definition)
            .iter()
            .map(|text| list.search_text(text))
            .collect();
        for literal in literals {
            for &sample in samples {
                report_if_common(rule, list, &literal, sample, at_start, found);
            }
        }
    }
}

fn report_if_common(
    rule: &LocatedRule,
    list: LiteralList,
    literal: &str,
    (sample, one_in): (&str, usize),
    at_start: bool,
    found: &mut Vec<Diagnostic>,
) {
    if !occurs_in(literal, sample) {
        return;
    }
    let (seen, all) = count_lines(literal, sample, at_start);
    if seen * one_in > all {
        let what = format!(
            "{}: '{}' occurs in {seen} of {all} ordinary lines",
            list.key(),
            literal.escape_debug()
        );
        report(
            rule,
            LintLevel::Warning,
            what,
            "make it longer or rarer; it costs time on each of those lines",
            found,
        );
    }
}

/// The number of lines of a sample that contain a literal, or start with it, and of all lines.
fn count_lines(literal: &str, sample: &str, at_start: bool) -> (usize, usize) {
    let lines = || {
        sample
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    let holds = |line: &&str| {
        if at_start {
            line.starts_with(literal)
        } else {
            line.contains(literal)
        }
    };
    (lines().filter(holds).count(), lines().count())
}

/// Whether a text occurs in a sample. Most do not, so that their lines need not be counted.
fn occurs_in(text: &str, sample: &str) -> bool {
    memchr::memmem::find(sample.as_bytes(), text.as_bytes()).is_some()
}

/// Whether a text is too common in ordinary requests or headers to be useful.
pub(super) fn is_common(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // Imported words are optional, so the stricter limit is used for both.
    [REQUESTS, HEADERS].iter().any(|sample| {
        let (seen, all) = count_lines(&text, sample, false);
        seen * ONE_IN_HEADERS > all
    })
}

/// Whether ordinary clients request this path: it is a whole path of the sample.
#[must_use]
pub(crate) fn is_ordinary(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    if !occurs_in(path.trim_end_matches('/'), REQUESTS) {
        return false;
    }
    REQUESTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .any(|line| {
            let target = line.split(' ').nth(1).unwrap_or_default();
            target.split('?').next().is_some_and(|requested| {
                requested.trim_end_matches('/') == path.trim_end_matches('/')
            })
        })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The diagnostics of rules, if every rule matches every case.
    fn messages(rules: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        fs::write(&path, rules).unwrap();
        let choice = RuleChoice {
            paths: vec![path],
            no_builtin: true,
            ..RuleChoice::default()
        };
        let lint = Lint::load(&choice).unwrap();
        let all: Vec<_> = (0..lint.set().rules().len() as u16).map(RuleId).collect();
        lint.diagnostics(|_| all.clone())
            .iter()
            .map(|c| format!("{}: {}", c.id, c.what))
            .collect()
    }

    fn rule(name: &str, keys: &str) -> String {
        let cases = "must_match = ['GET /1', 'GET /2']\nmust_not_match = ['GET /3', 'GET /4']";
        format!(
            "[[rule]]\nid = 'x/{name}'\ntitle = 'T'\nclass = 'panel'\nseverity = 'medium'\n{keys}\n{cases}\n"
        )
    }

    #[test]
    fn a_clean_rule_has_no_diagnostics() {
        assert_eq!(
            messages(&(rule("a", "paths = ['/zz-one']") + &rule("b", "paths = ['/zz-two']"))),
            [""; 0]
        );
    }

    #[test]
    fn a_literal_in_two_rules_is_reported() {
        assert_eq!(
            messages(&(rule("a", "paths = ['/zz', '/yy']") + &rule("b", "paths = ['/ZZ', '/xx']"))),
            ["x/b: paths: '/ZZ' is in 'x/a' too"]
        );
        assert_eq!(
            messages(&rule("a", "paths = ['/zz', '/ZZ']")),
            ["x/a: paths: '/ZZ' is listed twice"]
        );
        // The same word with another regex is another rule.
        let others = rule("a", "words = ['zzz']\nregex = 'zzza'")
            + &rule("b", "words = ['zzz']\nregex = 'zzzb'");
        assert_eq!(messages(&others), [""; 0]);
        let methods = rule("a", "paths = ['/zz']\nmethods = ['POST']")
            + &rule("b", "paths = ['/zz']\nmethods = ['PUT']");
        assert_eq!(messages(&methods), [""; 0]);
    }

    #[test]
    fn a_redundant_rule_is_reported() {
        for (a, b) in [
            ("paths = ['/q/.zz/config']", "paths = ['/.zz']"),
            ("paths = ['/a/x.zz9']", "suffixes = ['.zz9']"),
            ("suffixes = ['.a.zz9']", "suffixes = ['.zz9']"),
            ("paths = ['/q/zzz/x']", "words = ['/zzz/']"),
            ("words = ['zzzy']", "words = ['zzz']"),
            ("agents = ['zzzy/1']", "agents = ['zzzy']"),
            (r"raw_prefixes = ['zzzy']", "raw_prefixes = ['zzz']"),
            (
                "paths = ['/q/zz']\nat = 'root'",
                "paths = ['/q']\nat = 'root'",
            ),
        ] {
            assert_eq!(
                messages(&(rule("a", a) + &rule("b", b))),
                ["x/a: all it finds is found by 'x/b' already"],
                "{a}"
            );
        }
        for (a, b) in [
            ("paths = ['/q/.zzconfig']", "paths = ['/.zz']"),
            ("paths = ['/q/zz']", "paths = ['/q']\nat = 'root'"),
            (
                "paths = ['/q/zzz/x']",
                "words = ['/zzz/']\nfields = ['query']",
            ),
            ("paths = ['/q/zz/a']", "paths = ['/zz']\nmethods = ['POST']"),
            (
                "paths = ['/q/zz/a']\ncve = ['CVE-2020-1234']",
                "paths = ['/zz']",
            ),
        ] {
            assert_eq!(messages(&(rule("a", a) + &rule("b", b))), [""; 0], "{a}");
        }
    }

    #[test]
    fn a_redundant_literal_is_reported() {
        let rules = rule("a", "paths = ['/q/zz/a', '/yy']") + &rule("b", "paths = ['/zz']");
        assert_eq!(
            messages(&rules),
            ["x/a: paths: '/q/zz/a' is found by 'x/b' already"]
        );
        assert_eq!(
            messages(&rule("a", "paths = ['/zz', '/q/zz/a']")),
            ["x/a: paths: found by another one of the same list: '/q/zz/a by /zz'"]
        );
        assert_eq!(
            messages(&rule("a", "words = ['zzz', 'zzzy']\nregex = 'z'")),
            ["x/a: words: found by another one of the same list: 'zzzy by zzz'"]
        );
    }

    #[test]
    fn common_literals_are_reported() {
        let messages = messages(
            &(rule("a", "words = ['?']\nmethods = ['PUT']")
                + &rule("b", "words = [' http/']")
                + &rule("c", "agents = ['gecko']")),
        );
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(
            messages[0].starts_with("x/a: words: '?' occurs in ")
                && messages[2].starts_with("x/c: agents: 'gecko'"),
            "{messages:?}"
        );
    }

    #[test]
    fn metadata_is_checked() {
        let rules = "family = 'y'\n".to_owned()
            + &rule("a", "paths = ['/zz1']\ncve = ['CVE-1']\nattack = ['x']\ncwe = [0]\nreferences = ['owasp']").replace("'T'", "'small.'")
            + "[[rule]]\nid = 'y/none'\ntitle = ' '\nclass = 'panel'\nseverity = 'low'\nwords = ['zzz']\nregex = 'z*'\nmust_match = ['GET /zzz']\n";
        let messages = messages(&rules).join("\n");
        for part in [
            "x/a: the file's family is 'y'",
            "cve: 'CVE-1'",
            "attack: 'x'",
            "cwe: '0'",
            "references: 'owasp'",
            "begins with a lower-case letter",
            "y/none: it has 1 must_match and 0 must_not_match cases",
            "y/none: it has no title",
            "matches the empty text",
        ] {
            assert!(messages.contains(part), "{part} in {messages}");
        }
    }

    #[test]
    fn exceptions_that_a_client_can_add_are_reported() {
        let of_class = |class: &str, keys: &str| {
            messages(&rule("a", keys).replace("'panel'", &format!("'{class}'"))).join("\n")
        };
        for (class, keys, what) in [
            (
                "sqli",
                "words = ['zzz']\nregex = 'zzz'\nunless = { referer = '://' }",
                "x/a: unless.referer: requests of class 'sqli'",
            ),
            (
                "lfi",
                "paths = ['/zz']\nunless = { agents = ['bot9'] }",
                "x/a: unless.agents: requests of class 'lfi'",
            ),
            (
                "xss",
                "words = ['zzz']\nunless = { words = ['yyy'] }",
                "in 'path', 'query', to which any client can add",
            ),
            (
                "rce",
                "words = ['zzz']\nfields = ['path']\nunless = { regex = '^/yyy' }",
                "in 'path', to which any client can add",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { words = ['yyy'] }",
                "in 'query', to which any client can add",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '://' }",
                "x/a: unless.referer: found '://', which referers of other sites match too",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '/admin/' }",
                "expected a regex that begins with '^', a scheme and the host",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '^https?://[^/]+/admin/' }",
                "the host of one site",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '^https?://www\\.example\\.org' }",
                "the host of one site",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = 'https?://www\\.example\\.org/' }",
                "the host of one site",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '^https://(?:a\\.example|b\\.example)/' }",
                "the host of one site",
            ),
            (
                "panel",
                "paths = ['/zz']\nfields = ['referer']\nunless = { words = ['://'] }",
                "in 'referer', to which any client can add",
            ),
            (
                "panel",
                "paths = ['/zz']\nfields = ['path']\nunless = { regex = '/yyy$' }",
                "a text anywhere in it",
            ),
            (
                "panel",
                "paths = ['/zz']\nfields = ['path']\nunless = { words = ['/yyy'] }",
                "a text anywhere in it",
            ),
        ] {
            let messages = of_class(class, keys);
            assert!(messages.contains(what), "{class} {keys}: {messages}");
        }
        for (class, keys) in [
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '^https?://www\\.example\\.org/', agents = ['bot9'] }",
            ),
            (
                "panel",
                "paths = ['/zz']\nunless = { referer = '^https?://www\\.example\\.org:8443/admin/' }",
            ),
            (
                "panel",
                "paths = ['/zz']\nstatuses = [404]\nunless = { words = ['yyy'] }",
            ),
            (
                "panel",
                "paths = ['/zz']\nfields = ['path']\nunless = { regex = '^/yyy/zz$' }",
            ),
            (
                "panel",
                "paths = ['/zz']\nanswer = 'inconclusive'\nfields = ['query']\nunless = { words = ['yyy'] }",
            ),
            (
                "sqli",
                "words = ['zzz']\nregex = 'zzz'\nunless = { words = ['yyy'] }",
            ),
        ] {
            assert_eq!(of_class(class, keys), "", "{class} {keys}");
        }
    }

    #[test]
    fn catalogue_numbers_have_a_form() {
        for (text, expected) in [
            ("CVE-2021-41773", true),
            ("CVE-2021-123", false),
            ("cve-2021-41773", false),
            ("CVE-21-41773", false),
            ("CVE-2021-4177x", false),
        ] {
            assert_eq!(is_cve(text), expected, "{text}");
        }
        for (text, expected) in [
            ("T1190", true),
            ("T1595.002", true),
            ("T119", false),
            ("1190", false),
            ("T1595.02", false),
        ] {
            assert_eq!(is_technique(text), expected, "{text}");
        }
        assert!(is_page("https://owasp.org/a") && !is_page("owasp.org") && !is_page("https://a b"));
    }

    #[test]
    fn a_regex_is_anchored_if_each_alternative_is() {
        for (regex, expected) in [
            ("^/a", true),
            ("^/a|^/b", true),
            ("^/(?:a|b)[|)]", true),
            (r"^/a\||/b", false),
            ("^/a|/b", false),
            ("/a", false),
            ("", false),
        ] {
            assert_eq!(is_anchored(regex), expected, "{regex}");
        }
    }

    #[test]
    fn a_text_in_one_of_fifty_lines_is_common() {
        for literal in [
            ".php", " HTTP/", "index", "/a", "?", "mozilla", "Chrome/", "https://",
        ] {
            assert!(is_common(literal), "{literal}");
        }
        for literal in ["../", "union", "/.env", "eval-stdin", "<script", "sqlmap"] {
            assert!(!is_common(literal), "{literal}");
        }
    }

    #[test]
    fn the_samples_have_at_least_a_hundred_lines() {
        for sample in [REQUESTS, HEADERS] {
            let lines: Vec<_> = sample
                .lines()
                .filter(|line| !line.starts_with('#'))
                .collect();
            assert!(lines.len() >= 2 * ONE_IN_HEADERS, "{}", lines.len());
            assert!(lines.iter().all(|line| **line == line.to_ascii_lowercase()));
            assert_eq!(
                lines.iter().collect::<BTreeSet<_>>().len(),
                lines.len(),
                "a line is listed twice"
            );
        }
    }

    #[test]
    fn start_pages_are_ordinary() {
        assert!(is_ordinary("/") && is_ordinary("/index.html") && is_ordinary("/Login/"));
        assert!(!is_ordinary("/old-admin.php"));
    }
}
