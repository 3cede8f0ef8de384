//! Whether the sums of a report that was read back add up: one that was changed by hand, or lost a part, is refused.
//!
//! Hits are not compared with totals: a report counts those of the severities it shows, and its evidence holds all.

use serde::Deserialize;

use super::ReportSnapshot;
use crate::analysis::model::InputSummary;

/// A count by its name: its total, and what an input has of it.
type CountCheck = (&'static str, u64, fn(&InputSummary) -> u64);

/// The counts of lines that a report gives for all inputs.
#[derive(Debug, Deserialize)]
pub(crate) struct DocumentTotals {
    bytes: u64,
    lines: u64,
    parsed: u64,
    unparsed: u64,
    oversized: u64,
    skipped: u64,
    pending: u64,
    requests: u64,
}

/// Checks the lines of each input, and the totals, where there are any, against all inputs.
///
/// # Errors
///
/// What does not add up, in a clause.
pub(crate) fn check(totals: Option<&DocumentTotals>, evidence: &ReportSnapshot) -> Result<(), String> {
    for input in &evidence.inputs {
        let parts = [input.parsed, input.unparsed, input.oversized, input.skipped, input.pending];
        let sum = parts.iter().sum::<u64>();
        if input.lines != sum {
            return Err(format!("an input has {} lines, and its parts have {sum}", input.lines));
        }
    }
    totals.map_or(Ok(()), |totals| check_totals(totals, evidence))
}

fn check_totals(totals: &DocumentTotals, evidence: &ReportSnapshot) -> Result<(), String> {
    let counts: [CountCheck; 8] = [
        ("bytes", totals.bytes, |input| input.bytes),
        ("lines", totals.lines, |input| input.lines),
        ("parsed", totals.parsed, |input| input.parsed),
        ("unparsed", totals.unparsed, |input| input.unparsed),
        ("oversized", totals.oversized, |input| input.oversized),
        ("skipped", totals.skipped, |input| input.skipped),
        ("pending", totals.pending, |input| input.pending),
        ("requests", totals.requests, |input| input.requests),
    ];
    for (name, total, of) in counts {
        let sum = evidence.inputs.iter().map(of).sum::<u64>();
        if total != sum {
            return Err(format!("its totals have {total} {name}, and its inputs {sum}"));
        }
    }
    Ok(())
}
