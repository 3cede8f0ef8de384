//! The inputs of a snapshot, and the input of each log of a tally.

use std::borrow::Cow;
use std::collections::HashMap;

use super::rows::InputRow;
use crate::analysis::model::{InputSummary, ReportModel};
use crate::formats::LogFormat;
use crate::redact::sanitize::{escape, escape_lossless};
use crate::source::SourceInfo;

/// The rows of inputs.
pub(crate) struct InputTable<'a> {
    pub(crate) rows: Vec<InputRow<'a>>,
    /// By the number of the log.
    indices: Vec<u32>,
}

impl<'a> InputTable<'a> {
    /// The inputs in the order of the report, followed by used sources that are no input of it.
    pub(crate) fn new(report: &'a ReportModel<'a>, sources: &'a [SourceInfo], used: impl Iterator<Item = u32>) -> Self {
        let log_host = report.log_host.as_deref();
        let mut rows: Vec<_> = report.inputs.iter().map(|input| row(input, log_host)).collect();
        let mut known: HashMap<(Option<&str>, &[u8]), u32> = HashMap::new();
        for (input, index) in report.inputs.iter().zip(0..) {
            known.entry((input.log_host.as_deref().or(log_host), &input.path)).or_insert(index);
        }
        let mut indices = vec![u32::MAX; sources.len()];
        for number in used {
            let at = number as usize;
            if indices[at] == u32::MAX {
                let source = &sources[at];
                let its_host = source.log_host.as_deref().or(log_host);
                indices[at] = *known.entry((its_host, &source.path)).or_insert_with(|| {
                    rows.push(unlisted(source, its_host));
                    (rows.len() - 1) as u32
                });
            }
        }
        Self { rows, indices }
    }

    /// The index of a log by its number.
    pub(crate) fn index(&self, number: u32) -> u32 {
        self.indices[number as usize]
    }
}

fn row<'a>(input: &'a InputSummary, log_host: Option<&'a str>) -> InputRow<'a> {
    let mut formats = input.formats;
    if let Some(format) = LogFormat::ALL.iter().position(|format| Some(format.as_str()) == input.format.as_deref())
        && formats == [0; 3]
        && input.others.is_empty()
    {
        formats[format] = input.parsed;
    }
    InputRow {
        log_host: input.log_host.as_deref().or(log_host).map(|log_host| escape(log_host.as_bytes())),
        path: escape_lossless(&input.path),
        bytes: input.bytes,
        lines: input.lines,
        parsed: input.parsed,
        formats,
        other_formats: input.others.iter().map(|(name, lines)| (escape(name.as_bytes()), lines)).collect(),
        unparsed: input.unparsed,
        oversized: input.oversized,
        skipped: input.skipped,
        pending: input.pending,
        requests: input.requests,
        times: input.first_time.zip(input.last_time).map(|(first, last)| (first.into(), last.into())),
        problem: input.problem.as_ref().map(|problem| escape(problem.as_bytes())),
        warning: input.warning.as_ref().map(|warning| escape(warning.as_bytes())),
        skipped_whole: input.skipped_whole,
        ranges: input.spans.iter().map(Into::into).collect(),
    }
}

fn unlisted<'a>(source: &'a SourceInfo, log_host: Option<&'a str>) -> InputRow<'a> {
    InputRow {
        log_host: log_host.map(|log_host| escape(log_host.as_bytes())),
        path: escape_lossless(&source.path),
        bytes: 0,
        lines: 0,
        parsed: 0,
        formats: [0; 3],
        other_formats: Vec::new(),
        unparsed: 0,
        oversized: 0,
        skipped: 0,
        pending: 0,
        requests: 0,
        times: None,
        problem: None::<Cow<'_, str>>,
        warning: None,
        skipped_whole: None,
        ranges: Vec::new(),
    }
}
