//! Notes for the reader of a report: how far it is from exact, and which rules match too much.

use std::collections::HashMap;

use super::build::LogAnalysis;
use crate::scan::input_summary::InputSummary;
use crate::tally::ErrorBound;
use crate::text::number::{counted, grouped};

/// States how much rows may lack.
#[must_use]
pub(crate) fn accuracy_note(bound: &ErrorBound) -> String {
    let ErrorBound {
        pairs,
        clients,
        requests,
        paths,
        rest_hits,
        uncounted,
    } = *bound;
    let floods = if uncounted > 0 {
        format!(
            " {} in no minute: a flood among them is missed.",
            counted(uncounted, "request is", "requests are")
        )
    } else {
        String::new()
    };
    if [pairs, clients, requests, paths, rest_hits] == [0; 5] {
        return format!(
            "Approximate: memory was limited, and too many clients sent requests that count toward floods.{floods}"
        );
    }
    let most: Vec<_> = [
        ("a client and a path", pairs),
        ("a client", clients),
        ("a path", paths),
    ]
    .into_iter()
    .map(|(of, hits)| format!("{} of {of}", grouped(hits)))
    .collect();
    let requests = if requests > 0 {
        format!(
            ", and {} of a client",
            counted(requests, "request", "requests")
        )
    } else {
        String::new()
    };
    let rest = if rest_hits > 0 {
        format!(
            " {} in no row of a client and a path.",
            counted(rest_hits, "hit is", "hits are")
        )
    } else {
        String::new()
    };
    format!(
        "Approximate: memory was limited. Sums are exact, and there may be more clients and paths than are counted; a row may lack up to \
         this many hits: {}{requests}.{rest}{floods}",
        most.join(", ")
    )
}

/// Fewer lines are no basis: a few requests of one scanner could be half of them.
const MIN_LINES: u64 = 100;
/// One line in two. On real servers no rule matched more than one line in ten, except in floods.
const BROAD_RULE_DIVISOR: u64 = 2;
/// The most notes, because under attack many rules may match most lines.
const MAX_NOTES: usize = 3;

/// One note for each rule that matches most lines of an input, most hits first. Such a rule hides
/// what others find. `inputs` are in the order of the sources.
#[must_use]
pub(crate) fn broad_rule_warnings(
    analysis: &LogAnalysis<'_>,
    inputs: &[InputSummary],
) -> Vec<String> {
    let mut hits: HashMap<(u32, u16), u64> = HashMap::new();
    for (view, _) in analysis.cells().filter(|(_, decision)| decision.reported) {
        for rule in analysis.input.tally.rule_list(view.rules) {
            *hits.entry((view.input, rule.0)).or_default() += view.cell.hits;
        }
    }
    let mut broad: Vec<_> = hits
        .into_iter()
        .filter_map(|((input, rule), hits)| {
            let lines = inputs.get(input as usize)?.counts.lines;
            (lines >= MIN_LINES && hits >= lines.div_ceil(BROAD_RULE_DIVISOR))
                .then_some((hits, input, rule, lines))
        })
        .collect();
    broad.sort_unstable_by_key(|&(hits, input, rule, _)| (std::cmp::Reverse(hits), input, rule));
    let sentence = |(hits, input, rule, lines): (u64, u32, u16, u64)| {
        let path = String::from_utf8_lossy(&inputs[input as usize].path).into_owned();
        let rule = &analysis
            .input
            .rules
            .rule(crate::log::finding::RuleId(rule))
            .id;
        format!(
            "{path}: the rule {rule} matches {} of {} lines: it is too broad, or nearly all of the log is an attack; to leave it out, type --disable {rule}",
            grouped(hits),
            grouped(lines)
        )
    };
    broad.into_iter().take(MAX_NOTES).map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_the_error() {
        let bound = ErrorBound {
            pairs: 1200,
            clients: 3,
            requests: 0,
            paths: 0,
            rest_hits: 1,
            uncounted: 0,
        };
        assert_eq!(
            accuracy_note(&bound),
            "Approximate: memory was limited. Sums are exact, and there may be more clients and paths than are counted; \
             a row may lack up to this many hits: 1,200 of a client and a path, 3 of a client, 0 of a path. 1 hit is in no row of a client and a path."
        );
        assert!(
            accuracy_note(&ErrorBound {
                requests: 4,
                rest_hits: 0,
                ..bound
            })
            .ends_with("0 of a path, and 4 requests of a client.")
        );
        assert!(
            accuracy_note(&ErrorBound {
                uncounted: 7,
                ..bound
            })
            .ends_with(" 7 requests are in no minute: a flood among them is missed.")
        );
        assert_eq!(
            accuracy_note(&ErrorBound {
                uncounted: 1,
                ..ErrorBound::default()
            }),
            "Approximate: memory was limited, and too many clients sent requests that count toward floods. 1 request is in no minute: a \
             flood among them is missed."
        );
    }
}
