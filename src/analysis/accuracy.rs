//! What a report that is not exact says of itself to a person, in one sentence or two.
//!
//! Counts nothing, and knows no budget.

use super::model::Approximation;
use crate::number::{counted, grouped};

/// By how much which rows may be too low.
#[must_use]
pub fn accuracy_note(bound: &Approximation) -> String {
    let Approximation { pairs, clients, requests, paths, rest_hits, uncounted } = *bound;
    let floods = if uncounted > 0 {
        format!(" {} in no minute: a flood among them is missed.", counted(uncounted, "request is", "requests are"))
    } else {
        String::new()
    };
    if [pairs, clients, requests, paths, rest_hits] == [0; 5] {
        return format!("Approximate: more clients sent what only many requests make a finding than memory is spent on.{floods}");
    }
    let most: Vec<_> = [("a client and a path", pairs), ("a client", clients), ("a path", paths)]
        .into_iter()
        .map(|(of, hits)| format!("{} of {of}", grouped(hits)))
        .collect();
    let requests = if requests > 0 { format!(", and {} of a client", counted(requests, "request", "requests")) } else { String::new() };
    let rest = if rest_hits > 0 {
        format!(" {} in no row of a client and a path.", counted(rest_hits, "hit is", "hits are"))
    } else {
        String::new()
    };
    format!(
        "Approximate: there was more to tell apart than memory is spent on. Sums are exact; a row may be too low by up to this many hits: {}{requests}.{rest}{floods}",
        most.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use crate::analysis::accuracy::*;

    #[test]
    fn says_by_how_much() {
        let bound = Approximation { pairs: 1200, clients: 3, requests: 0, paths: 0, rest_hits: 1, uncounted: 0 };
        assert_eq!(
            accuracy_note(&bound),
            "Approximate: there was more to tell apart than memory is spent on. Sums are exact; a row may be too low by up to this many hits: \
             1,200 of a client and a path, 3 of a client, 0 of a path. 1 hit is in no row of a client and a path."
        );
        assert!(accuracy_note(&Approximation { requests: 4, rest_hits: 0, ..bound }).ends_with("0 of a path, and 4 requests of a client."));
        assert!(
            accuracy_note(&Approximation { uncounted: 7, ..bound })
                .ends_with(" 7 requests are in no minute: a flood among them is missed.")
        );
        assert_eq!(
            accuracy_note(&Approximation { uncounted: 1, ..Approximation::default() }),
            "Approximate: more clients sent what only many requests make a finding than memory is spent on. 1 request is in no minute: a \
             flood among them is missed."
        );
    }
}
