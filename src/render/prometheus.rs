//! Writes metrics in the text format of Prometheus: gauges of one scan, counters and gauges of
//! `report` and `follow`.
//!
//! Hits are counted by class and outcome only, so that the number of series is bounded: never by
//! client, path or rule. No sample has a time of its own, as the textfile collector of
//! `node_exporter` requires.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::time::Duration;

use crate::log::log_entry::Outcome;
use crate::report::class_hits::MetricCounters;
use crate::report::model::ReportModel;
use crate::rules::RuleSet;
use crate::text::redact::sanitize::escape;

/// A metric: its name, its type, and what it is.
type Metric = (&'static str, &'static str, &'static str);

const SCAN_HITS: Metric = (
    "probewatch_scan_hits",
    "gauge",
    "Hits in the scanned logs, by the class of their most severe rule and by outcome.",
);
const SCAN_ANSWERED: Metric = (
    "probewatch_scan_answered_hits",
    "gauge",
    "Hits in the scanned logs with a distinct answer, by class.",
);
const SCAN_LINES: Metric = (
    "probewatch_scan_lines",
    "gauge",
    "Lines of the scanned logs.",
);
const SCAN_UNPARSED: Metric = (
    "probewatch_scan_unparsed_lines",
    "gauge",
    "Lines of the scanned logs that no format matches.",
);
const SCAN_SIZE: Metric = (
    "probewatch_scan_size_bytes",
    "gauge",
    "Bytes of the scanned logs, after decompression.",
);
const SCAN_FILES: Metric = ("probewatch_scan_files", "gauge", "Logs that were scanned.");
const SCAN_LAST_LINE: Metric = (
    "probewatch_scan_last_line_timestamp_seconds",
    "gauge",
    "Time of the latest line.",
);

const HITS: Metric = (
    "probewatch_hits_total",
    "counter",
    "Hits, by the class of their most severe rule and by outcome.",
);
const ANSWERED: Metric = (
    "probewatch_answered_hits_total",
    "counter",
    "Hits with a distinct answer, by class.",
);
const LINES: Metric = ("probewatch_lines_total", "counter", "Lines that were read.");
const UNPARSED: Metric = (
    "probewatch_unparsed_lines_total",
    "counter",
    "Lines that no format matches.",
);
const LAG: Metric = (
    "probewatch_lag_bytes",
    "gauge",
    "Bytes of the logs that were not read yet.",
);
const FILES: Metric = ("probewatch_files", "gauge", "Logs that are read.");
const STATE_AGE: Metric = (
    "probewatch_state_age_seconds",
    "gauge",
    "Time since the counters began.",
);
const LAST_RUN: Metric = (
    "probewatch_last_run_timestamp_seconds",
    "gauge",
    "When these metrics were written.",
);
const DURATION: Metric = (
    "probewatch_last_run_duration_seconds",
    "gauge",
    "How long report ran, or how long follow has been running.",
);

/// What `report` or `follow` exports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunMetrics<'a> {
    /// The command.
    pub command: &'static str,
    /// The folder of the state as typed; empty without one.
    pub state: &'a [u8],
    /// The rules, for the classes that may have hits.
    pub rules: &'a RuleSet,
    /// The counts over the life of the state.
    pub counters: &'a MetricCounters,
    /// Bytes that were not read yet.
    pub lag: u64,
    /// Logs that are read.
    pub files: u64,
    /// The time in seconds since 1970.
    pub now: u64,
    /// The duration of the run.
    pub duration: Duration,
}

/// Writes the gauges of a scan.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_report<W: Write>(report: &ReportModel<'_>, out: &mut W) -> io::Result<()> {
    let sum = &report.totals.sum;
    let files = report
        .inputs
        .iter()
        .filter(|input| input.skipped_whole.is_none())
        .count();
    let mut page = MetricsPage {
        out,
        labels: String::new(),
    };
    page.head(SCAN_HITS)?;
    for hits in &report.classes {
        for (outcome, count) in Outcome::ALL
            .into_iter()
            .zip(hits.outcomes)
            .filter(|(_, count)| *count > 0)
        {
            page.sample(
                SCAN_HITS,
                &[("class", hits.class), ("outcome", outcome.as_str())],
                count,
            )?;
        }
    }
    page.head(SCAN_ANSWERED)?;
    for class in classes(report.rule_set) {
        let answered = report
            .classes
            .iter()
            .find(|hits| hits.class == class)
            .map_or(0, |hits| hits.answered);
        page.sample(SCAN_ANSWERED, &[("class", class)], answered)?;
    }
    page.single(SCAN_LINES, sum.lines)?;
    page.single(SCAN_UNPARSED, sum.unparsed)?;
    page.single(SCAN_SIZE, sum.bytes)?;
    page.single(SCAN_FILES, files)?;
    report
        .totals
        .last_time
        .map_or(Ok(()), |time| page.single(SCAN_LAST_LINE, time.utc))
}

/// Writes the counters and gauges of a run.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write_run<W: Write>(run: &RunMetrics<'_>, out: &mut W) -> io::Result<()> {
    let RunMetrics { counters, now, .. } = *run;
    let mut page = MetricsPage {
        out,
        labels: run_labels(run),
    };
    page.head(HITS)?;
    for (class, counter) in &counters.classes {
        for (outcome, count) in &counter.outcomes {
            page.sample(HITS, &[("class", class), ("outcome", outcome)], count)?;
        }
    }
    page.head(ANSWERED)?;
    // Classes without such a hit too: an increase from nothing to 1 would be no increase to
    // Prometheus.
    for class in classes(run.rules)
        .into_iter()
        .chain(counters.classes.keys().map(String::as_str))
        .collect::<BTreeSet<_>>()
    {
        page.sample(
            ANSWERED,
            &[("class", class)],
            counters
                .classes
                .get(class)
                .map_or(0, |counter| counter.answered),
        )?;
    }
    page.single(LINES, counters.lines)?;
    page.single(UNPARSED, counters.unparsed)?;
    page.single(LAG, run.lag)?;
    page.single(FILES, run.files)?;
    page.single(
        STATE_AGE,
        counters.since.map_or(0, |since| now.saturating_sub(since)),
    )?;
    page.single(LAST_RUN, now)?;
    page.single(DURATION, run.duration.as_secs_f64())
}

/// Labels of each series of a run, so that those of several commands and states differ.
fn run_labels(run: &RunMetrics<'_>) -> String {
    let command = format!("command=\"{}\"", run.command);
    if run.state.is_empty() {
        command
    } else {
        format!("{command},state=\"{}\"", LabelValue(&escape(run.state)))
    }
}

/// The classes of all rules.
fn classes(rules: &RuleSet) -> BTreeSet<&str> {
    rules
        .rules()
        .iter()
        .filter(|rule| !rule.is_app_evidence)
        .map(|rule| rule.class.as_str())
        .collect()
}

/// An output with the labels of each series.
struct MetricsPage<'o, W> {
    out: &'o mut W,
    labels: String,
}

impl<W: Write> MetricsPage<'_, W> {
    fn head(&mut self, (name, kind, help): Metric) -> io::Result<()> {
        writeln!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}")
    }

    fn sample(
        &mut self,
        (name, ..): Metric,
        labels: &[(&str, &str)],
        value: impl Display,
    ) -> io::Result<()> {
        let own = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", LabelValue(value)));
        let labels: Vec<String> = Some(self.labels.clone())
            .filter(|labels| !labels.is_empty())
            .into_iter()
            .chain(own)
            .collect();
        if labels.is_empty() {
            return writeln!(self.out, "{name} {value}");
        }
        writeln!(self.out, "{name}{{{}}} {value}", labels.join(","))
    }

    fn single(&mut self, metric: Metric, value: impl Display) -> io::Result<()> {
        self.head(metric)?;
        self.sample(metric, &[], value)
    }
}

/// A value of a label, with what would end it escaped.
struct LabelValue<'a>(&'a str);

impl Display for LabelValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::render::prometheus::*;
    use crate::report::fixture;
    use proptest::prelude::*;

    fn counters() -> MetricCounters {
        let mut counters = MetricCounters::default();
        counters.start(1_793_577_600);
        counters.start(1_793_577_601);
        counters.add_lines(1_000, 3);
        counters.add_report(&fixture::report(fixture::rules()).classes);
        counters.add_report(&fixture::report(fixture::rules()).classes);
        counters
    }

    fn run_text(state: &[u8], counters: &MetricCounters) -> String {
        let metrics = RunMetrics {
            command: "report",
            state,
            rules: fixture::rules(),
            counters,
            lag: 17,
            files: 2,
            now: 1_793_577_660,
            duration: Duration::from_millis(1_250),
        };
        let mut out = Vec::new();
        write_run(&metrics, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_scan_has_gauges() {
        let mut out = Vec::new();
        write_report(&fixture::report(fixture::rules()), &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap());
    }

    #[test]
    fn a_run_has_counters_and_gauges() {
        insta::assert_snapshot!(run_text(b"/var/lib/probewatch", &counters()));
    }

    #[test]
    fn counters_are_kept_as_json() {
        let counters = counters();
        let text = serde_json::to_string(&counters).unwrap();
        assert_eq!(
            serde_json::from_str::<MetricCounters>(&text).unwrap(),
            counters
        );
        assert!(
            serde_json::from_str::<MetricCounters>("{}")
                .unwrap()
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn no_name_of_a_state_ends_a_label_or_a_line(state in any::<Vec<u8>>(), class in "\\PC*|[\"\\\\\n}]*") {
            let mut counters = counters();
            let counter = counters.classes.remove("wordpress").unwrap();
            counters.classes.insert(class.clone(), counter);
            let expected = run_text(b"x", &counters).lines().count();
            let text = run_text(&[b"x", &state[..]].concat(), &counters);
            prop_assert!(text.ends_with('\n'));
            prop_assert_eq!(text.lines().count(), expected);
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                prop_assert!(is_sample(line), "{}", line);
            }
        }
    }

    /// Whether a line is a name, labels whose values are closed where they should be, and a number.
    fn is_sample(line: &str) -> bool {
        let (labels, value) = line.rsplit_once("} ").unwrap();
        let mut rest = labels.split_once('{').unwrap().1;
        loop {
            let Some((name, text)) = rest.split_once("=\"") else {
                return false;
            };
            let mut escaped = false;
            let end = text.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            let Some(end) = end.filter(|_| name.bytes().all(|b| b.is_ascii_lowercase())) else {
                return false;
            };
            match text[end + 1..].strip_prefix(',') {
                Some(next) => rest = next,
                None => return text.len() == end + 1 && value.parse::<f64>().is_ok(),
            }
        }
    }
}
