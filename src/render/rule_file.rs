//! Writes proposals as a rule file to review and load: one rule for each kind and class, with cases.
//!
//! Of a log it contains only paths, which are printable ASCII, and numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::analysis::labels::first;
use crate::analysis::learn::{Proposal, Proposals};

const HEAD: &str = "\
# Proposed by `probewatch learn`: paths that no rule names, that known probers requested and ordinary clients did not get.
# It is not loaded by itself. Delete paths of your own site, correct class and severity (they are guesses), and then run:
#
#   probewatch rules test FILE
#   probewatch scan --rules FILE access.log
#
# Without `at = \"root\"` a rule matches its paths below any folder as well.

family = \"learned\"
title = \"Paths that probers request, learned from logs\"
";

/// Writes the rule file, of the first `top` proposals.
///
/// # Errors
///
/// Those of `out`.
pub fn write<W: Write>(proposals: &Proposals<'_>, top: Option<usize>, out: &mut W) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    let mut rules: BTreeMap<&str, Vec<&Proposal<'_>>> = BTreeMap::new();
    for proposal in first(&proposals.proposals, top) {
        rules.entry(&proposal.rule).or_default().push(proposal);
    }
    rules.values().try_for_each(|proposals| out.write_all(rule(proposals).as_bytes()))
}

/// One rule of at least one proposal; all of them have its ID.
fn rule(proposals: &[&Proposal<'_>]) -> String {
    let one = proposals[0];
    let mut text = String::new();
    for (key, value) in [("id", &*one.rule), ("title", &*one.title), ("class", one.class), ("severity", one.severity.as_str())] {
        let start = if key == "id" { "\n[[rule]]\n" } else { "" };
        let _ = writeln!(text, "{start}{key} = {}", quoted(value));
    }
    text.push_str("at = \"root\"\npaths = [\n");
    for proposal in proposals {
        let Proposal { probers, others, requests, .. } = proposal;
        let (path, statuses) = (quoted(proposal.path), proposal.status_words().join(" "));
        let _ = writeln!(text, "    {path}, # probers {probers}, others {others}, requests {requests}: {statuses}");
    }
    text.push_str("]\n");
    let paths: Vec<_> = proposals.iter().map(|proposal| proposal.path).collect();
    for (key, cases) in [("must_match", must_match(&paths)), ("must_not_match", must_not_match(&paths))] {
        let cases: Vec<_> = cases.iter().map(|path| quoted(&format!("GET {path}"))).collect();
        let _ = writeln!(text, "{key} = [{}]", cases.join(", "));
    }
    text
}

/// The first path, the same one encoded and with a query, and the last path.
fn must_match(paths: &[&str]) -> Vec<String> {
    let (Some(one), Some(last)) = (paths.first(), paths.last()) else { return Vec::new() };
    let mut cases = vec![(*one).to_owned(), format!("{}?x=1", disguised(one))];
    if last != one {
        cases.push((*last).to_owned());
    }
    cases
}

/// The path with its last letter or digit percent-encoded.
fn disguised(path: &str) -> String {
    match path.rfind(|c: char| c.is_ascii_alphanumeric()) {
        Some(at) => format!("{}%{:02x}{}", &path[..at], path.as_bytes()[at], &path[at + 1..]),
        None => path.to_owned(),
    }
}

/// A longer name, and the same name in another folder.
fn must_not_match(paths: &[&str]) -> Vec<String> {
    let Some(one) = paths.first() else { return Vec::new() };
    let is_covered = |other: &str| paths.iter().any(|path| covers(path, other));
    let (mut longer, mut elsewhere) = (format!("{}-and-more", one.trim_end_matches('/')), format!("/elsewhere{one}"));
    while is_covered(&longer) {
        longer.push_str("-more");
    }
    while is_covered(&elsewhere) {
        elsewhere.insert_str(1, "some");
    }
    vec![longer, elsewhere]
}

/// Whether a rule on `path` at the root matches `other`.
fn covers(path: &str, other: &str) -> bool {
    let folder = path.trim_end_matches('/');
    other == path || other.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::render::rule_file::*;

    fn proposal<'a>(path: &'a str, rule: &str) -> Proposal<'a> {
        let class = "webshell";
        Proposal { path, rule: rule.to_owned(), title: "A \"title\"".to_owned(), class, severity: Severity::Low, ..Proposal::default() }
    }

    fn written(proposals: Vec<Proposal<'_>>, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write(&Proposals { proposals, ..Proposals::default() }, top, &mut out).expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn reads_as_toml_and_keeps_the_paths() {
        let text = written(vec![proposal("/a\"b\\.php", "learned/b"), proposal("/c'#", "learned/a"), proposal("/d", "learned/a")], Some(2));
        let file: toml::Table = toml::from_str(&text).expect("TOML");
        let rules = file["rule"].as_array().expect("rules");
        let of = |rule: usize, key: &str| rules[rule][key].clone();
        assert_eq!((of(0, "id"), of(1, "id")), ("learned/a".into(), "learned/b".into()));
        assert_eq!((of(0, "paths"), of(1, "paths")), (vec!["/c'#"].into(), vec!["/a\"b\\.php"].into()));
        assert_eq!(of(0, "must_match"), vec!["GET /c'#", "GET /%63'#?x=1"].into());
        assert_eq!(of(0, "must_not_match"), vec!["GET /c'#-and-more", "GET /elsewhere/c'#"].into());
    }

    #[test]
    fn a_must_not_match_case_is_no_other_path() {
        assert_eq!(must_not_match(&["/a/", "/a-and-more", "/elsewhere/"]), ["/a-and-more-more", "/someelsewhere/a/"]);
    }

    #[test]
    fn nothing_is_a_file_without_rules() {
        assert!(toml::from_str::<toml::Table>(&written(Vec::new(), None)).is_ok_and(|file| !file.contains_key("rule")));
    }
}
