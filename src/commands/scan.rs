//! `probewatch scan`: reads logs and prints one report.
//!
//! Errors in rules, globs and outputs are found before the first line is read. Problems with an
//! input do not stop the scan; they are printed at the end and result in an exit code of their own.

use std::mem::{self, ManuallyDrop};
use std::time::{Duration, Instant};

use super::common::{
    RuleContext, check_binary, check_part, inputs, output, pool, print_notices, print_problems,
    privacy, read, report_no_logs,
};
use super::{Anonymize, Exit, ScanSettings, message, stdout};
use crate::block::ProxyRanges;
use crate::commands::error::CommandError;
use crate::geoip::{DecodedRecords, GeoDatabases};
use crate::judge::proxied::ProxiedClients;
use crate::os::system::unix_now;
use crate::render::sink::Sink;
use crate::render::{HitTexts, RenderOptions, render};
use crate::report::anonymize::Privacy;
use crate::report::build::{LogAnalysis, build};
use crate::report::hit::{HitBuffers, hit_from_line};
use crate::report::model::{ReportModel, ReportedHit};
use crate::report::networks::add_geo;
use crate::report::notes;
use crate::scan::{self, drop_skipped, input_summaries};

/// Scans the logs and prints the report.
#[must_use]
pub(crate) fn run(settings: &ScanSettings) -> Exit {
    scan(settings).unwrap_or_else(|error| error.report())
}

fn scan(settings: &ScanSettings) -> Result<Exit, CommandError> {
    let started = Instant::now();
    let pool = pool(settings.threads)?;
    let rule_context = ManuallyDrop::new(RuleContext::load_in(&pool, settings)?);
    let privacy = privacy(&settings.client.anonymize, settings.client.redact)?;
    let geoip = privacy.open_geoip(&settings.client.geoip)?;
    let proxies = ProxyRanges::read(&settings.client.proxy_ranges)?;
    let mut found = inputs(settings)?;
    check_part(settings, &mut found)?;
    let sink = output(settings.output.as_deref(), "--output", &found.sources)?;
    check_binary(settings.format, &sink)?;
    rule_context.print_warnings(settings);
    let ready = started.elapsed();
    // Never dropped: the process ends after the report, and freeing this memory would take time.
    let mut scan = ManuallyDrop::new(read(
        settings,
        &rule_context.job(settings.client.prefix),
        &found.sources,
        &pool,
    )?);
    let (spool, inputs) = (
        scan.spool.take(),
        input_summaries(mem::take(&mut scan.inputs), &found),
    );
    let read = started.elapsed();
    let report_input = rule_context.report_input(&scan, &inputs, rule_context.filter(settings));
    let analysis = LogAnalysis::new(&report_input);
    let view = RenderOptions {
        by: settings.by,
        full: settings.full,
        made_at: Some(unix_now().cast_signed()),
        ..stdout::report_options(settings)
    };
    let mut report =
        pool.install(|| build(&analysis, view.rows().with_networks(!geoip.is_empty())));
    pool.install(|| add_geo(&mut report, &geoip, &privacy));
    let broad = if settings.quiet {
        Vec::new()
    } else {
        notes::broad_rule_warnings(&analysis, &report.inputs)
    };
    drop_skipped(&mut report.inputs);
    report.elapsed = started.elapsed();
    report.prefix = settings.client.prefix;
    print_notices(settings, &report.inputs, &scan, &found);
    message::warnings(&broad);
    let has_forwarded = scan.has_forwarded && settings.client.origin.is_none();
    report.proxied = ProxiedClients::find(&scan.tally, &proxies, has_forwarded);
    if let Some(proxied) = report.proxied {
        message::warning(&proxied.sentence(settings.client.anonymize != Anonymize::Off));
    }
    if let Some(bound) = report.approximate.as_ref().filter(|_| !settings.quiet) {
        message::notice(&notes::accuracy_note(bound));
    }
    // A range may have no line that parses in a log that has others.
    let problems = print_problems(&report.inputs)
        | (settings.range.is_none() && report_no_logs(&report.inputs, &found));
    let severity = report.totals.fail_severity;
    let statistics = settings
        .stats
        .then(|| statistics_text(&report, ready, read, pool.current_num_threads()));
    pool.install(|| {
        write(
            settings,
            &view,
            (&privacy, &geoip),
            (&analysis, &report),
            spool,
            sink,
        )
    })?;
    if let Some(text) = statistics {
        message::print_raw(&text);
    }
    Ok(match settings.fail_on {
        Some(level) if severity >= Some(level) => Exit::Found,
        _ if problems => Exit::Damaged,
        _ => Exit::Success,
    })
}

fn write(
    settings: &ScanSettings,
    view: &RenderOptions,
    (privacy, geoip): (&Privacy, &GeoDatabases),
    (analysis, report): (&LogAnalysis<'_>, &ReportModel<'_>),
    spool: Option<scan::HitSpool>,
    mut sink: Sink,
) -> Result<(), CommandError> {
    let written = if let (Some(spool), Some(format)) = (spool, settings.format.hit_format()) {
        let made_at = view.made_at.unwrap_or_default();
        let prefix = settings.client.prefix;
        spool.render(
            &mut sink,
            |line, (hit, geo, texts): &mut (Option<HitBuffers>, DecodedRecords, HitTexts), out| {
                let hit = hit.get_or_insert_with(|| HitBuffers::with_prefix(prefix));
                let Some(hit) = hit_from_line(analysis, line, hit) else {
                    return Ok(());
                };
                let geo = privacy.geo_with(hit.client, geoip, geo);
                let hit = ReportedHit {
                    geo: geo.as_deref(),
                    ..hit
                };
                privacy.with_hit(&hit, |hit| {
                    format.write(hit, analysis.input.rules, made_at, texts, out);
                });
                Ok(())
            },
        )
    } else {
        privacy.with_redacted(report, &[], |report, _| render(report, view, &mut sink))
    };
    written.map_err(|error| sink.explain(error))?;
    Ok(sink.commit()?)
}

/// The text of `--stats`: rules were loaded, inputs found and the output opened after `ready`, and
/// all inputs were read, matched and counted after `read`.
fn statistics_text(
    report: &ReportModel<'_>,
    ready: Duration,
    read: Duration,
    threads: usize,
) -> String {
    let sum = &report.totals.sum;
    let reading = read.saturating_sub(ready);
    let ms = |d: Duration| d.as_secs_f64() * 1_000.0;
    let rate = sum.bytes
        / u64::try_from(reading.as_micros())
            .unwrap_or(u64::MAX)
            .max(1);
    format!(
        "start      {:9.1} ms  {} rules\nread       {:9.1} ms  {} bytes, {} lines, {} MB/s, {} threads\nreport     {:9.1} ms  {} hits, {} clients, {} paths, {} rules",
        ms(ready),
        report.rule_set.rules().len(),
        ms(reading),
        sum.bytes,
        sum.lines,
        rate,
        threads,
        ms(report.elapsed.saturating_sub(read)),
        sum.hits,
        report.totals.clients,
        report.totals.paths,
        report.totals.rules,
    )
}
