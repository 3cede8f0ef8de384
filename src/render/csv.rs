//! CSV tables (RFC 4180, but lines end with a newline alone): a header, then a row per pair,
//! client, path, rule, answer, difference, news or proposal. Also documents the columns of each
//! table, with type, unit and meaning.
//!
//! The columns are stable: new columns come at the end. A column name means the same in every
//! table. Every cell passes [`csv_guard`], so that no spreadsheet runs it as a formula.
//!
//! Rows are rendered in parallel and written in their order. The buffers of one round are in
//! memory, not the whole output.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{ErrorKind, Terminator, Writer, WriterBuilder};
use rayon::prelude::*;

use super::block::CSV_COLUMNS;
use super::{GroupBy, grades};
use crate::geoip::GeoInfo;
use crate::log::client::Client;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::report::diff::DiffRow;
use crate::report::labels::{self, first};
use crate::report::learn::Proposals;
use crate::report::model::{AnswerDetail, BlockDecision, ReportModel, Row, RowKey};
use crate::report::novelty::NewItem;
use crate::report::withdrawn::WithdrawnAnswer;
use crate::rules::{Rule, RuleSet};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::{csv_guard, escape};

/// What the cells of a line are made of.
#[derive(Clone, Copy)]
struct Line<'r> {
    rules: &'r RuleSet,
    row: &'r Row<'r>,
}

/// The cell of a line.
type CellOf = for<'r> fn(Line<'r>) -> CsvCell<'r>;

/// The content of a cell.
enum CsvCell<'r> {
    Empty,
    Text(Cow<'r, str>),
    Count(u64),
    Time(LogTime),
}

impl<'r> From<Cow<'r, str>> for CsvCell<'r> {
    fn from(text: Cow<'r, str>) -> Self {
        Self::Text(text)
    }
}

impl<'r> From<&'r str> for CsvCell<'r> {
    fn from(text: &'r str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'r> From<LogText<'r>> for CsvCell<'r> {
    fn from(text: LogText<'r>) -> Self {
        Self::Text(text.redacted())
    }
}

impl From<String> for CsvCell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<u64> for CsvCell<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<LogTime> for CsvCell<'_> {
    fn from(time: LogTime) -> Self {
        Self::Time(time)
    }
}

impl<T: Into<Self>> From<Option<T>> for CsvCell<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

const PAIR: &[&str] = &[
    "client",
    "path",
    "rules",
    "classes",
    "severity",
    "outcome",
    "hits",
    "first_time",
    "last_time",
    "status",
    "sample_target",
    "source",
    "line",
    "user",
];

const CLIENT: &[&str] = &[
    "client",
    "hits",
    "paths",
    "rules",
    "severity",
    "answered",
    "other_requests",
    "first_time",
    "last_time",
    "user_agent",
    "sample_target",
    "source",
    "line",
];

/// Further columns of a client, if block candidates were requested.
const BLOCK: &[&str] = &[
    "block_candidate",
    "block_reason",
    "network",
    "network_probers",
];

/// The last columns of a client: the rules of its floods, what GeoIP databases have, and the user.
const CLIENT_END: &[&str] = &["floods", "country", "city", "asn", "as_name", "user"];

const PATH: &[&str] = &[
    "path",
    "rules",
    "classes",
    "severity",
    "hits",
    "clients",
    "answered",
    "first_time",
    "last_time",
    "sample_target",
    "source",
    "line",
    "user",
    "product",
];

const RULE: &[&str] = &[
    "rule",
    "class",
    "severity",
    "cve",
    "hits",
    "clients",
    "paths",
    "answered",
    "first_time",
    "last_time",
    "product",
];

const ANSWER: &[&str] = &[
    "site",
    "path",
    "rules",
    "classes",
    "severity",
    "status",
    "bytes",
    "method",
    "hits",
    "clients",
    "first_time",
    "last_time",
    "why",
    "command",
    "sample_target",
    "source",
    "line",
    "user",
    "paths",
];

const DIFF: [&str; 7] = [
    "kind",
    "key",
    "change",
    "severity",
    "hits_before",
    "hits_after",
    "status_after",
];

const NOVELTY: [&str; 8] = [
    "kind",
    "key",
    "severity",
    "hits",
    "first_time",
    "sample_target",
    "source",
    "line",
];

const PROPOSAL: [&str; 16] = [
    "rank",
    "path",
    "probers",
    "others",
    "requests",
    "answered",
    "statuses",
    "rule",
    "class",
    "severity",
    "first_time",
    "last_time",
    "status",
    "sample_target",
    "source",
    "line",
];

/// Writes the first `top` rows of the table that `by` chooses, rendered in parallel.
pub(crate) fn write<W: Write>(
    report: &ReportModel<'_>,
    by: GroupBy,
    top: Option<usize>,
    mut out: W,
) -> io::Result<()> {
    let (columns, rows) = match by {
        GroupBy::Pair => (PAIR.to_vec(), &report.pairs),
        GroupBy::Client if report.has_blocks => {
            ([CLIENT, BLOCK, CLIENT_END].concat(), &report.clients)
        }
        GroupBy::Client => ([CLIENT, CLIENT_END].concat(), &report.clients),
        GroupBy::Path => (PATH.to_vec(), &report.paths),
        GroupBy::Rule => (RULE.to_vec(), &report.rules),
        GroupBy::Answer => (ANSWER.to_vec(), &report.answered),
    };
    let mut header = CsvTable::new(&mut out);
    header.text_row(&columns)?;
    header.finish()?;
    let cells: Vec<CellOf> = columns.iter().filter_map(|name| column(name).3).collect();
    write_in_parallel(first(rows, top), &mut out, |rows, out| {
        let mut table = CsvTable::new(out);
        for row in rows {
            let line = Line {
                rules: report.rule_set,
                row,
            };
            table.row(cells.iter().map(|cell| cell(line)))?;
        }
        table.finish()
    })?;
    out.flush()
}

/// Writes the first `top` differences between two reports.
pub(crate) fn write_diff<W: Write>(rows: &[DiffRow], top: Option<usize>, out: W) -> io::Result<()> {
    let rows = first(rows, top).iter().map(|row| {
        [
            row.kind.as_str().into(),
            row.key.as_str().into(),
            row.change.as_str().into(),
            row.severity.as_str().into(),
            row.before.into(),
            row.after.into(),
            row.status.map(u64::from).into(),
        ]
    });
    write_table(DIFF, rows, out)
}

/// Writes what is new, in its order, and the answers of earlier reports that are withdrawn.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_novelty(
    news: &[NewItem<'_>],
    withdrawn: &[WithdrawnAnswer],
    out: impl Write,
) -> io::Result<()> {
    let new = news.iter().map(|item| {
        [
            item.kind.as_str().into(),
            item.key.as_str().into(),
            item.severity.as_str().into(),
            item.hits.into(),
            item.first_time.into(),
            item.sample.target.into(),
            escape(item.sample.source).into(),
            item.sample.line.into(),
        ]
    });
    let withdrawn = withdrawn.iter().map(|WithdrawnAnswer { key, severity }| {
        let mut cells = [const { CsvCell::Empty }; 8];
        cells[0] = "withdrawn".into();
        cells[1] = key.as_str().into();
        cells[2] = severity.as_str().into();
        cells
    });
    write_table(NOVELTY, new.chain(withdrawn), out)
}

/// Writes the first `top` proposals.
pub(crate) fn write_proposals<W: Write>(
    proposals: &Proposals<'_>,
    top: Option<usize>,
    out: W,
) -> io::Result<()> {
    let rows = (1_u64..).zip(first(&proposals.rules, top));
    let rows = rows.map(|(rank, row)| {
        [
            rank.into(),
            row.path.into(),
            row.probers.into(),
            row.others.into(),
            row.requests.into(),
            row.answered().into(),
            row.status_words().join(";").into(),
            row.rule.as_str().into(),
            row.class.into(),
            row.severity.as_str().into(),
            row.first_time.into(),
            row.last_time.into(),
            row.status.map(u64::from).into(),
            LogText::new(&row.target).into(),
            escape(row.source).into(),
            row.line.into(),
        ]
    });
    write_table(PROPOSAL, rows, out)
}

/// Writes a header and rows.
fn write_table<'c, const N: usize>(
    names: [&str; N],
    mut rows: impl Iterator<Item = [CsvCell<'c>; N]>,
    out: impl Write,
) -> io::Result<()> {
    let mut table = CsvTable::new(out);
    table.text_row(names)?;
    rows.try_for_each(|cells| table.row(cells))?;
    table.finish()
}

/// Items that one thread renders at a time: enough that the cost of a task is negligible, few
/// enough that all threads have some.
const BATCH: usize = 256;

/// Batches for each thread in a round: a thread whose batches are short takes those of another.
const BATCHES_PER_THREAD: usize = 8;

/// Calls `render` for batches of items, with an empty buffer, and writes the buffers to `out`.
///
/// # Errors
///
/// The first error of `render`, or one of `out`.
fn write_in_parallel<T: Sync, W: Write>(
    items: &[T],
    out: &mut W,
    render: impl Fn(&[T], &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let mut buffers = vec![Vec::new(); BATCHES_PER_THREAD * rayon::current_num_threads()];
    for items in items.chunks(BATCH * buffers.len()) {
        let batches = items.par_chunks(BATCH).zip(&mut buffers).with_max_len(1);
        batches.try_for_each(|(items, buffer)| {
            buffer.clear();
            render(items, buffer)
        })?;
        buffers
            .iter()
            .take(items.len().div_ceil(BATCH))
            .try_for_each(|buffer| out.write_all(buffer))?;
    }
    Ok(())
}

/// A table that is written cell by cell.
struct CsvTable<W: Write> {
    csv: Writer<W>,
    time: String,
}

impl<W: Write> CsvTable<W> {
    /// A table whose lines end with a newline alone.
    fn new(out: W) -> Self {
        Self {
            csv: WriterBuilder::new()
                .terminator(Terminator::Any(b'\n'))
                .from_writer(out),
            time: String::new(),
        }
    }

    /// Writes a row of fixed texts, such as the header.
    fn text_row(&mut self, names: impl IntoIterator<Item: AsRef<[u8]>>) -> io::Result<()> {
        self.csv.write_record(names).map_err(into_io)
    }

    fn row<'c>(&mut self, cells: impl IntoIterator<Item = CsvCell<'c>>) -> io::Result<()> {
        cells.into_iter().try_for_each(|cell| self.cell(cell))?;
        self.csv.write_record(None::<&[u8]>).map_err(into_io)
    }

    fn cell(&mut self, cell: CsvCell<'_>) -> io::Result<()> {
        let written = match cell {
            CsvCell::Empty => self.csv.write_field(b""),
            CsvCell::Text(text) => self.csv.write_field(csv_guard(text).as_bytes()),
            CsvCell::Count(count) => self.csv.write_field(itoa::Buffer::new().format(count)),
            CsvCell::Time(time) => {
                self.time.clear();
                time.push_rfc3339(&mut self.time);
                // A time that is no date of the calendar is written as a number after `@`.
                self.csv
                    .write_field(csv_guard(Cow::Borrowed(&self.time)).as_bytes())
            }
        };
        written.map_err(into_io)
    }

    /// Writes what is buffered.
    fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

/// The I/O error inside the library's error, as the caller checks its kind.
fn into_io(error: ::csv::Error) -> io::Error {
    if !error.is_io_error() {
        return io::Error::other(error);
    }
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

fn joined<'r>(words: &[&'r str]) -> CsvCell<'r> {
    match words {
        [word] => (*word).into(),
        words => words.join(";").into(),
    }
}

impl<'r> Line<'r> {
    fn rule(self) -> Option<&'r Rule> {
        self.row.key.rule().map(|rule| self.rules.rule(rule))
    }

    fn answer<T: Into<CsvCell<'r>>>(
        self,
        cell: impl FnOnce(&'r AnswerDetail<'r>) -> T,
    ) -> CsvCell<'r> {
        self.row.answer.as_deref().map(cell).into()
    }

    fn geo<T: Into<CsvCell<'r>>>(self, cell: impl FnOnce(&'r GeoInfo) -> Option<T>) -> CsvCell<'r> {
        self.row.geo.as_deref().and_then(cell).into()
    }

    fn block<T: Into<CsvCell<'r>>>(self, cell: impl FnOnce(&'r BlockDecision) -> T) -> CsvCell<'r> {
        self.row.block.as_deref().map(cell).into()
    }
}

/// A column of any table: its name, as the header has it; its type; its meaning, with its unit; and
/// its cell, in tables of rows.
type CsvColumn = (&'static str, &'static str, &'static str, Option<CellOf>);

const TEXT: &str = "text";
const COUNT: &str = "integer";
const TIME: &str = "RFC 3339";
const LIST: &str = "list (;)";
const WORD: &str = "word";

/// All columns, by name. A name means the same in every table.
const COLUMNS: &[CsvColumn] = &[
    ("address", TEXT, "Address or network to block.", None),
    ("addresses", COUNT, "Addresses of it with hits.", None),
    (
        "answered",
        COUNT,
        "Hits with a distinct answer.",
        Some(|line| line.row.answered.into()),
    ),
    (
        "as_name",
        TEXT,
        "Name of the autonomous system of the client; empty without a GeoIP database that has it.",
        Some(|line| line.geo(|geo| labels::geo_name(geo.as_name.as_ref()))),
    ),
    (
        "asn",
        COUNT,
        "Number of the autonomous system of the client; empty without a GeoIP database that has it.",
        Some(|line| line.geo(|geo| geo.asn.map(u64::from))),
    ),
    (
        "block_candidate",
        "true, false",
        "Whether the client is a block candidate.",
        Some(|line| line.block(|block| block.is_candidate().to_string())),
    ),
    (
        "block_reason",
        TEXT,
        "Why it is a block candidate or is not.",
        Some(|line| line.block(BlockDecision::reason)),
    ),
    (
        "bytes",
        COUNT,
        "Size of the answer in bytes; empty where none is logged.",
        Some(|line| {
            line.row
                .answer
                .as_ref()
                .and_then(|answer| answer.bytes)
                .into()
        }),
    ),
    (
        "change",
        WORD,
        "How it changed: new, more, fewer, gone, or what became of an answer.",
        None,
    ),
    (
        "city",
        TEXT,
        "City of the client, in English; empty without a GeoIP database that has it.",
        Some(|line| line.geo(|geo| labels::geo_name(geo.city.as_ref()))),
    ),
    (
        "class",
        WORD,
        "Class of the rule.",
        Some(|line| line.rule().map(|rule| rule.class.as_str()).into()),
    ),
    (
        "classes",
        LIST,
        "Classes of the rules, sorted.",
        Some(|line| joined(&labels::classes(line.rules, &line.row.rules))),
    ),
    (
        "client",
        TEXT,
        "Client: an address, or the text of the log; `-` where unknown.",
        Some(|line| line.row.key.client().map(Client::redacted).into()),
    ),
    (
        "clients",
        COUNT,
        "Distinct clients.",
        Some(|line| line.row.clients.into()),
    ),
    (
        "command",
        TEXT,
        "A shell command that requests the path, to see what it answers now.",
        Some(|line| grades::command(line.row).into()),
    ),
    (
        "country",
        WORD,
        "Country of the client, two letters of ISO 3166-1; empty without a GeoIP database that has it.",
        Some(|line| line.geo(|geo| labels::geo_name(geo.country.as_ref()))),
    ),
    (
        "cve",
        LIST,
        "CVE IDs of the requests, sorted.",
        Some(|line| joined(&line.row.about.cves)),
    ),
    (
        "first_time",
        TIME,
        "Time of the earliest hit; empty where no hit has one.",
        Some(|line| line.row.first_time.into()),
    ),
    (
        "floods",
        LIST,
        "IDs of the rules with a window whose limit the client exceeded.",
        Some(|line| joined(&labels::flood_ids(line.rules, &line.row.rules))),
    ),
    (
        "hits",
        COUNT,
        "Requests that match at least one rule.",
        Some(|line| line.row.hits.into()),
    ),
    ("hits_after", COUNT, "Hits in the new report.", None),
    ("hits_before", COUNT, "Hits in the old report.", None),
    (
        "key",
        TEXT,
        "Which answer, rule, path, client, campaign, or withdrawn: an answer of an earlier report that proved to be a soft 404.",
        None,
    ),
    (
        "kind",
        WORD,
        "What the row is about: answer, rule, path, client or campaign.",
        None,
    ),
    (
        "last_time",
        TIME,
        "Time of the latest hit; empty where no hit has one.",
        Some(|line| line.row.last_time.into()),
    ),
    (
        "line",
        COUNT,
        "Line of the sample in its log, from 1.",
        Some(|line| line.row.sample.line.into()),
    ),
    (
        "method",
        WORD,
        "Method of the answered requests: GET, POST, HEAD or OTHER.",
        Some(|line| line.answer(|answer| answer.method.as_str())),
    ),
    (
        "network",
        TEXT,
        "The /24 or /64 of the client; empty where it has no address.",
        Some(|line| line.block(BlockDecision::network_text)),
    ),
    (
        "network_probers",
        COUNT,
        "Clients of that network with hits.",
        Some(|line| line.block(|block| block.network_probers)),
    ),
    (
        "other_requests",
        COUNT,
        "Requests of the client that match no rule, and unparsed lines that begin with its address.",
        Some(|line| line.row.other_requests.into()),
    ),
    (
        "others",
        COUNT,
        "Independent clients that are no probers and requested the path.",
        None,
    ),
    (
        "outcome",
        WORD,
        "Outcome of the requests, from their status.",
        Some(|line| line.row.key.outcome().map(Outcome::as_str).into()),
    ),
    (
        "path",
        TEXT,
        "Normalized path.",
        Some(|line| line.row.key.path().into()),
    ),
    (
        "paths",
        COUNT,
        "Distinct paths.",
        Some(|line| line.row.paths.into()),
    ),
    (
        "probers",
        COUNT,
        "Independent probers that requested the path.",
        None,
    ),
    (
        "product",
        LIST,
        "Products that the requests are for, sorted.",
        Some(|line| joined(&line.row.about.products)),
    ),
    ("rank", COUNT, "Position in the list, from 1.", None),
    ("requests", COUNT, "Requests for the path.", None),
    (
        "rule",
        WORD,
        "ID of the rule.",
        Some(|line| line.rule().map(|rule| rule.id.as_str()).into()),
    ),
    (
        "rules",
        LIST,
        "IDs of the rules that matched, sorted; a count in the table of clients.",
        Some(rules),
    ),
    (
        "sample_paths",
        LIST,
        "Some of the paths, the most severe first, percent-encoded.",
        None,
    ),
    (
        "sample_target",
        TEXT,
        "Request target of the sample, as logged, secrets masked. The sample is the most severe hit, of several the earliest.",
        Some(|line| line.row.sample.target.into()),
    ),
    (
        "severity",
        WORD,
        "Highest severity of the hits, one step higher where an answer exposes something.",
        Some(|line| line.row.severity.as_str().into()),
    ),
    (
        "site",
        TEXT,
        "Host that answered, or the log where hosts are not logged.",
        Some(|line| line.row.key.site().into()),
    ),
    (
        "source",
        TEXT,
        "Path of the log of the sample.",
        Some(|line| escape(line.row.sample.source).into()),
    ),
    (
        "status",
        TEXT,
        "Most frequent status code, the lowest of equals; of an answer all of them, joined by `;`.",
        Some(status),
    ),
    (
        "status_after",
        COUNT,
        "Most frequent status code that the path gets now; empty where it is not requested.",
        None,
    ),
    (
        "statuses",
        LIST,
        "Status codes of the requests, sorted; `-` where none is logged.",
        None,
    ),
    (
        "user",
        TEXT,
        "User of the sample, secrets masked; empty where none is logged. A client can send any name.",
        Some(|line| line.row.sample.user.into()),
    ),
    (
        "user_agent",
        TEXT,
        "User agent of the sample; empty where none is logged.",
        Some(|line| line.row.sample.user_agent.into()),
    ),
    (
        "why",
        TEXT,
        "Why the answer is distinct or uncertain.",
        Some(|line| line.answer(grades::why)),
    ),
];

/// The number of the rules of a client, and the rules of other rows.
fn rules(line: Line<'_>) -> CsvCell<'_> {
    match line.row.key {
        RowKey::Client(_) => (line.row.rules.len() as u64).into(),
        _ => joined(&labels::rule_ids(line.rules, &line.row.rules)),
    }
}

/// All statuses of an answer, and the most frequent one of other rows.
fn status(line: Line<'_>) -> CsvCell<'_> {
    match line.row.key {
        RowKey::Answer(..) => line.answer(|answer| answer.joined_statuses(";")),
        _ => line.row.status.map(u64::from).into(),
    }
}

/// Every table: when it is written, and the name, the type and the meaning of each of its columns.
pub(crate) fn tables() -> Vec<(&'static str, Vec<[&'static str; 3]>)> {
    let documented = |name: &str| {
        let &(name, kind, meaning, _) = column(name);
        [name, kind, meaning]
    };
    [
        ("a row for each client, path and outcome (scan -f csv; pairs.csv)", PAIR.to_vec()),
        (
            "a row for each client (scan -f csv --by client; clients.csv, which alone has the block and network columns)",
            [CLIENT, BLOCK, CLIENT_END].concat(),
        ),
        ("a row for each path (scan -f csv --by path; paths.csv)", PATH.to_vec()),
        ("a row for each rule (scan -f csv --by rule; rules.csv)", RULE.to_vec()),
        ("a row for each distinct answer (scan -f csv --by answer; answered.csv)", ANSWER.to_vec()),
        ("a row for each novelty (new.csv)", NOVELTY.to_vec()),
        ("a row for each difference (diff -f csv)", DIFF.to_vec()),
        ("a row for each proposal (learn -f csv)", PROPOSAL.to_vec()),
        ("a row for each entry of a block list (block --format csv)", CSV_COLUMNS.to_vec()),
    ]
    .map(|(title, names)| (title, names.into_iter().map(documented).collect()))
    .into()
}

/// The column with this name.
fn column(name: &str) -> &'static CsvColumn {
    #[expect(
        clippy::expect_used,
        reason = "a test looks up every name of every table"
    )]
    COLUMNS
        .iter()
        .find(|column| column.0 == name)
        .expect("every name is in the list")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::fixture;

    fn csv(report: &ReportModel<'_>, by: GroupBy, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write(report, by, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_columns_are_stable() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        let header = |by| csv(&report, by, Some(0));
        assert_eq!(
            header(GroupBy::Pair),
            "client,path,rules,classes,severity,outcome,hits,first_time,last_time,status,sample_target,source,line,user\n"
        );
        assert_eq!(
            header(GroupBy::Client),
            "client,hits,paths,rules,severity,answered,other_requests,first_time,last_time,user_agent,sample_target,source,line,floods,country,city,asn,as_name,user\n"
        );
        assert_eq!(
            header(GroupBy::Path),
            "path,rules,classes,severity,hits,clients,answered,first_time,last_time,sample_target,source,line,user,product\n"
        );
        assert_eq!(
            header(GroupBy::Rule),
            "rule,class,severity,cve,hits,clients,paths,answered,first_time,last_time,product\n"
        );
    }

    #[test]
    fn rows_of_each_kind() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!("by_pair", csv(&report, GroupBy::Pair, Some(3)));
        insta::assert_snapshot!("by_client", csv(&report, GroupBy::Client, Some(2)));
        insta::assert_snapshot!("by_path", csv(&report, GroupBy::Path, Some(2)));
        insta::assert_snapshot!("by_rule", csv(&report, GroupBy::Rule, Some(2)));
    }

    #[test]
    fn names_of_databases_are_escaped_and_guarded() {
        let text = csv(
            &fixture::report_with_networks(fixture::rules()),
            GroupBy::Client,
            Some(2),
        );
        assert!(
            text.lines()
                .nth(1)
                .unwrap()
                .ends_with(",DE,Springfield,64500,Example Hosting and Colocation GmbH,"),
            "{text}"
        );
        assert!(
            text.lines()
                .nth(2)
                .unwrap()
                .ends_with(",US,Springfield,64501,'=Other\\x1b[31m,"),
            "{text}"
        );
    }

    #[test]
    fn an_answer_has_its_size_and_a_command() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.answered[0].sample.target = LogText::new(b"=1+1");
        let mut out = Vec::new();
        write(&report, GroupBy::Answer, None, &mut out).unwrap();
        insta::assert_snapshot!("answered", String::from_utf8(out).unwrap());
    }

    #[test]
    fn missing_values_are_empty_cells() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.clients[0].key = RowKey::Client(Client::Text(b""));
        report.clients[0].first_time = None;
        let text = csv(&report, GroupBy::Client, Some(1));
        assert!(text.lines().nth(1).unwrap().starts_with("-,"), "{text}");
        assert!(text.contains(",,2026-11-02"), "{text}");
    }

    proptest! {
        #[test]
        fn a_csv_reader_gets_the_redacted_text_back(target in any::<Vec<u8>>(), agent in "[=+@\",;\r\n\t a-z-]{0,12}") {
            let rules = fixture::rules();
            let mut report = fixture::report(rules);
            report.clients[0].sample.target = LogText::new(&target);
            report.clients[0].sample.user_agent = Some(LogText::new(agent.as_bytes()));
            let text = csv(&report, GroupBy::Client, Some(1));
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            let record = reader.records().next().unwrap().unwrap();
            prop_assert_eq!(record.len(), CLIENT.len() + CLIENT_END.len());
            let expected = csv_guard(LogText::new(&target).redacted());
            prop_assert_eq!(&record[10], &*expected);
            let expected = csv_guard(LogText::new(agent.as_bytes()).redacted());
            prop_assert_eq!(&record[9], &*expected);
        }
    }

    #[test]
    fn every_column_has_a_meaning_and_every_meaning_a_column() {
        let columns: Vec<[&str; 3]> = tables()
            .into_iter()
            .flat_map(|(_, columns)| columns)
            .collect();
        for [name, kind, meaning] in &columns {
            assert!(
                !kind.is_empty() && meaning.contains(". ") | meaning.ends_with('.'),
                "{name}: {kind:?}, {meaning:?}"
            );
        }
        for (name, ..) in COLUMNS {
            assert!(
                columns.iter().any(|column| column[0] == *name),
                "{name} is in no table"
            );
        }
        assert!(
            COLUMNS.is_sorted_by_key(|column| column.0),
            "the columns are sorted by name"
        );
        for name in [PAIR, CLIENT, BLOCK, CLIENT_END, PATH, RULE, ANSWER].concat() {
            assert!(column(name).3.is_some(), "{name} has no cell of a row");
        }
    }

    #[test]
    fn a_time_out_of_range_is_no_formula() {
        for (utc, shown) in [
            (i64::MAX / 2, "'@4611686018427387903\n"),
            (-62_167_219_201, "'-000001-12-31T23:59:59+00:00\n"),
        ] {
            let mut out = Vec::new();
            let mut table = CsvTable::new(&mut out);
            table
                .row([CsvCell::Time(LogTime { utc, offset: 0 })])
                .unwrap();
            table.finish().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), shown);
        }
    }

    #[test]
    fn items_are_in_order() {
        for count in [0, 1, BATCH, BATCH + 1, 100 * BATCH + 7] {
            let (items, mut out): (Vec<usize>, Vec<u8>) = ((0..count).collect(), Vec::new());
            let render = |items: &[usize], out: &mut Vec<u8>| {
                items.iter().try_for_each(|item| writeln!(out, "{item}"))
            };
            write_in_parallel(&items, &mut out, render).unwrap();
            let lines: Vec<_> = items.iter().map(usize::to_string).collect();
            assert_eq!(
                String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
                lines
            );
        }
    }

    #[test]
    fn an_error_ends_the_output() {
        let mut out = Vec::new();
        let items: Vec<usize> = (0..2 * BATCH).collect();
        let render = |items: &[usize], _: &mut Vec<u8>| {
            if items[0] == 0 {
                Ok(())
            } else {
                Err(io::Error::other("full"))
            }
        };
        assert!(write_in_parallel(&items, &mut out, render).is_err());
    }
}
