//! What `--stats` prints: how long each stage took and what it came to.

use std::time::Duration;

use crate::analysis::model::Report;

/// When each stage was done, from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Rules loaded, inputs found, output open.
    pub(super) ready: Duration,
    /// Every input read, judged and tallied.
    pub(super) read: Duration,
    /// The report built.
    pub(super) built: Duration,
}

/// The figures of a run.
pub(super) fn text(report: &Report<'_>, times: &Times, threads: usize) -> String {
    let sum = &report.totals.sum;
    let reading = times.read.saturating_sub(times.ready);
    let ms = |d: Duration| d.as_secs_f64() * 1_000.0;
    let rate = sum.bytes / u64::try_from(reading.as_micros()).unwrap_or(u64::MAX).max(1);
    format!(
        "start      {:9.1} ms  {} rules\nread       {:9.1} ms  {} bytes, {} lines, {} MB/s, {} threads\nreport     {:9.1} ms  {} hits, {} clients, {} paths, {} rules",
        ms(times.ready),
        report.rule_set.rules().len(),
        ms(reading),
        sum.bytes,
        sum.lines,
        rate,
        threads,
        ms(times.built.saturating_sub(times.read)),
        sum.hits,
        report.totals.clients,
        report.totals.paths,
        report.totals.rules,
    )
}
