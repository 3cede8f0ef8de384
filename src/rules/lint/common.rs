//! Literals that cost time on every line: those that stand in ordinary requests.
//!
//! A literal that is found leads to a question, and a question on each line is what the automaton is there to avoid. How
//! common one is, is measured on a sample of ordinary traffic that is kept here as data: requests of plain sites, shops,
//! forums and blogs, and the agents and referers of browsers, feed readers and search engines. It is made up, and small:
//! what it calls common is common everywhere.

use std::collections::BTreeSet;

use super::super::definition::Field;
use super::super::literals::bit;
use super::super::load::LocatedRule;
use super::literal::{LiteralList, fields};
use super::{Diagnostic, LintLevel, report};

/// Ordinary request lines, in lower case.
const REQUESTS: &str = include_str!("requests.txt");
/// Ordinary user agents and referers, in lower case.
const HEADERS: &str = include_str!("headers.txt");

/// A literal may stand in one of so many requests ...
const ONE_IN_REQUESTS: usize = 20;
/// ... and in one of so many headers: those of nearly every line are the same few, and are known to hold none.
const ONE_IN_HEADERS: usize = 50;

/// Names the literals of a rule that are common.
pub(super) fn check(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let in_headers = bit::of_field(Field::Referer) | bit::of_field(Field::UserAgent);
    for list in LiteralList::ALL {
        let samples: &[(&str, usize)] = match list {
            LiteralList::Agents => &[(HEADERS, ONE_IN_HEADERS)],
            LiteralList::Words => match fields(&rule.definition) {
                mask if mask & !in_headers == 0 => &[(HEADERS, ONE_IN_HEADERS)],
                mask if mask & in_headers == 0 => &[(REQUESTS, ONE_IN_REQUESTS)],
                _ => &[(REQUESTS, ONE_IN_REQUESTS), (HEADERS, ONE_IN_HEADERS)],
            },
            _ => &[(REQUESTS, ONE_IN_REQUESTS)],
        };
        // The start of a request is looked at as a whole: what stands elsewhere in it does not count.
        let begins = list == LiteralList::Prefixes;
        let literals: BTreeSet<String> = list.of(&rule.definition).iter().map(|text| list.literal(text)).collect();
        for literal in literals {
            for &sample in samples {
                tell(rule, list, &literal, sample, begins, found);
            }
        }
    }
}

fn tell(rule: &LocatedRule, list: LiteralList, literal: &str, (sample, one_in): (&str, usize), begins: bool, found: &mut Vec<Diagnostic>) {
    if !is_there(literal, sample) {
        return;
    }
    let (seen, all) = seen(literal, sample, begins);
    if seen * one_in > all {
        let what = format!("{}: '{}' stands in {seen} of {all} ordinary lines", list.key(), literal.escape_debug());
        report(rule, LintLevel::Warning, what, "make it longer or rarer; it is a question on each of those lines", found);
    }
}

/// In how many lines of a sample a literal stands, and how many lines there are.
fn seen(literal: &str, sample: &str, begins: bool) -> (usize, usize) {
    let lines = || sample.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let holds = |line: &&str| if begins { line.starts_with(literal) } else { line.contains(literal) };
    (lines().filter(holds).count(), lines().count())
}

/// Whether a text stands anywhere in a sample: most do not, and need no counting.
fn is_there(text: &str, sample: &str) -> bool {
    memchr::memmem::find(sample.as_bytes(), text.as_bytes()).is_some()
}

/// Whether a text stands in so many ordinary requests or headers that it says nothing.
pub(in crate::rules) fn is_common(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // Of others' words none has to be taken, so the stricter measure will do for both.
    [REQUESTS, HEADERS].iter().any(|sample| {
        let (seen, all) = seen(&text, sample, false);
        seen * ONE_IN_HEADERS > all
    })
}

/// Whether ordinary clients ask for this path: it stands in the sample as a whole path.
#[must_use]
pub fn is_ordinary(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    if !is_there(path.trim_end_matches('/'), REQUESTS) {
        return false;
    }
    REQUESTS.lines().filter(|line| !line.starts_with('#')).any(|line| {
        let target = line.split(' ').nth(1).unwrap_or_default();
        target.split('?').next().is_some_and(|asked| asked.trim_end_matches('/') == path.trim_end_matches('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_is_what_stands_in_one_of_fifty_lines() {
        for literal in [".php", " HTTP/", "index", "/a", "?", "mozilla", "Chrome/", "https://"] {
            assert!(is_common(literal), "{literal}");
        }
        for literal in ["../", "union", "/.env", "eval-stdin", "<script", "sqlmap"] {
            assert!(!is_common(literal), "{literal}");
        }
    }

    #[test]
    fn the_samples_are_large_enough_to_say_one_in_fifty() {
        for sample in [REQUESTS, HEADERS] {
            let lines: Vec<_> = sample.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(lines.len() >= 2 * ONE_IN_HEADERS, "{}", lines.len());
            assert!(lines.iter().all(|line| **line == line.to_ascii_lowercase()));
            assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "a line stands there twice");
        }
    }

    #[test]
    fn start_pages_are_ordinary() {
        assert!(is_ordinary("/") && is_ordinary("/index.html") && is_ordinary("/Login/"));
        assert!(!is_ordinary("/old-admin.php"));
    }
}
