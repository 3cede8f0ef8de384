//! Proposals as a JSON document. The keys are stable: new ones may be added.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Serializer as JsonSerializer;

use super::rows::RowLineFormatter;
use super::{GENERATED_BY, InputObject, input};
use crate::analysis::labels::first;
use crate::analysis::learn::{Proposal, Proposals};
use crate::finding::Severity;
use crate::redact::sanitize::escape;
use crate::time::LogTime;

/// Counts the additions to the document.
const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct ProposalDocument<'a> {
    schema_version: u32,
    generated_by: &'static str,
    inputs: Vec<InputObject<'a>>,
    totals: ProposalTotals,
    proposals: Vec<ProposalRow<'a>>,
}

#[derive(Serialize)]
struct ProposalTotals {
    proposals: u64,
    probers: u64,
    min_probers: u64,
    left_out: u64,
    without_time: u64,
}

#[derive(Serialize)]
struct ProposalRow<'a> {
    rank: u64,
    path: &'a str,
    probers: u64,
    others: u64,
    requests: u64,
    answered: u64,
    statuses: BTreeMap<String, u64>,
    rule: &'a str,
    class: &'a str,
    severity: Severity,
    first_time: Option<String>,
    last_time: Option<String>,
    sample: ProposalSample<'a>,
}

#[derive(Serialize)]
struct ProposalSample<'a> {
    source: Cow<'a, str>,
    line: u64,
    target: Cow<'a, str>,
    status: Option<u16>,
}

/// Writes the document, with the first `top` proposals.
pub(crate) fn write<W: Write>(proposals: &Proposals<'_>, top: Option<usize>, mut out: W) -> io::Result<()> {
    let Proposals { inputs, proposals: all, random, probers, min_probers, without_time } = proposals;
    let document = ProposalDocument {
        schema_version: SCHEMA_VERSION,
        generated_by: GENERATED_BY,
        inputs: inputs.iter().map(input).collect(),
        totals: ProposalTotals {
            proposals: all.len() as u64,
            probers: *probers,
            min_probers: *min_probers,
            left_out: *random,
            without_time: *without_time,
        },
        proposals: (1..).zip(first(all, top)).map(|(rank, proposal)| row(rank, proposal)).collect(),
    };
    document.serialize(&mut JsonSerializer::with_formatter(&mut out, RowLineFormatter::default()))?;
    out.write_all(b"\n")
}

fn row<'a>(rank: u64, proposal: &'a Proposal<'_>) -> ProposalRow<'a> {
    let example = &proposal.example;
    let statuses = proposal.status_words().into_iter().zip(proposal.statuses.iter().map(|(_, n)| *n)).collect();
    ProposalRow {
        rank,
        path: proposal.path,
        probers: proposal.probers,
        others: proposal.others,
        requests: proposal.requests,
        answered: proposal.answered(),
        statuses,
        rule: &proposal.rule,
        class: proposal.class,
        severity: proposal.severity,
        first_time: proposal.first_time.map(LogTime::rfc3339),
        last_time: proposal.last_time.map(LogTime::rfc3339),
        sample: ProposalSample {
            source: escape(example.source),
            line: example.line,
            target: example.shown_target(),
            status: example.status,
        },
    }
}
