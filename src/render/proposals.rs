//! Prints the proposals of `learn`: as a table for people, as a JSON document, and as a rule file
//! to review and load.
//!
//! The keys of the JSON document are stable: new ones may be added. The rule file has one rule for
//! each kind and class, with cases. Of a log it contains only paths, which are printable ASCII.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use super::hit_fields::ObjectFields;
use super::json::{GENERATED_BY, input};
use super::layout::{BOLD, DIM, Grid, TextPage, minute, styled};
use super::table::without_time;
use crate::log::time::LogTime;
use crate::render::RenderOptions;
use crate::report::labels::first;
use crate::report::learn::{Proposal, Proposals};
use crate::scan::input_summary::LineTotals;
use crate::scan::input_summary::skipped_sentence;
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// A proposal and its rank.
type Ranked<'r> = (u64, &'r Proposal<'r>);

/// The proposals as text.
pub(crate) fn table(proposals: &Proposals<'_>, options: &RenderOptions) -> String {
    let mut page = TextPage::new(options);
    page.wrapped(0, BOLD, &headline(proposals));
    if !proposals.rules.is_empty() {
        page.heading("UNLISTED PATHS");
        let shown = first(&proposals.rules, Some(page.top));
        let ranked: Vec<_> = (1..).zip(shown).collect();
        grid(&ranked).write(&mut page);
        page.more(proposals.rules.len(), [""; 2], "-f csv");
    }
    write_notes(proposals, &mut page);
    page.text
}

fn headline(proposals: &Proposals<'_>) -> String {
    let probers = counted(
        proposals.probers,
        "client is known to probe",
        "clients are known to probe",
    );
    let enough = counted(
        proposals.min_probers,
        "independent prober",
        "independent probers",
    );
    match proposals.rules.len() as u64 {
        0 => format!("No unlisted path was requested by {enough}; {probers}."),
        n => format!(
            "{} requested by {enough} or more; {probers}.",
            counted(n, "unlisted path was", "unlisted paths were")
        ),
    }
}

fn grid<'g>(rows: &'g [Ranked<'g>]) -> Grid<'g, Ranked<'g>> {
    Grid::new(rows)
        .number("rank", |row| grouped(row.0))
        .rank(3)
        .text("path", |row| styled(row.1.path, BOLD))
        .flexible(24)
        .number("probers", |row| grouped(row.1.probers))
        .number("others", |row| grouped(row.1.others))
        .rank(6)
        .number("requests", |row| grouped(row.1.requests))
        .rank(2)
        .text("status", |row| row.1.status_words().join(" "))
        .rank(1)
        .text("class", |row| row.1.class)
        .rank(4)
        .text("last seen", |row| {
            row.1.last_time.map(minute).unwrap_or_default()
        })
        .rank(7)
        .text("as in", |row| {
            format!("{}:{}", escape(row.1.source), row.1.line)
        })
        .rank(5)
        .flexible(16)
        .keep_end()
}

/// Writes what was left out, what to do next, and line counts.
fn write_notes(proposals: &Proposals<'_>, page: &mut TextPage) {
    if proposals.random > 0 {
        let many = counted(
            proposals.random,
            "more path was left out: a part of it looks",
            "more paths were left out: a part of them looks",
        );
        page.note(&format!("{many} generated, like a hash or a number."));
    }
    if proposals.one_of > 1 {
        let many = grouped(proposals.one_of);
        page.note(&format!("Memory was limited: only one of {many} clients was read, chosen by a hash; all counts are of these."));
    }
    let of_inputs = [
        without_time(proposals.without_time),
        skipped_sentence(&proposals.inputs),
    ];
    for note in of_inputs.iter().flatten() {
        page.note(note);
    }
    if !proposals.rules.is_empty() {
        page.note("No rule was changed. --emit-rules FILE writes them as rules to review; scan --rules FILE uses them.");
    }
    let sum = LineTotals::sum(&proposals.inputs);
    let last = format!(
        "{} in {}: {} parsed, {} unparsed, {} oversized",
        counted(sum.lines, "line", "lines"),
        counted(proposals.inputs.len() as u64, "input", "inputs"),
        grouped(sum.parsed),
        grouped(sum.unparsed),
        grouped(sum.oversized),
    );
    page.line("");
    page.wrapped(0, DIM, &last);
}

/// Counts the additions to the document.
const SCHEMA_VERSION: u32 = 1;

/// Writes the document, with the first `top` proposals.
pub(crate) fn write_json<W: Write>(
    proposals: &Proposals<'_>,
    top: Option<usize>,
    mut out: W,
) -> io::Result<()> {
    let Proposals {
        inputs,
        rules: all,
        random,
        probers,
        min_probers,
        one_of,
        without_time,
    } = proposals;
    out.write_all(&ObjectFields::document(|fields| {
        fields.put("schema_version", SCHEMA_VERSION);
        fields.put("generated_by", GENERATED_BY);
        fields.put_rows("inputs", inputs.iter().map(input));
        fields.put("totals.proposals", all.len());
        fields.put("totals.probers", probers);
        fields.put("totals.min_probers", min_probers);
        fields.put_some(
            "totals.sampled_one_of",
            Some(one_of).filter(|one_of| **one_of > 1),
        );
        fields.put("totals.left_out", random);
        fields.put("totals.without_time", without_time);
        fields.put_objects("proposals", (1..).zip(first(all, top)), put_proposal);
    }))
}

fn put_proposal(fields: &mut ObjectFields<'_>, (rank, proposal): (u64, &Proposal<'_>)) {
    let statuses: BTreeMap<_, _> = proposal
        .status_words()
        .into_iter()
        .zip(proposal.statuses.iter().map(|(_, n)| *n))
        .collect();
    fields.put("rank", rank);
    fields.put("path", proposal.path);
    fields.put("probers", proposal.probers);
    fields.put("others", proposal.others);
    fields.put("requests", proposal.requests);
    fields.put("answered", proposal.answered());
    fields.put("statuses", statuses);
    fields.put("rule", &proposal.rule);
    fields.put("class", proposal.class);
    fields.put("severity", proposal.severity);
    fields.put("first_time", proposal.first_time.map(LogTime::rfc3339));
    fields.put("last_time", proposal.last_time.map(LogTime::rfc3339));
    fields.put("sample.source", escape(proposal.source));
    fields.put("sample.line", proposal.line);
    fields.put("sample.target", LogText::new(&proposal.target));
    fields.put("sample.status", proposal.status);
}

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
/// Errors of `out`.
pub(crate) fn write_rule_file<W: Write>(
    proposals: &Proposals<'_>,
    top: Option<usize>,
    out: &mut W,
) -> io::Result<()> {
    out.write_all(HEAD.as_bytes())?;
    let mut rules: BTreeMap<&str, Vec<&Proposal<'_>>> = BTreeMap::new();
    for proposal in first(&proposals.rules, top) {
        rules.entry(&proposal.rule).or_default().push(proposal);
    }
    rules
        .values()
        .try_for_each(|proposals| out.write_all(rule_text(proposals).as_bytes()))
}

/// One rule of at least one proposal; all of them have its ID.
fn rule_text(proposals: &[&Proposal<'_>]) -> String {
    let one = proposals[0];
    let mut text = String::new();
    for (key, value) in [
        ("id", &*one.rule),
        ("title", &*one.title),
        ("class", one.class),
        ("severity", one.severity.as_str()),
    ] {
        let start = if key == "id" { "\n[[rule]]\n" } else { "" };
        let _ = writeln!(text, "{start}{key} = {}", quoted(value));
    }
    text.push_str("at = \"root\"\npaths = [\n");
    for proposal in proposals {
        let Proposal {
            probers,
            others,
            requests,
            ..
        } = proposal;
        let (path, statuses) = (quoted(proposal.path), proposal.status_words().join(" "));
        let _ = writeln!(
            text,
            "    {path}, # probers {probers}, others {others}, requests {requests}: {statuses}"
        );
    }
    text.push_str("]\n");
    let paths: Vec<_> = proposals.iter().map(|proposal| proposal.path).collect();
    for (key, cases) in [
        ("must_match", must_match(&paths)),
        ("must_not_match", must_not_match(&paths)),
    ] {
        let cases: Vec<_> = cases
            .iter()
            .map(|path| quoted(&format!("GET {path}")))
            .collect();
        let _ = writeln!(text, "{key} = [{}]", cases.join(", "));
    }
    text
}

/// The first path, the same one encoded and with a query, and the last path.
fn must_match(paths: &[&str]) -> Vec<String> {
    let (Some(one), Some(last)) = (paths.first(), paths.last()) else {
        return Vec::new();
    };
    let mut cases = vec![
        (*one).to_owned(),
        format!("{}?x=1", with_encoded_letter(one)),
    ];
    if last != one {
        cases.push((*last).to_owned());
    }
    cases
}

/// The path with its last letter or digit percent-encoded.
fn with_encoded_letter(path: &str) -> String {
    match path.rfind(|c: char| c.is_ascii_alphanumeric()) {
        Some(at) => format!(
            "{}%{:02x}{}",
            &path[..at],
            path.as_bytes()[at],
            &path[at + 1..]
        ),
        None => path.to_owned(),
    }
}

/// A longer name, and the same name in another folder.
fn must_not_match(paths: &[&str]) -> Vec<String> {
    let Some(one) = paths.first() else {
        return Vec::new();
    };
    let is_covered = |other: &str| paths.iter().any(|path| covers(path, other));
    let (mut longer, mut elsewhere) = (
        format!("{}-and-more", one.trim_end_matches('/')),
        format!("/elsewhere{one}"),
    );
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
    other == path
        || other
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::finding::Severity;

    fn proposal<'a>(path: &'a str, rule: &str) -> Proposal<'a> {
        let class = "webshell";
        Proposal {
            path,
            rule: rule.to_owned(),
            title: "A \"title\"".to_owned(),
            class,
            severity: Severity::Low,
            probers: 0,
            others: 0,
            requests: 0,
            statuses: Vec::new(),
            first_time: None,
            last_time: None,
            source: b"",
            line: 0,
            target: Vec::new(),
            status: None,
        }
    }

    fn written(proposals: Vec<Proposal<'_>>, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write_rule_file(
            &Proposals {
                rules: proposals,
                ..Proposals::default()
            },
            top,
            &mut out,
        )
        .expect("written");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn reads_as_toml_and_keeps_the_paths() {
        let text = written(
            vec![
                proposal("/a\"b\\.php", "learned/b"),
                proposal("/c'#", "learned/a"),
                proposal("/d", "learned/a"),
            ],
            Some(2),
        );
        let file: toml::Table = toml::from_str(&text).expect("TOML");
        let rules = file["rule"].as_array().expect("rules");
        let of = |rule: usize, key: &str| rules[rule][key].clone();
        assert_eq!(
            (of(0, "id"), of(1, "id")),
            ("learned/a".into(), "learned/b".into())
        );
        assert_eq!(
            (of(0, "paths"), of(1, "paths")),
            (vec!["/c'#"].into(), vec!["/a\"b\\.php"].into())
        );
        assert_eq!(
            of(0, "must_match"),
            vec!["GET /c'#", "GET /%63'#?x=1"].into()
        );
        assert_eq!(
            of(0, "must_not_match"),
            vec!["GET /c'#-and-more", "GET /elsewhere/c'#"].into()
        );
    }

    #[test]
    fn a_must_not_match_case_is_no_other_path() {
        assert_eq!(
            must_not_match(&["/a/", "/a-and-more", "/elsewhere/"]),
            ["/a-and-more-more", "/someelsewhere/a/"]
        );
    }

    #[test]
    fn nothing_is_a_file_without_rules() {
        assert!(
            toml::from_str::<toml::Table>(&written(Vec::new(), None))
                .is_ok_and(|file| !file.contains_key("rule"))
        );
    }
}
