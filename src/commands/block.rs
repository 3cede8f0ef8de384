//! `probewatch block`: writes which clients a firewall could block, from reports or logs.
//!
//! It blocks nothing. A list that would be made from nothing readable is not written, because an
//! empty list clears a set.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ipnet::IpNet;

use super::common::own_addresses;
use super::error::CommandError;
use super::reports_and_logs::ReportsAndLogs;
use super::{BlockSettings, Exit, ScanSettings, message};
use crate::block::{AddressRanges, BlockPolicy, NeverBlockReason, ProxyRanges};
use crate::geoip::{GeoDatabases, GeoInfo};
use crate::judge::proxied::ProxiedClients;
use crate::render::block::{self, ABUSE_DAYS, ABUSE_HEADER, BlockFormat, BlockPage, Unaccepted};
use crate::render::sink::Sink;
use crate::report::anonymize::Privacy;
use crate::report::block_candidates::decide_blocks;
use crate::report::block_list::{BlockLedger, BlockList, NotListed};
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::text::number::{counted, grouped};

/// Writes the list.
#[must_use]
pub(crate) fn run(settings: &BlockSettings) -> Exit {
    block(settings).unwrap_or_else(|error| error.report())
}

fn block(settings: &BlockSettings) -> Result<Exit, CommandError> {
    let mut given = ReportsAndLogs::new(&settings.scan)?;
    let geoip = Privacy::new(None, true).open_geoip(&settings.scan.client.geoip)?;
    let verified = AddressRanges::of_search_engines(&settings.verified_bots)?;
    let proxies = ProxyRanges::read(&settings.scan.client.proxy_ranges)?;
    given.find_logs()?;
    let sink = given.open_sink(settings.scan.output.as_deref())?;
    let allow = &given.rule_context.scan_options.allow;
    given.rule_context.print_warnings(&settings.scan);
    let interfaces = own_addresses();
    let policy = BlockPolicy::new(&interfaces, &settings.scan.client.trusted, allow)
        .with_verified(&verified)
        .with_proxies(&proxies);
    let scanned = given.scan_logs()?;
    if given.reports.is_empty() && scanned.as_ref().is_some_and(|logs| logs.is_unusable) {
        message::error(
            "no list is written: no line of the logs can be read, and an empty list would clear the set",
        );
        return Ok(Exit::Damaged);
    }
    let mut ledger = BlockLedger::default();
    let is_forwarded = is_forwarded(
        &settings.scan,
        scanned.as_ref().is_some_and(|logs| logs.scan.has_forwarded),
    );
    let (unlisted, has_problems) = given.with_report_input(scanned.as_ref(), |report_input| {
        let analysis = LogAnalysis::new(report_input);
        let mut report = build(&analysis, ROWS);
        decide_blocks(&mut report, &analysis, &policy, None);
        let not_listed = ledger.add_report(&report, &analysis, &policy, is_forwarded);
        let behind_cdn = ProxiedClients::find(report_input.tally, policy.proxies(), false);
        (not_listed, behind_cdn)
    })?;
    let (not_listed, behind_cdn) = unlisted.unwrap_or_default();
    let list = ledger.list(&settings.options, &policy);
    let page = BlockPage {
        list: &list,
        sources: &source_names(&settings.scan),
        geo: &geo(&list, &geoip),
    };
    if is_forwarded && !settings.scan.quiet {
        message::warning(FORWARDED);
    }
    if let Some(clients) = behind_cdn {
        message::warning(&clients.sentence(false));
    }
    warn_of_proxy(&settings.scan, list.possible_proxy);
    if let Some(why) = empty_reason(&not_listed, &page, settings.format) {
        print_empty(&settings.scan, &why.text, has_problems);
    } else if !settings.scan.quiet {
        print_notices_of_candidates(&not_listed, &list);
    }
    write(
        &page,
        settings.format,
        settings.scan.output.as_deref(),
        sink,
    )?;
    Ok(if has_problems {
        Exit::Damaged
    } else {
        Exit::Success
    })
}

/// What the databases have about the entries.
fn geo(list: &BlockList, databases: &GeoDatabases) -> Vec<Option<Arc<GeoInfo>>> {
    if databases.is_empty() {
        return Vec::new();
    }
    databases.lookup_all(
        &list
            .entries
            .iter()
            .map(|entry| Some(entry.address))
            .collect::<Vec<_>>(),
    )
}

/// Whether a proxy wrote the logs, and its address is not known: no client is certain.
pub(super) fn is_forwarded(settings: &ScanSettings, has_forwarded: bool) -> bool {
    has_forwarded && settings.client.trusted.is_empty()
}

/// The inputs as the user named them.
pub(super) fn source_names(settings: &ScanSettings) -> Vec<Vec<u8>> {
    let name = |path: &PathBuf| match path.as_os_str().as_encoded_bytes() {
        b"-" => b"standard input".to_vec(),
        name => name.to_vec(),
    };
    let mut names: Vec<_> = settings
        .paths
        .iter()
        .chain(settings.found.iter().map(|log| &log.path))
        .map(name)
        .collect();
    names.dedup();
    if names.is_empty() {
        vec![b"standard input".to_vec()]
    } else {
        names
    }
}

/// The warning for logs whose clients may all be proxies.
pub(super) const FORWARDED: &str = "the log has a field of forwarded addresses, so that its clients may be proxies: none is listed; \
    name your proxies, as in --client-from x-forwarded-for --trusted-proxy 192.0.2.7";

/// The rows that a ledger needs.
const ROWS: RowSelection = RowSelection {
    answered: false,
    paths: false,
    rules: false,
    campaigns: false,
    hosts: false,
    ..RowSelection::COMPLETE
};

/// Warns that a candidate is not listed, because it may be a proxy.
pub(super) fn warn_of_proxy(settings: &ScanSettings, possible_proxy: Option<IpNet>) {
    if let Some(proxy) = possible_proxy.filter(|_| !settings.quiet) {
        message::warning(&format!(
            "{proxy} makes nearly all requests and may be a proxy: it is not listed; name your proxies with --trusted-proxy, or 127.0.0.1 if there is none"
        ));
    }
}

/// Prints why a list is empty. If some input is damaged, that may be the reason.
pub(super) fn print_empty(settings: &ScanSettings, why: &str, has_problems: bool) {
    if has_problems {
        message::error(&format!("{why}, and some input is damaged"));
    } else if !settings.quiet {
        message::notice(why);
    }
}

/// Prints how many candidates are not in a list with entries.
fn print_notices_of_candidates(not_listed: &NotListed, list: &BlockList) {
    for (reason, edges) in never(not_listed, list) {
        if let NeverBlockReason::Edge(operator) = reason {
            message::notice(&operator.left_out(edges));
        }
    }
    for (candidates, why) in [
        (
            not_listed.third_party,
            "a page of others may have made their browser send the probes",
        ),
        (
            not_listed.ordinary,
            "they sent more ordinary requests than probes",
        ),
        (not_listed.untimed, "their requests have no time"),
        (
            list.costly,
            "they sent ordinary requests too: see --max-cost",
        ),
    ] {
        if candidates > 0 {
            message::notice(&format!(
                "{candidates} candidates are not listed, because {why}"
            ));
        }
    }
}

/// Candidates that must never be blocked, of this run and of earlier ones.
fn never(not_listed: &NotListed, list: &BlockList) -> BTreeMap<NeverBlockReason, usize> {
    let mut sum = not_listed.never.clone();
    list.never
        .iter()
        .for_each(|(reason, candidates)| *sum.entry(*reason).or_default() += candidates);
    sum
}

/// Why a list is empty.
pub(super) struct EmptyReason {
    pub(super) text: String,
    /// There are candidates that are not listed.
    pub(super) has_candidates: bool,
}

/// Why a list of this format is empty; `None` if it has an entry.
pub(super) fn empty_reason(
    not_listed: &NotListed,
    page: &BlockPage<'_>,
    format: BlockFormat,
) -> Option<EmptyReason> {
    let list = page.list;
    let unaccepted = if format == BlockFormat::Abuseipdb {
        block::unaccepted(page)
    } else {
        Unaccepted::default()
    };
    if list.entries.len() > unaccepted.old + unaccepted.networks {
        return None;
    }
    let never = never(not_listed, list)
        .into_iter()
        .map(|(reason, clients)| match reason {
            NeverBlockReason::Edge(operator) => {
                (clients, format!("of {} left out", operator.its("edges")))
            }
            reason => (clients, format!("must not be listed ({reason})")),
        });
    let reasons = [
        (
            list.expired + not_listed.expired,
            format!(
                "last probed over {} ago (--ttl)",
                block::duration(list.ttl.as_secs())
            ),
        ),
        (
            unaccepted.old,
            format!("last probed over {ABUSE_DAYS} days ago (AbuseIPDB accepts no older)"),
        ),
        (
            unaccepted.networks,
            "are IPv6 networks (AbuseIPDB accepts addresses)".to_owned(),
        ),
        (
            list.costly,
            "sent ordinary requests (--max-cost)".to_owned(),
        ),
        (
            not_listed.ordinary,
            "sent more ordinary requests than probes".to_owned(),
        ),
        (
            usize::from(list.possible_proxy.is_some()),
            "may be a proxy (--trusted-proxy)".to_owned(),
        ),
        (
            not_listed.third_party,
            "may be readers of a page of others".to_owned(),
        ),
        (
            not_listed.forwarded,
            "may be proxies (--client-from)".to_owned(),
        ),
        (not_listed.untimed, "have no time".to_owned()),
    ];
    let reasons: Vec<_> = reasons
        .into_iter()
        .chain(never)
        .filter(|(candidates, _)| *candidates > 0)
        .collect();
    if reasons.is_empty() {
        return Some(EmptyReason {
            text: "the list is empty: no client is a block candidate".to_owned(),
            has_candidates: false,
        });
    }
    let candidates = counted(
        reasons
            .iter()
            .map(|(candidates, _)| *candidates as u64)
            .sum(),
        "candidate",
        "candidates",
    );
    let reasons: Vec<_> = reasons
        .iter()
        .map(|(candidates, why)| format!("{} {why}", grouped(*candidates as u64)))
        .collect();
    let text = format!("the list is empty: {candidates}: {}", reasons.join(", "));
    Some(EmptyReason {
        text,
        has_candidates: true,
    })
}

fn write(
    page: &BlockPage<'_>,
    format: BlockFormat,
    path: Option<&Path>,
    mut sink: Sink,
) -> Result<(), CommandError> {
    if format != BlockFormat::Abuseipdb {
        block::write(page, format, &mut sink).map_err(|error| sink.explain(error))?;
        return Ok(sink.commit()?);
    }
    let files = block::abuse_files(page);
    let path = match path {
        Some(path) => path,
        None if files.len() > 1 => return Err(CommandError::ManyFiles(files.len())),
        None => Path::new(""),
    };
    let mut sinks = vec![sink];
    for number in 2..=files.len() {
        sinks.push(Sink::file(&numbered(path, number))?);
    }
    for (mut sink, file) in sinks.into_iter().zip(&files) {
        sink.write_all(file).map_err(|error| sink.explain(error))?;
        sink.commit()?;
    }
    if path != Path::new("") {
        remove_older(path, files.len() + 1);
    }
    Ok(())
}

/// `abuse.csv` is followed by `abuse-2.csv`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Removes files of an earlier and longer list, so that they are not reported again. Other files
/// are left alone.
fn remove_older(path: &Path, mut number: usize) {
    loop {
        let old = numbered(path, number);
        let mut head = Vec::new();
        let read = fs::symlink_metadata(&old)
            .and_then(|metadata| {
                if metadata.is_file() {
                    File::open(&old)
                } else {
                    Err(ErrorKind::InvalidInput.into())
                }
            })
            .and_then(|file| file.take(ABUSE_HEADER.len() as u64).read_to_end(&mut head));
        if read.is_err() || head != ABUSE_HEADER.as_bytes() || fs::remove_file(&old).is_err() {
            return;
        }
        number += 1;
    }
}
