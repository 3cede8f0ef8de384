//! How a rule is written: title, id, references to the catalogues of others, cases.
//!
//! Looks at one rule alone, and not at whether its cases hold: that is what `rules test` is for.

use super::super::load::LocatedRule;
use super::super::pattern::Pattern;
use super::{Diagnostic, LintLevel, few, report};

/// Fewest `must_match` cases, and fewest `must_not_match` cases, of a rule.
const CASES: usize = 2;

/// The first year of a CVE id.
const FIRST_YEAR: u16 = 1999;

/// The highest CWE number that there may be for a good while.
const HIGHEST_CWE: u32 = 2000;

pub(super) fn check(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    title(rule, found);
    family(rule, found);
    catalogues(rule, found);
    cases(rule, found);
    regex(rule, found);
}

fn title(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let title = &rule.definition.title;
    let first = title.split(' ').next().unwrap_or_default();
    // A product may be called phpMyAdmin.
    if title.trim().is_empty() {
        report(rule, LintLevel::Error, "it has no title".into(), "say in a few words what it finds", found);
    } else if first.starts_with(|c: char| c.is_lowercase()) && !first.contains(char::is_uppercase) {
        report(rule, LintLevel::Warning, format!("its title '{title}' begins with a small letter"), "begin with a capital", found);
    } else if title.ends_with('.') {
        report(rule, LintLevel::Warning, format!("its title '{title}' ends with a full stop"), "leave it out", found);
    }
}

fn family(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let family = rule.definition.id.split('/').next().unwrap_or_default();
    if !rule.family.is_empty() && rule.family != family {
        let what = format!("the file's family is '{}'", rule.family);
        report(rule, LintLevel::Error, what, "put the rule into the file of its family, or give it an id of this one", found);
    }
}

/// CVE, ATT&CK, CWE, pages.
fn catalogues(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
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

fn cases(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let (must, must_not) = (rule.definition.must_match.len(), rule.definition.must_not_match.len());
    if must >= CASES && must_not >= CASES {
        return;
    }
    let level = if rule.is_builtin { LintLevel::Error } else { LintLevel::Warning };
    let what = format!("it has {must} must_match and {must_not} must_not_match cases");
    report(rule, level, what, "give it two of each: requests that it must match, and ordinary requests that are similar", found);
}

fn regex(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let matches_nothing = |source: &String| Pattern::later(source.clone()).is_match(b"");
    if rule.definition.regex.as_ref().is_some_and(matches_nothing) {
        report(rule, LintLevel::Error, "its regex matches the empty text, so it says nothing".into(), "drop it or tighten it", found);
    }
    let unless = rule.definition.unless.iter();
    if unless.flat_map(|u| u.regex.iter().chain(&u.referer)).any(matches_nothing) {
        let what = "the regex of its `unless` matches the empty text, so the rule never matches";
        report(rule, LintLevel::Error, what.into(), "tighten it", found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (text, expected) in [("T1190", true), ("T1595.002", true), ("T119", false), ("1190", false), ("T1595.02", false)] {
            assert_eq!(is_technique(text), expected, "{text}");
        }
        assert!(is_page("https://owasp.org/a") && !is_page("owasp.org") && !is_page("https://a b"));
    }
}
