//! `probewatch verify`: asks one's own site what it gives today for the paths that a report says it
//! gave.
//!
//! The only command that sends anything, and only by the program `curl`. It asks no other host than
//! that of `--site`, and follows no redirect. Nothing of an answer is kept but its status, its size
//! and its kind.

mod curl;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::curl::{AGENT, Curl};
use super::error::CommandError;
use super::merge::REPORT;
use super::reports_and_logs::ReportsAndLogs;
use super::{Exit, ScanSettings, VerifySettings, message, signals, stdout};
use crate::log::time::LogTime;
use crate::render::OutputFormat;
use crate::render::json::GENERATED_BY;
use crate::render::sink::Sink;
use crate::render::verify::{skipped_sentence, write_json, write_table};
use crate::report::build::LogAnalysis;
use crate::report::verify::{
    self, SCHEMA_VERSION, Selection, VERIFIED_FILE, Verdict, VerdictCounts, Verification,
};
use crate::text::number::{counted, seconds};

/// Asks the site and prints the result.
#[must_use]
pub(crate) fn run(settings: &VerifySettings) -> Exit {
    run_verify(settings).unwrap_or_else(|error| error.report())
}

fn run_verify(settings: &VerifySettings) -> Result<Exit, CommandError> {
    if let Some(path) = &settings.cacert {
        File::open(path).map_err(|source| CommandError::CaCert {
            path: path.clone(),
            source,
        })?;
    }
    let mut given = ReportsAndLogs::new(&settings.scan)?;
    given.find_logs()?;
    // Opened first: nothing is sent if the result cannot be saved.
    let saved = file(settings, &given)
        .map(|file| given.open_sink(Some(&file)))
        .transpose()?;
    let mut out = Sink::stdout()?;
    given.rule_context.print_warnings(&settings.scan);
    let scanned = given.scan_logs()?;
    let (selection, is_damaged) = given.with_report_input(scanned.as_ref(), |report_input| {
        verify::select(&LogAnalysis::new(report_input), &settings.site)
    })?;
    let selection = selection.unwrap_or_default();
    if settings.dry_run {
        print_urls(settings, selection, &mut out)?;
        out.commit()?;
        return Ok(if is_damaged {
            Exit::Damaged
        } else {
            Exit::Success
        });
    }
    let result = ask(settings, selection)?;
    if let Some(mut saved) = saved {
        write_json(&result, &mut saved).map_err(|error| saved.explain(error))?;
        saved.commit()?;
    }
    print(&settings.scan, &result, &mut out).map_err(|error| out.explain(error))?;
    out.commit()?;
    let is_open = result.paths.iter().any(|path| path.reason.is_some());
    Ok(match result.totals.still_given {
        0 if is_open || is_damaged => Exit::Damaged,
        0 => Exit::Success,
        _ => Exit::Found,
    })
}

/// The file of the result.
fn file(settings: &VerifySettings, given: &ReportsAndLogs) -> Option<PathBuf> {
    match (&settings.save, &*given.reports) {
        _ if settings.dry_run => None,
        (Some(file), _) => Some(file.clone()).filter(|file| file != Path::new("-")),
        (None, [report]) if !given.has_logs() && report.file_name()? == REPORT => {
            Some(report.with_file_name(VERIFIED_FILE))
        }
        (None, _) => None,
    }
}

/// Prints the URLs that would be requested, in their order.
fn print_urls(
    settings: &VerifySettings,
    selection: Selection,
    out: &mut Sink,
) -> Result<(), CommandError> {
    let Selection { mut paths, skipped } = selection;
    let url = settings.site.url();
    verify::ask(
        &mut paths,
        &settings.site,
        settings.max_requests,
        |path| match writeln!(out, "{url}{path}") {
            Ok(()) => Ok(Err(String::new())),
            Err(error) => Err(out.explain(error)),
        },
    )?;
    if !settings.scan.quiet {
        for path in paths
            .iter()
            .filter(|path| path.verdict == Verdict::NotRequested)
        {
            message::notice(&format!(
                "{} is not requested: {}",
                path.path,
                path.reason.as_deref().unwrap_or_default()
            ));
        }
        for skipped in &skipped {
            message::notice(&skipped_sentence(skipped));
        }
    }
    Ok(())
}

/// Sends the requests.
fn ask(settings: &VerifySettings, selection: Selection) -> Result<Verification, CommandError> {
    let Selection { mut paths, skipped } = selection;
    let VerifySettings {
        site,
        max_requests,
        pause,
        ..
    } = settings;
    let planned = verify::ask(&mut paths.clone(), site, *max_requests, |_| {
        Ok::<_, CommandError>(Err(String::new()))
    })?;
    if planned.all > 1 && !settings.scan.quiet {
        let (requests, time) = (
            counted(planned.all as u64, "request", "requests"),
            seconds(*pause * (planned.all as u32 - 1)),
        );
        message::notice(&format!(
            "sending {requests} to {} in {time} or more; its log will have them, as {AGENT}",
            site.url()
        ));
    }
    let stop = signals::listen();
    let mut curl = Curl::new(settings.cacert.as_deref(), *pause, &stop);
    let counts = verify::ask(&mut paths, site, *max_requests, |path| {
        curl.get(&format!("{}{path}", site.url()))
    })?;
    paths.sort_by_key(|path| path.verdict);
    Ok(Verification {
        schema_version: SCHEMA_VERSION,
        generated_by: GENERATED_BY,
        site: site.url().to_owned(),
        time: LogTime {
            utc: settings.now,
            offset: 0,
        }
        .rfc3339_utc(),
        requests: counts.all,
        controls: counts.controls,
        totals: VerdictCounts::new(&paths),
        paths,
        skipped,
    })
}

fn print(scan: &ScanSettings, result: &Verification, out: &mut Sink) -> io::Result<()> {
    if scan.format == OutputFormat::Json {
        return write_json(result, out);
    }
    write_table(result, &stdout::terminal(scan.color, false), out)
}
