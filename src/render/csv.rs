//! One CSV table: a header, then a row a pair, client, path or rule (RFC 4180, but lines end in a bare newline).
//!
//! The columns are a promise: they may grow at the end, never move. Every cell goes through [`guard`], so that no
//! spreadsheet takes one for a formula.

mod columns;
pub(crate) mod diff;
pub(crate) mod novelty;
pub(crate) mod proposals;

use std::borrow::Cow;
use std::io::{self, Write};

use ::csv::{ErrorKind, Terminator, Writer, WriterBuilder};

pub(crate) use self::columns::tables;
use super::By;
use super::grades;
use crate::analysis::block_candidates::Block;
use crate::analysis::labels::{self, first};
use crate::analysis::model::{AnswerDetail, Key, Report, Row};
use crate::redact::mask::shown;
use crate::redact::sanitize::{guard, text};
use crate::rules::RuleSet;
use crate::time::LogTime;

/// A column: its name, and what it says of a row.
type Column = (&'static str, for<'r> fn(&'r RuleSet, &'r Row<'_>) -> Cow<'r, str>);

/// A further column of a client: its name, and what it says of its block.
type BlockColumn = (&'static str, fn(&Block) -> String);

const PAIR: &[Column] = &[
    ("client", client),
    ("path", path),
    ("rules", |set, row| joined(&labels::rule_ids(set, &row.rules))),
    ("classes", |set, row| joined(&labels::classes(set, &row.rules))),
    ("severity", severity),
    ("outcome", |_, row| row.key.outcome().map_or_else(Cow::default, |outcome| outcome.as_str().into())),
    ("hits", |_, row| count(row.hits)),
    ("first_time", |_, row| time(row.first_time)),
    ("last_time", |_, row| time(row.last_time)),
    ("status", |_, row| row.status.map_or_else(Cow::default, |status| count(status.into()))),
    ("sample_target", |_, row| shown(row.sample.target)),
    ("source", |_, row| text(row.sample.source)),
    ("line", |_, row| count(row.sample.line)),
];

const CLIENT: &[Column] = &[
    ("client", client),
    ("hits", |_, row| count(row.hits)),
    ("paths", |_, row| count(row.paths)),
    ("rules", |_, row| count(row.rules.len() as u64)),
    ("severity", severity),
    ("answered", |_, row| count(row.answered)),
    ("other_requests", |_, row| count(row.other_requests)),
    ("first_time", |_, row| time(row.first_time)),
    ("last_time", |_, row| time(row.last_time)),
    ("user_agent", |_, row| row.sample.user_agent.map_or_else(Cow::default, shown)),
    ("sample_target", |_, row| shown(row.sample.target)),
    ("source", |_, row| text(row.sample.source)),
    ("line", |_, row| count(row.sample.line)),
];

const PATH: &[Column] = &[
    ("path", path),
    ("rules", |set, row| joined(&labels::rule_ids(set, &row.rules))),
    ("classes", |set, row| joined(&labels::classes(set, &row.rules))),
    ("severity", severity),
    ("hits", |_, row| count(row.hits)),
    ("clients", |_, row| count(row.clients)),
    ("answered", |_, row| count(row.answered)),
    ("first_time", |_, row| time(row.first_time)),
    ("last_time", |_, row| time(row.last_time)),
    ("sample_target", |_, row| shown(row.sample.target)),
    ("source", |_, row| text(row.sample.source)),
    ("line", |_, row| count(row.sample.line)),
];

const RULE: &[Column] = &[
    ("rule", |set, row| row.key.rule().map_or_else(Cow::default, |rule| set.rule(rule).id.as_str().into())),
    ("class", |set, row| row.key.rule().map_or_else(Cow::default, |rule| set.rule(rule).class.as_str().into())),
    ("severity", severity),
    ("cve", |set, row| joined(&labels::cves(set, &row.rules))),
    ("hits", |_, row| count(row.hits)),
    ("clients", |_, row| count(row.clients)),
    ("paths", |_, row| count(row.paths)),
    ("answered", |_, row| count(row.answered)),
    ("first_time", |_, row| time(row.first_time)),
    ("last_time", |_, row| time(row.last_time)),
];

const ANSWER: &[Column] = &[
    ("site", |_, row| if let Key::Answer(.., site) = row.key { shown(site) } else { Cow::default() }),
    ("path", path),
    ("rules", |set, row| joined(&labels::rule_ids(set, &row.rules))),
    ("classes", |set, row| joined(&labels::classes(set, &row.rules))),
    ("severity", severity),
    ("status", |_, row| of_answer(row, |answer| answer.joined_statuses(";"))),
    ("bytes", |_, row| of_answer(row, |answer| answer.bytes.map_or_else(String::new, |bytes| bytes.to_string()))),
    ("method", |_, row| of_answer(row, |answer| answer.method.as_str().to_owned())),
    ("hits", |_, row| count(row.hits)),
    ("clients", |_, row| count(row.clients)),
    ("first_time", |_, row| time(row.first_time)),
    ("last_time", |_, row| time(row.last_time)),
    ("why", |_, row| of_answer(row, grades::why)),
    ("command", |_, row| grades::command(row).unwrap_or_default().into()),
    ("sample_target", |_, row| shown(row.sample.target)),
    ("source", |_, row| text(row.sample.source)),
    ("line", |_, row| count(row.sample.line)),
];

/// Further columns of a client, where it was asked whom one could block.
const BLOCK: &[BlockColumn] = &[
    ("block_candidate", |block| block.is_candidate().to_string()),
    ("block_reason", Block::reason),
    ("network", Block::network_text),
    ("network_probers", |block| block.network_probers.to_string()),
];

/// The last column of a client: the rules by which it sent a flood.
const FLOODS: &[Column] = &[("floods", |set, row| joined(&labels::flood_ids(set, &row.rules)))];

/// Writes the table whose rows are what `by` says, the first `top` of them.
pub(crate) fn write<W: Write>(report: &Report<'_>, by: By, top: Option<usize>, out: W) -> io::Result<()> {
    let (columns, rows) = match by {
        By::Pair => (PAIR, &report.pairs),
        By::Client => (CLIENT, &report.clients),
        By::Path => (PATH, &report.paths),
        By::Rule => (RULE, &report.rules),
        By::Answer => (ANSWER, &report.answered),
    };
    let blocks = report.blocks.as_deref().filter(|_| by == By::Client);
    let last = if by == By::Client { FLOODS } else { &[] };
    write_rows(report.rule_set, (columns, last), first(rows, top), blocks, out)
}

/// Writes a row a distinct answer.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn write_answered<W: Write>(report: &Report<'_>, out: W) -> io::Result<()> {
    write_rows(report.rule_set, (ANSWER, &[]), &report.answered, None, out)
}

/// Writes rows: their first columns, those of blocks where there are any, and the last ones.
fn write_rows<W: Write>(
    rules: &RuleSet,
    (columns, last): (&[Column], &[Column]),
    rows: &[Row<'_>],
    blocks: Option<&[Block]>,
    out: W,
) -> io::Result<()> {
    let mut csv = writer(out);
    let further = if blocks.is_some() { BLOCK } else { &[] };
    let names = columns.iter().map(|(name, _)| name).chain(further.iter().map(|(name, _)| name)).chain(last.iter().map(|(name, _)| name));
    csv.write_record(names).map_err(into_io)?;
    for (number, row) in rows.iter().enumerate() {
        for (_, cell) in columns {
            csv.write_field(guard(cell(rules, row)).as_bytes()).map_err(into_io)?;
        }
        let block = blocks.and_then(|blocks| blocks.get(number));
        for (_, cell) in further {
            csv.write_field(guard(block.map(cell).unwrap_or_default().into()).as_bytes()).map_err(into_io)?;
        }
        for (_, cell) in last {
            csv.write_field(guard(cell(rules, row)).as_bytes()).map_err(into_io)?;
        }
        csv.write_record(None::<&[u8]>).map_err(into_io)?;
    }
    csv.flush()
}

/// A writer whose lines end in a bare newline.
pub(crate) fn writer<W: Write>(out: W) -> Writer<W> {
    WriterBuilder::new().terminator(Terminator::Any(b'\n')).from_writer(out)
}

/// The error below the library's own: whoever opened the output knows a full disk by its number.
pub(crate) fn into_io(error: ::csv::Error) -> io::Error {
    if !error.is_io_error() {
        return io::Error::other(error);
    }
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

fn client<'r>(_: &'r RuleSet, row: &'r Row<'_>) -> Cow<'r, str> {
    row.key.client().map_or_else(Cow::default, labels::client)
}

fn path<'r>(_: &'r RuleSet, row: &'r Row<'_>) -> Cow<'r, str> {
    row.shown_path().unwrap_or_default()
}

fn severity<'r>(_: &'r RuleSet, row: &'r Row<'_>) -> Cow<'r, str> {
    row.severity.as_str().into()
}

fn of_answer<'r>(row: &'r Row<'_>, cell: impl FnOnce(&AnswerDetail<'_>) -> String) -> Cow<'r, str> {
    row.answer.as_ref().map(cell).unwrap_or_default().into()
}

fn joined<'r>(words: &[&'r str]) -> Cow<'r, str> {
    match words {
        [word] => (*word).into(),
        words => words.join(";").into(),
    }
}

pub(crate) fn count<'r>(n: u64) -> Cow<'r, str> {
    n.to_string().into()
}

pub(crate) fn time<'r>(time: Option<LogTime>) -> Cow<'r, str> {
    time.map(LogTime::rfc3339).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::render::csv::*;
    use proptest::prelude::*;

    fn csv(report: &Report<'_>, by: By, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write(report, by, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_columns_are_those_of_the_contract() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        let header = |by| csv(&report, by, Some(0));
        assert_eq!(
            header(By::Pair),
            "client,path,rules,classes,severity,outcome,hits,first_time,last_time,status,sample_target,source,line\n"
        );
        assert_eq!(
            header(By::Client),
            "client,hits,paths,rules,severity,answered,other_requests,first_time,last_time,user_agent,sample_target,source,line,floods\n"
        );
        assert_eq!(header(By::Path), "path,rules,classes,severity,hits,clients,answered,first_time,last_time,sample_target,source,line\n");
        assert_eq!(header(By::Rule), "rule,class,severity,cve,hits,clients,paths,answered,first_time,last_time\n");
    }

    #[test]
    fn rows_say_what_the_report_holds() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!("by_pair", csv(&report, By::Pair, Some(3)));
        insta::assert_snapshot!("by_client", csv(&report, By::Client, Some(2)));
        insta::assert_snapshot!("by_path", csv(&report, By::Path, Some(2)));
        insta::assert_snapshot!("by_rule", csv(&report, By::Rule, Some(2)));
    }

    #[test]
    fn an_answer_has_its_size_and_a_command() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.answered[0].sample.target = b"=1+1";
        let mut out = Vec::new();
        write_answered(&report, &mut out).unwrap();
        insta::assert_snapshot!("answered", String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_row_without_a_time_or_client_is_no_shorter() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.clients[0].key = Key::Client(crate::client::Client::Text(b""));
        report.clients[0].first_time = None;
        let text = csv(&report, By::Client, Some(1));
        assert!(text.lines().nth(1).unwrap().starts_with("-,"), "{text}");
        assert!(text.contains(",,2026-11-02"), "{text}");
    }

    proptest! {
        #[test]
        fn a_reader_gets_the_sanitised_text_back(target in any::<Vec<u8>>(), agent in "[=+@\",;\r\n\t a-z-]{0,12}") {
            let rules = fixture::rules();
            let mut report = fixture::report(rules);
            report.clients[0].sample.target = &target;
            report.clients[0].sample.user_agent = Some(agent.as_bytes());
            let text = csv(&report, By::Client, Some(1));
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let record = reader.records().next().unwrap().unwrap();
            prop_assert_eq!(record.len(), CLIENT.len() + FLOODS.len());
            let expected = guard(shown(&target));
            prop_assert_eq!(&record[10], &*expected);
            let expected = guard(shown(agent.as_bytes()));
            prop_assert_eq!(&record[9], &*expected);
        }
    }
}
