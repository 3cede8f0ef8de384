//! The headline of a report: one sentence with what matters most.
//!
//! It names inputs that could not be fully read, as the report is then incomplete.

use crate::analysis::model::Report;
use crate::log_entry::Outcome;
use crate::number::{counted, grouped};

/// The sentence, and whether something was answered.
pub(crate) fn sentence(report: &Report<'_>) -> (String, bool) {
    let (totals, hits) = (&report.totals, report.totals.sum.hits);
    let clients = || counted(totals.clients, "client", "clients");
    let has_no_status = hits > 0 && totals.outcomes[Outcome::Unknown as usize] == hits;
    let probes = || format!("{} from {}", counted(hits, "probe", "probes"), clients());
    let news = match (totals.answered, hits) {
        (0, 0) if totals.sum.lines == 0 => "The logs have no lines".to_owned(),
        (0, 0) if totals.sum.parsed == 0 => {
            format!("None of {} could be parsed: probewatch cannot tell whether there were probes", lines(report))
        }
        (0, 0) => format!("No probes found in {}", lines(report)),
        (0, _) if totals.sum.parsed == 0 => format!("No line could be parsed: probewatch cannot tell what answered; {}", probes()),
        (0, _) if has_no_status => format!("The log has no status: probewatch cannot tell what answered; {}", probes()),
        (0, _) if totals.uncertain > 0 => {
            format!("No answer stands out, {} uncertain; {}", are(report.uncertain.len() as u64), probes())
        }
        (0, _) => format!("Nothing answered; {}", probes()),
        (1, 1) => format!("The only probe was answered{}", worst(report, ", and is")),
        (answered, _) => {
            let was = if answered == 1 { "was" } else { "were" };
            format!("{} of {} probes from {} {was} answered{}", grouped(answered), grouped(hits), clients(), worst(report, ", the worst"))
        }
    };
    let damaged = report.inputs.iter().filter(|input| input.problem.is_some()).count() as u64;
    let incomplete = match damaged {
        0 => String::new(),
        n => format!("; {} could not be fully read", counted(n, "input", "inputs")),
    };
    (format!("{news}{incomplete}."), totals.answered > 0)
}

fn lines(report: &Report<'_>) -> String {
    counted(report.totals.sum.lines, "line", "lines")
}

fn are(answers: u64) -> String {
    if answers == 1 { "1 is".to_owned() } else { format!("{} are", grouped(answers)) }
}

/// The severity of the worst answer, after `words`.
fn worst(report: &Report<'_>, words: &str) -> String {
    let worst = report.answered.iter().map(|row| row.severity).max();
    worst.map_or_else(String::new, |severity| format!("{words} {severity}"))
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::render::table::headline::*;

    #[test]
    fn headlines() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        report.inputs.truncate(1);
        let mut of_counts = |hits, answered| {
            (report.totals.sum.hits, report.totals.answered) = (hits, answered);
            sentence(&report).0
        };
        assert_eq!(of_counts(1204, 3), "3 of 1,204 probes from 18 clients were answered, the worst critical.");
        assert_eq!(of_counts(2, 1), "1 of 2 probes from 18 clients was answered, the worst critical.");
        assert_eq!(of_counts(1, 1), "The only probe was answered, and is critical.");
        assert_eq!(of_counts(1204, 0), "Nothing answered; 1,204 probes from 18 clients.");
        assert_eq!(of_counts(0, 0), "No probes found in 1,234,868 lines.");
        report.totals.sum.lines = 0;
        assert_eq!(sentence(&report), ("The logs have no lines.".into(), false));
        report.inputs[0].problem = Some("gone".into());
        assert_eq!(sentence(&report).0, "The logs have no lines; 1 input could not be fully read.");
    }
}
