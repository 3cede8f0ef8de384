//! Sentences about logs that were skipped because they are outside the time range, for tables and notices.
//!
//! Their lines were not read and so have no counts.

use crate::analysis::model::{InputSummary, SkipReason};
use crate::number::{counted, grouped};
use crate::redact::sanitize::escape;

/// SymbolTables that a notice lists; the rest are counted.
const NAMED: usize = 3;

/// How many inputs were skipped, and why; `None` if all were read.
#[must_use]
pub fn sentence(inputs: &[InputSummary]) -> Option<String> {
    let many = |why| all(inputs, why).count() as u64;
    let (before, after) = (many(SkipReason::BeforeSince), many(SkipReason::AfterUntil));
    let reasons = [(before, reason(SkipReason::BeforeSince, before)), (after, reason(SkipReason::AfterUntil, after))];
    let reasons: Vec<_> = reasons.into_iter().filter(|(many, _)| *many > 0).collect();
    let why = match reasons.as_slice() {
        [] => return None,
        [(_, only)] => (*only).to_owned(),
        more => more.iter().map(|(many, reason)| format!("{} {reason}", grouped(*many))).collect::<Vec<_>>().join(", "),
    };
    let inputs = counted(before + after, "input was", "inputs were");
    Some(format!("{inputs} skipped unread: {why}."))
}

/// A notice for each reason, with the first names.
pub fn notices(inputs: &[InputSummary]) -> impl Iterator<Item = String> {
    [SkipReason::BeforeSince, SkipReason::AfterUntil].into_iter().filter_map(|why| {
        let many = all(inputs, why).count();
        let names: Vec<_> = all(inputs, why).take(NAMED).map(|input| escape(&input.path)).collect();
        let more = if many > NAMED { format!(" and {} more", grouped((many - NAMED) as u64)) } else { String::new() };
        let inputs = counted(many as u64, "input", "inputs");
        (many > 0).then(|| format!("{inputs} skipped unread, {}: {}{more}", reason(why, many as u64), names.join(", ")))
    })
}

fn all(inputs: &[InputSummary], why: SkipReason) -> impl Iterator<Item = &InputSummary> {
    inputs.iter().filter(move |input| input.skipped_whole == Some(why))
}

fn reason(why: SkipReason, many: u64) -> &'static str {
    match (why, many) {
        (SkipReason::BeforeSince, _) => "last written before --since",
        (SkipReason::AfterUntil, 1) => "begins after --until",
        (SkipReason::AfterUntil, _) => "begin after --until",
    }
}

#[cfg(test)]
mod tests {
    use crate::render::skipped::*;

    fn inputs(reasons: &[Option<SkipReason>]) -> Vec<InputSummary> {
        let named = |(name, &skipped_whole): (u8, _)| InputSummary { path: vec![name], skipped_whole, ..InputSummary::default() };
        (b'a'..).zip(reasons).map(named).collect()
    }

    #[test]
    fn counts_and_reasons_are_named() {
        let (since, until) = (Some(SkipReason::BeforeSince), Some(SkipReason::AfterUntil));
        assert_eq!(sentence(&inputs(&[None, None])), None);
        let one = inputs(&[None, until]);
        assert_eq!(sentence(&one).unwrap(), "1 input was skipped unread: begins after --until.");
        let all = inputs(&[since, since, None, since, until, since]);
        assert_eq!(sentence(&all).unwrap(), "5 inputs were skipped unread: 4 last written before --since, 1 begins after --until.");
        let texts: Vec<_> = notices(&all).collect();
        assert_eq!(
            texts,
            ["4 inputs skipped unread, last written before --since: a, b, d and 1 more", "1 input skipped unread, begins after --until: e"]
        );
    }
}
