//! A report in JSON, or the rows of its evidence before they are compressed, as `merge` and `diff`
//! read them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch::internals::report::merge::{ReportMerger, MergedReport};
use probewatch::internals::report::build::{LogAnalysis, ReportFilter, RowSelection, build};
use probewatch::internals::report::snapshot::{ReportSnapshot, read, read_rows};
use probewatch::internals::render::{OutputFormat, RenderOptions, render};
use probewatch::internals::rules::RuleSet;
use probewatch_fuzz::RULES;

fuzz_target!(|text: &[u8]| match if text.starts_with(b"{\"head") { read_rows(text, &RULES) } else { read(text, &RULES) } {
    Err(error) => assert!(error.to_string().contains(' '), "an error that says nothing: {error}"),
    Ok(evidence) => check(evidence),
});

/// What was read is written as a report, and that report is read as what it was written from: it is
/// written with the same bytes again.
fn check(evidence: ReportSnapshot) {
    let Some(first) = merged(evidence) else { return };
    let read_again = read(&first[..], &RULES).unwrap_or_else(|error| panic!("a report that was written {error}"));
    let second = merged(read_again).expect("what was added up once can be again");
    assert!(first == second, "a report is read otherwise than it was written:\n{}\n{}", text(&first), text(&second));
}

fn text(report: &[u8]) -> String {
    String::from_utf8_lossy(report).into_owned()
}

/// The report of `merge`; `None` where it refuses, with a reason.
fn merged(evidence: ReportSnapshot) -> Option<Vec<u8>> {
    let mut sum = ReportMerger::new(&RULES);
    let whole = match sum.add(evidence).and_then(|()| sum.finish(|_| false)) {
        Ok(whole) => whole,
        Err(error) => {
            assert!(error.to_string().contains(' '), "an error that says nothing: {error}");
            return None;
        }
    };
    Some(report(&whole, whole.rules.as_ref().unwrap_or(&RULES)))
}

fn report(whole: &MergedReport, rules: &RuleSet) -> Vec<u8> {
    let material = whole.report_input(rules, ReportFilter::default());
    let context = LogAnalysis::new(&material);
    let wanted = RowSelection::COMPLETE;
    let mut report = build(&context, wanted);
    (report.log_host, report.period, report.prefix) = (whole.log_host.clone(), whole.period.clone(), whole.prefix);
    let mut out = Vec::new();
    render(&report, &RenderOptions { format: OutputFormat::Json, ..RenderOptions::default() }, &mut out).expect("writing to memory does not fail");
    out
}
