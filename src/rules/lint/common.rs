//! Finds literals that are common in ordinary requests and so cost time on many lines.
//!
//! Each literal that is found costs a check of its rule. How common a literal is, is measured on a sample of ordinary traffic that
//! is embedded here: requests of plain sites, shops, forums and blogs, and user agents and referers of browsers, feed readers and
//! search engines. The sample is synthetic and small: what is common in it is common everywhere.

use std::collections::BTreeSet;

use super::super::definition::Field;
use super::super::literals::bit;
use super::super::load::LocatedRule;
use super::redundancy::LiteralList;
use super::{Diagnostic, LintLevel, report};

/// Ordinary request lines, in lower case.
const REQUESTS: &str = include_str!("requests.txt");
/// Ordinary user agents and referers, in lower case.
const HEADERS: &str = include_str!("headers.txt");

/// A literal may occur in one of this many requests ...
const ONE_IN_REQUESTS: usize = 20;
/// ... and in one of this many headers: most lines have the same few headers, which are cached as empty.
const ONE_IN_HEADERS: usize = 50;

/// Reports common literals of a rule.
pub(super) fn check(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
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
        let what = format!("{}: '{}' occurs in {seen} of {all} ordinary lines", list.key(), literal.escape_debug());
        report(rule, LintLevel::Warning, what, "make it longer or rarer; it costs time on each of those lines", found);
    }
}

/// The number of lines of a sample with a literal, and of all lines.
fn seen(literal: &str, sample: &str, begins: bool) -> (usize, usize) {
    let lines = || sample.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let holds = |line: &&str| if begins { line.starts_with(literal) } else { line.contains(literal) };
    (lines().filter(holds).count(), lines().count())
}

/// Whether a text is anywhere in a sample: most are not, and need no counting.
fn is_there(text: &str, sample: &str) -> bool {
    memchr::memmem::find(sample.as_bytes(), text.as_bytes()).is_some()
}

/// Whether a text is too common in ordinary requests or headers to be useful.
pub(in crate::rules) fn is_common(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // Imported words are optional, so the stricter limit is used for both.
    [REQUESTS, HEADERS].iter().any(|sample| {
        let (seen, all) = seen(&text, sample, false);
        seen * ONE_IN_HEADERS > all
    })
}

/// Whether ordinary clients request this path: it is a whole path of the sample.
#[must_use]
pub(crate) fn is_ordinary(path: &str) -> bool {
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
            assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "a line is listed twice");
        }
    }

    #[test]
    fn start_pages_are_ordinary() {
        assert!(is_ordinary("/") && is_ordinary("/index.html") && is_ordinary("/Login/"));
        assert!(!is_ordinary("/old-admin.php"));
    }
}
