//! Sentences about logs that were skipped because they are outside the time range, for tables and notices.
//!
//! Their lines were not read and so have no counts.

use crate::analysis::model::{Input, Skipped};
use crate::number::{counted, grouped};
use crate::redact::sanitize::escape;

/// Names that a notice lists; the rest are counted.
const NAMED: usize = 3;

/// How many inputs were skipped, and why; `None` if all were read.
#[must_use]
pub fn sentence(inputs: &[Input]) -> Option<String> {
    let many = |why| all(inputs, why).count() as u64;
    let (before, after) = (many(Skipped::BeforeSince), many(Skipped::AfterUntil));
    let reasons = [(before, reason(Skipped::BeforeSince, before)), (after, reason(Skipped::AfterUntil, after))];
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
pub fn notices(inputs: &[Input]) -> impl Iterator<Item = String> {
    [Skipped::BeforeSince, Skipped::AfterUntil].into_iter().filter_map(|why| {
        let many = all(inputs, why).count();
        let names: Vec<_> = all(inputs, why).take(NAMED).map(|input| escape(&input.path)).collect();
        let more = if many > NAMED { format!(" and {} more", grouped((many - NAMED) as u64)) } else { String::new() };
        let inputs = counted(many as u64, "input", "inputs");
        (many > 0).then(|| format!("{inputs} skipped unread, {}: {}{more}", reason(why, many as u64), names.join(", ")))
    })
}

fn all(inputs: &[Input], why: Skipped) -> impl Iterator<Item = &Input> {
    inputs.iter().filter(move |input| input.skipped_whole == Some(why))
}

fn reason(why: Skipped, many: u64) -> &'static str {
    match (why, many) {
        (Skipped::BeforeSince, _) => "last written before --since",
        (Skipped::AfterUntil, 1) => "begins after --until",
        (Skipped::AfterUntil, _) => "begin after --until",
    }
}

#[cfg(test)]
mod tests {
    use crate::render::skipped::*;

    fn inputs(reasons: &[Option<Skipped>]) -> Vec<Input> {
        let named = |(name, &skipped_whole): (u8, _)| Input { path: vec![name], skipped_whole, ..Input::default() };
        (b'a'..).zip(reasons).map(named).collect()
    }

    #[test]
    fn counts_and_reasons_are_named() {
        let (since, until) = (Some(Skipped::BeforeSince), Some(Skipped::AfterUntil));
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
