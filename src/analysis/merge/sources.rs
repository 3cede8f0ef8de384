//! The inputs of all reports in one order; the same log of the same machine is one, however often it was read.

use std::collections::BTreeSet;

use crate::analysis::model::InputSummary;
use crate::formats::LogFormat;
use crate::source::SourceInfo;
use crate::tally::union_span;

/// Between the problems of one input.
const ALSO: &str = "; also: ";

/// Inputs by machine and path.
#[derive(Debug, Default)]
pub(crate) struct MergedInputs {
    each: Vec<(SourceInfo, InputSummary)>,
}

impl MergedInputs {
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Adds others; the new numbers of those that were here, and of those that came.
    pub(crate) fn add(&mut self, texts: Vec<SourceInfo>, inputs: Vec<InputSummary>) -> (Vec<u32>, Vec<u32>) {
        let here = self.each.len();
        let all = std::mem::take(&mut self.each).into_iter().chain(texts.into_iter().zip(inputs));
        let mut all: Vec<_> = all.enumerate().collect();
        all.sort_by(|(_, a), (_, b)| key(&a.0).cmp(&key(&b.0)));
        let mut numbers = vec![0; all.len()];
        for (old, (text, input)) in all {
            match self.each.last_mut().filter(|(known, _)| key(known) == key(&text)) {
                Some((_, sum)) => add(sum, &input),
                None => self.each.push((text, input)),
            }
            numbers[old] = (self.each.len() - 1) as u32;
        }
        let theirs = numbers.split_off(here);
        (numbers, theirs)
    }

    pub(crate) fn into_parts(self) -> (Vec<SourceInfo>, Vec<InputSummary>) {
        self.each.into_iter().unzip()
    }
}

fn key(text: &SourceInfo) -> (Option<&str>, &[u8]) {
    (text.machine.as_deref(), &text.path)
}

fn add(sum: &mut InputSummary, other: &InputSummary) {
    sum.bytes += other.bytes;
    sum.lines += other.lines;
    sum.parsed += other.parsed;
    for (sum, lines) in sum.formats.iter_mut().zip(other.formats) {
        *sum += lines;
    }
    sum.others.add(&other.others);
    sum.format = LogFormat::most_of(&sum.formats, &sum.others);
    sum.unparsed += other.unparsed;
    sum.oversized += other.oversized;
    sum.skipped += other.skipped;
    sum.pending += other.pending;
    sum.requests += other.requests;
    let times = |input: &InputSummary| input.first_time.zip(input.last_time);
    (sum.first_time, sum.last_time) = union_span(times(sum), times(other)).unzip();
    // What one of them read was read.
    sum.skipped_whole = sum.skipped_whole.and(other.skipped_whole);
    let problems: BTreeSet<&str> = [&sum.problem, &other.problem].into_iter().flatten().flat_map(|problem| problem.split(ALSO)).collect();
    let problems: Vec<&str> = problems.into_iter().collect();
    sum.problem = (!problems.is_empty()).then(|| problems.join(ALSO));
}
