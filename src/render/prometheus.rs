//! Writes metrics in the text format of Prometheus: gauges of one scan, counters and gauges of
//! `report` and `follow`.
//!
//! Hits are counted by class and outcome only, so that the number of series is bounded: never by
//! client, path or rule. No sample has a time of its own, as the textfile collector of
//! `node_exporter` requires.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::time::Duration;

use crate::log::log_entry::Outcome;
use crate::report::class_hits::MetricCounters;
use crate::report::model::ReportModel;
use crate::rules::RuleSet;
use crate::text::redact::sanitize::escape;

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

/// The gauges of a scan.
pub(crate) fn of_report(report: &ReportModel<'_>) -> String {
    let sum = &report.totals.sum;
    let mut page = MetricsPage::default();
    page.begin(
        "probewatch_scan_hits",
        "gauge",
        "Hits in the scanned logs, by the class of their most severe rule and by outcome.",
    );
    for hits in &report.classes {
        for (outcome, count) in Outcome::ALL
            .into_iter()
            .zip(hits.outcomes)
            .filter(|(_, count)| *count > 0)
        {
            let labels = [("class", hits.class), ("outcome", outcome.as_str())];
            page.sample(&labels, count);
        }
    }
    page.begin(
        "probewatch_scan_answered_hits",
        "gauge",
        "Hits in the scanned logs with a distinct answer, by class.",
    );
    for class in classes(report.rule_set) {
        let hits = report.classes.iter().find(|hits| hits.class == class);
        page.sample(&[("class", class)], hits.map_or(0, |hits| hits.answered));
    }
    page.gauge(
        "probewatch_scan_lines",
        "Lines of the scanned logs.",
        sum.lines,
    );
    page.gauge(
        "probewatch_scan_unparsed_lines",
        "Lines of the scanned logs that no format matches.",
        sum.unparsed,
    );
    page.gauge(
        "probewatch_scan_size_bytes",
        "Bytes of the scanned logs, after decompression.",
        sum.bytes,
    );
    let scanned = report
        .inputs
        .iter()
        .filter(|input| input.skipped_whole.is_none());
    page.gauge(
        "probewatch_scan_files",
        "Logs that were scanned.",
        scanned.count(),
    );
    if let Some(time) = report.totals.last_time {
        page.gauge(
            "probewatch_scan_last_line_timestamp_seconds",
            "Time of the latest line.",
            time.utc,
        );
    }
    page.text
}

/// The counters and gauges of a run.
pub(crate) fn of_run(run: &RunMetrics<'_>) -> String {
    let RunMetrics { counters, now, .. } = *run;
    // Each series has these, so that those of several commands and states differ.
    let mut page = MetricsPage::default();
    page.labels.push(("command", run.command.to_owned()));
    if !run.state.is_empty() {
        page.labels.push(("state", escape(run.state).into_owned()));
    }
    page.begin(
        "probewatch_hits_total",
        "counter",
        "Hits, by the class of their most severe rule and by outcome.",
    );
    for (class, counter) in &counters.classes {
        for (outcome, count) in &counter.outcomes {
            page.sample(&[("class", class), ("outcome", outcome)], count);
        }
    }
    page.begin(
        "probewatch_answered_hits_total",
        "counter",
        "Hits with a distinct answer, by class.",
    );
    // Classes without such a hit too: an increase from nothing to 1 would be no increase to
    // Prometheus.
    for class in classes(run.rules)
        .into_iter()
        .chain(counters.classes.keys().map(String::as_str))
        .collect::<BTreeSet<_>>()
    {
        let counter = counters.classes.get(class);
        page.sample(
            &[("class", class)],
            counter.map_or(0, |counter| counter.answered),
        );
    }
    page.begin("probewatch_lines_total", "counter", "Lines that were read.");
    page.sample(&[], counters.lines);
    page.begin(
        "probewatch_unparsed_lines_total",
        "counter",
        "Lines that no format matches.",
    );
    page.sample(&[], counters.unparsed);
    page.gauge(
        "probewatch_lag_bytes",
        "Bytes of the logs that were not read yet.",
        run.lag,
    );
    page.gauge("probewatch_files", "Logs that are read.", run.files);
    page.gauge(
        "probewatch_state_age_seconds",
        "Time since the counters began.",
        counters.since.map_or(0, |since| now.saturating_sub(since)),
    );
    page.gauge(
        "probewatch_last_run_timestamp_seconds",
        "When these metrics were written.",
        now,
    );
    page.gauge(
        "probewatch_last_run_duration_seconds",
        "How long report ran, or how long follow has been running.",
        run.duration.as_secs_f64(),
    );
    page.text
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

/// Metrics as text.
#[derive(Default)]
struct MetricsPage {
    text: String,
    /// Labels of each series.
    labels: Vec<(&'static str, String)>,
    /// The metric of the next samples.
    name: &'static str,
}

impl MetricsPage {
    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        // Writing to a `String` does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, own: &[(&str, &str)], value: impl Display) {
        let common = self.labels.iter().map(|(label, value)| (*label, &**value));
        let labels: Vec<String> = common
            .chain(own.iter().copied())
            .map(|(label, value)| format!("{label}=\"{}\"", label_value(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _ = writeln!(self.text, "{}{labels} {value}", self.name);
    }

    /// A gauge with a single series.
    fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.begin(name, "gauge", help);
        self.sample(&[], value);
    }
}

/// A value of a label, with what would end it escaped.
fn label_value(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
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
        of_run(&metrics)
    }

    #[test]
    fn a_scan_has_gauges() {
        insta::assert_snapshot!(of_report(&fixture::report(fixture::rules())));
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
