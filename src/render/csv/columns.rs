//! Documents the CSV tables: the columns of each, with type, unit and meaning.
//!
//! The names come from the tables that write the columns. A column name means the same in every table.

use super::{ANSWER, BLOCK, CLIENT, CLIENT_END, CsvColumn, DIFF, NOVELTY, PAIR, PATH, RULE, proposal_names};

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnDoc {
    /// Its name, as the header has it.
    pub(crate) name: &'static str,
    /// Its type.
    pub(crate) kind: &'static str,
    /// What it says, with its unit.
    pub(crate) meaning: &'static str,
}

const TEXT: &str = "text";
const COUNT: &str = "integer";
const TIME: &str = "RFC 3339";
const LIST: &str = "list (;)";
const WORD: &str = "word";

/// The type and the meaning of each column.
const MEANINGS: &[(&str, &str, &str)] = &[
    ("answered", COUNT, "Hits with a distinct answer."),
    ("as_name", TEXT, "Name of the autonomous system of the client; empty without a GeoIP database that has it."),
    ("asn", COUNT, "Number of the autonomous system of the client; empty without a GeoIP database that has it."),
    ("block_candidate", "true, false", "Whether the client is a block candidate."),
    ("block_reason", TEXT, "Why it is a block candidate or is not."),
    ("bytes", COUNT, "Size of the answer in bytes; empty where none is logged."),
    ("change", WORD, "How it changed: new, more, fewer, gone, or what became of an answer."),
    ("city", TEXT, "City of the client, in English; empty without a GeoIP database that has it."),
    ("class", WORD, "Class of the rule."),
    ("classes", LIST, "Classes of the rules, sorted."),
    ("client", TEXT, "Client: an address, or the text of the log; `-` where unknown."),
    ("clients", COUNT, "Distinct clients."),
    ("command", TEXT, "A shell command that requests the path, to see what it answers now."),
    ("country", WORD, "Country of the client, two letters of ISO 3166-1; empty without a GeoIP database that has it."),
    ("cve", LIST, "CVE IDs of the rule, sorted."),
    ("first_time", TIME, "Time of the earliest hit; empty where no hit has one."),
    ("floods", LIST, "IDs of the rules with a window whose limit the client exceeded."),
    ("hits", COUNT, "Requests that match at least one rule."),
    ("hits_after", COUNT, "Hits in the new report."),
    ("hits_before", COUNT, "Hits in the old report."),
    ("key", TEXT, "Which answer, rule, path, client or campaign."),
    ("kind", WORD, "What the row is about: answer, rule, path, client or campaign."),
    ("last_time", TIME, "Time of the latest hit; empty where no hit has one."),
    ("line", COUNT, "Line of the sample in its log, from 1."),
    ("method", WORD, "Method of the answered requests: GET, POST, HEAD or OTHER."),
    ("network", TEXT, "The /24 or /64 of the client; empty where it has no address."),
    ("network_probers", COUNT, "Clients of that network with hits."),
    ("other_requests", COUNT, "Requests of the client that match no rule, and unparsed lines that begin with its address."),
    ("others", COUNT, "Independent clients that are no probers and requested the path."),
    ("outcome", WORD, "Outcome of the requests, from their status."),
    ("path", TEXT, "Normalized path."),
    ("paths", COUNT, "Distinct paths."),
    ("probers", COUNT, "Independent probers that requested the path."),
    ("rank", COUNT, "Place in the list, from 1."),
    ("requests", COUNT, "Requests for the path."),
    ("rule", WORD, "ID of the rule."),
    ("rules", LIST, "IDs of the rules that matched, sorted; a count in the table of clients."),
    (
        "sample_target",
        TEXT,
        "Request target of the sample, as logged, secrets masked. The sample is the most severe hit, of several the earliest.",
    ),
    ("severity", WORD, "Highest severity of the hits, one step higher where an answer exposes something."),
    ("site", TEXT, "Host that answered, or the log where hosts are not logged."),
    ("source", TEXT, "Path of the log of the sample."),
    ("status", TEXT, "Most frequent status code, the lowest of equals; of an answer all of them, joined by `;`."),
    ("status_after", COUNT, "Most frequent status code that the path gets now; empty where it is not requested."),
    ("statuses", LIST, "Status codes of the requests, sorted; `-` where none is logged."),
    ("user_agent", TEXT, "User agent of the sample; empty where none is logged."),
    ("why", TEXT, "Why the answer is distinct or uncertain."),
];

/// Every table: when it is written, and its columns in their order.
pub(crate) fn tables() -> Vec<(&'static str, Vec<ColumnDoc>)> {
    let of = |columns: &[CsvColumn]| columns.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let clients = [of(CLIENT), BLOCK.iter().map(|(name, _)| *name).collect(), of(CLIENT_END)].concat();
    [
        ("a row for each client, path and outcome (scan -f csv; pairs.csv)", of(PAIR)),
        ("a row for each client (scan -f csv --by client; clients.csv, which alone has the block and network columns)", clients),
        ("a row for each path (scan -f csv --by path; paths.csv)", of(PATH)),
        ("a row for each rule (scan -f csv --by rule; rules.csv)", of(RULE)),
        ("a row for each distinct answer (scan -f csv --by answer; answered.csv)", of(ANSWER)),
        ("a row for each novelty (new.csv)", NOVELTY.to_vec()),
        ("a row for each difference (diff -f csv)", DIFF.to_vec()),
        ("a row for each proposal (learn -f csv)", proposal_names().collect()),
    ]
    .map(|(title, names)| (title, names.into_iter().map(column).collect()))
    .into()
}

fn column(name: &'static str) -> ColumnDoc {
    let (_, kind, meaning) = MEANINGS.iter().find(|(known, ..)| *known == name).copied().unwrap_or_default();
    ColumnDoc { name, kind, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_meaning_and_every_meaning_a_column() {
        let columns: Vec<ColumnDoc> = tables().into_iter().flat_map(|(_, columns)| columns).collect();
        for ColumnDoc { name, kind, meaning } in &columns {
            assert!(!kind.is_empty() && meaning.contains(". ") | meaning.ends_with('.'), "{name}: {kind:?}, {meaning:?}");
        }
        for (name, ..) in MEANINGS {
            assert!(columns.iter().any(|column| column.name == *name), "{name} is in no table");
        }
        assert!(MEANINGS.is_sorted(), "the meanings are sorted by name");
    }
}
