//! What is said of logs that were not read because they lie outside the time that was asked for: in a table and as notices.
//!
//! Their lines were not counted, so nothing here speaks of lines.

use crate::analysis::model::{InputSummary, SkipReason};
use crate::number::{counted, grouped};
use crate::redact::sanitize::text;

/// Names that a notice lists before it counts the rest.
const NAMED: usize = 3;

/// How many inputs were not read, and why; `None` where all were.
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
    Some(format!("{inputs} skipped whole, and no line of them read: {why}."))
}

/// A notice for each reason, with the first names.
pub fn notices(inputs: &[InputSummary]) -> impl Iterator<Item = String> {
    [SkipReason::BeforeSince, SkipReason::AfterUntil].into_iter().filter_map(|why| {
        let many = all(inputs, why).count();
        let names: Vec<_> = all(inputs, why).take(NAMED).map(|input| text(&input.path)).collect();
        let more = if many > NAMED { format!(" and {} more", grouped((many - NAMED) as u64)) } else { String::new() };
        let inputs = counted(many as u64, "input", "inputs");
        (many > 0).then(|| format!("{inputs} skipped whole, {}: {}{more}", reason(why, many as u64), names.join(", ")))
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
    fn says_how_many_and_why() {
        let (since, until) = (Some(SkipReason::BeforeSince), Some(SkipReason::AfterUntil));
        assert_eq!(sentence(&inputs(&[None, None])), None);
        let one = inputs(&[None, until]);
        assert_eq!(sentence(&one).unwrap(), "1 input was skipped whole, and no line of them read: begins after --until.");
        let all = inputs(&[since, since, None, since, until, since]);
        assert_eq!(
            sentence(&all).unwrap(),
            "5 inputs were skipped whole, and no line of them read: 4 last written before --since, 1 begins after --until."
        );
        let told: Vec<_> = notices(&all).collect();
        assert_eq!(
            told,
            ["4 inputs skipped whole, last written before --since: a, b, d and 1 more", "1 input skipped whole, begins after --until: e"]
        );
    }
}
