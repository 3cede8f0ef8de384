//! Proposes rules from a log: paths that known probers request and normal clients do not.
//!
//! A pure function of the merged tally. It changes no rule; a person reviews the proposals. A
//! client is a known prober by all its requests, because anyone may match one rule by accident, and
//! a search engine several.
//!
//! The kind of a path by its name decides which rule is proposed for it. The class is a guess for a
//! person to review: the most frequent class of its probers among those that fit. Paths are
//! printable ASCII here; logged texts are redacted like everywhere.

use std::collections::BTreeMap;

use super::build::LogAnalysis;
use crate::judge::prober::{ClientRequests, MIN_PROBES, unknown_requests};
use crate::judge::report_input::ReportInput;
use crate::log::client::Network;
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::rules::Class;
use crate::scan::input_summary::InputSummary;
use crate::tally::Tally;
use crate::text::redact::mask;

/// At most one other client for this many probers. Probers often request one path only, but a
/// removed page is still requested by all search engines.
const PROBERS_PER_OTHER: usize = 2;

/// A path and its clients.
struct PathCandidate {
    path: u32,
    probers: Vec<u32>,
    others: Vec<u32>,
}

/// Proposes the paths that at least `min_probers` independent probers requested, the most requested
/// first. The run must have recorded unmatched requests.
#[must_use]
pub(crate) fn learn<'a>(analysis: &LogAnalysis<'a>, min_probers: usize) -> Proposals<'a> {
    let ReportInput { tally, sources, .. } = analysis.input;
    let probers = KnownProbers::new(analysis);
    let ordinary = NormalPages::new(tally, &probers);
    let (mut proposals, mut random) = (Vec::new(), 0);
    for candidate in candidates(tally, &probers, min_probers) {
        let Some((unmatched, path)) = tally
            .unmatched()
            .path(candidate.path)
            .zip(str::from_utf8(tally.path(candidate.path)).ok())
        else {
            continue;
        };
        let prober_networks = networks(tally, &candidate.probers);
        let others = networks(tally, &candidate.others)
            .into_iter()
            .filter(|other| prober_networks.binary_search(other).is_err())
            .count();
        if prober_networks.len() < min_probers
            || others * PROBERS_PER_OTHER > prober_networks.len()
            || ordinary.covers(path.as_bytes())
        {
            continue;
        }
        // A rule must not contain a text that reports would redact.
        if is_machine_generated(path) || mask::mask(path.as_bytes()) != path.as_bytes() {
            random += 1;
            continue;
        }
        let (kind, class) = kind_and_class(path, &candidate, &probers);
        let ((_, position), mut statuses) = (unmatched.earliest, unmatched.statuses);
        statuses.sort_unstable();
        let source = &sources[position.input as usize];
        let (first_time, last_time) = unmatched.times.unzip();
        proposals.push(Proposal {
            path,
            rule: kind.rule(class),
            title: kind.title(class),
            class,
            severity: suggested_severity(class),
            probers: prober_networks.len() as u64,
            others: others as u64,
            requests: unmatched.requests,
            statuses,
            first_time,
            last_time,
            source: &source.path,
            line: source.line_number(position.chunk, position.line),
            // The target is stored only if it differs from the path.
            target: match &*unmatched.target {
                b"" => path.as_bytes().to_vec(),
                target => target.to_vec(),
            },
            status: unmatched.status,
        });
    }
    proposals.sort_by(|a, b| (b.probers, b.requests, a.path).cmp(&(a.probers, a.requests, b.path)));
    Proposals {
        rules: proposals,
        random,
        probers: probers.len() as u64,
        min_probers: min_probers as u64,
        one_of: 1_u64
            .checked_shl(tally.unmatched().level().into())
            .unwrap_or(u64::MAX),
        ..Proposals::default()
    }
}

/// Every path with enough probers, and its clients; several clients may still share a network.
fn candidates(tally: &Tally, probers: &KnownProbers<'_>, min_probers: usize) -> Vec<PathCandidate> {
    let mut prober_counts = Vec::new();
    for (_, path, _) in tally
        .unmatched()
        .pairs()
        .filter(|(client, ..)| probers.contains(*client))
    {
        let at = path as usize;
        if at >= prober_counts.len() {
            prober_counts.resize(at + 1, 0_u32);
        }
        prober_counts[at] += 1;
    }
    let has_enough_probers = |path: u32| {
        prober_counts
            .get(path as usize)
            .is_some_and(|&n| n as usize >= min_probers)
    };
    let mut pairs: Vec<(u32, u32)> = tally
        .unmatched()
        .pairs()
        .filter(|(_, path, _)| has_enough_probers(*path))
        .map(|(client, path, _)| (path, client))
        .collect();
    pairs.sort_unstable();
    let candidate = |of_path: &[(u32, u32)]| {
        let (probers, others) = of_path
            .iter()
            .map(|(_, client)| *client)
            .partition(|client| probers.contains(*client));
        PathCandidate {
            path: of_path[0].0,
            probers,
            others,
        }
    };
    pairs.chunk_by(|a, b| a.0 == b.0).map(candidate).collect()
}

/// The networks of clients, sorted.
fn networks<'a>(tally: &'a Tally, clients: &[u32]) -> Vec<Network<'a>> {
    let mut networks: Vec<_> = clients
        .iter()
        .map(|&client| Network::from_client(tally.client(client)))
        .collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}

/// The kind of a path and its class: from a word in the path, or the class that its probers matched
/// most.
fn kind_and_class(
    path: &str,
    candidate: &PathCandidate,
    probers: &KnownProbers<'_>,
) -> (PathKind, &'static str) {
    let kind = PathKind::from_path(path);
    if let Some(class) = kind.class_hint(path) {
        return (kind, class);
    }
    let votes = |class: &str| {
        candidate
            .probers
            .iter()
            .map(|&client| probers.class_votes(client, class))
            .sum::<u64>()
    };
    // The first of several, because classes are listed by likelihood.
    let classes = kind.classes();
    let best = classes.iter().rev().max_by_key(|class| votes(class));
    (kind, best.copied().unwrap_or("exposure"))
}

/// The known probers, by client number.
pub(crate) struct KnownProbers<'a> {
    each: BTreeMap<u32, ProbeProfile<'a>>,
}

/// The findings of one client.
#[derive(Default)]
struct ClientFindings<'a> {
    hits: u64,
    /// The numbers of paths, each with the class of a rule that matched.
    paths: Vec<(u32, &'a str)>,
}

/// The distinct paths that a client probed, and how many of each class.
#[derive(Default)]
struct ProbeProfile<'a> {
    paths: u64,
    classes: BTreeMap<&'a str, u64>,
}

/// The votes of one prober, divided among the classes it probed.
const VOTE_WEIGHT: u64 = 1_000;

impl<'a> KnownProbers<'a> {
    pub(crate) fn new(analysis: &LogAnalysis<'a>) -> Self {
        let ReportInput { rules, tally, .. } = analysis.input;
        let classes = |list: &[RuleId]| -> Vec<&'a str> {
            let mut classes: Vec<_> = list
                .iter()
                .map(|&id| rules.rule(id))
                .filter(|r| r.severity >= Severity::Low && r.with_client.is_none())
                .map(|r| r.class.as_str())
                .collect();
            classes.retain(|class| Class::find(class).is_none_or(|class| class.learn));
            classes
        };
        let mut findings: BTreeMap<u32, ClientFindings<'a>> = BTreeMap::new();
        // A cell without a client has the hits of clients outside of the sample.
        for (view, decision) in analysis.cells().filter(|(view, _)| !view.is_other()) {
            let classes = classes(analysis.list(decision));
            if !classes.is_empty() {
                let of_client = findings.entry(view.client).or_default();
                of_client.hits += view.cell.hits;
                of_client
                    .paths
                    .extend(classes.into_iter().map(|class| (view.path, class)));
            }
        }
        let unknown = unknown_requests(analysis);
        let each = findings
            .into_iter()
            .filter_map(|(client, ClientFindings { hits, paths })| {
                let profile = ProbeProfile::new(paths);
                let number = client as usize;
                let requests = tally
                    .client_counts()
                    .get(number)
                    .map_or(0, |count| count.requests);
                let unknown = unknown.get(number).copied().unwrap_or(0);
                profile
                    .is_prober(ClientRequests {
                        hits,
                        others: requests.saturating_sub(hits),
                        unknown,
                    })
                    .then_some((client, profile))
            });
        Self {
            each: each.collect(),
        }
    }

    /// The number of known probers.
    pub(crate) fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether a client is a known prober.
    pub(crate) fn contains(&self, client: u32) -> bool {
        self.each.contains_key(&client)
    }

    /// The votes of a client for this class.
    pub(crate) fn class_votes(&self, client: u32, class: &str) -> u64 {
        self.each.get(&client).map_or(0, |profile| {
            profile
                .classes
                .get(class)
                .map_or(0, |n| n * VOTE_WEIGHT / profile.paths.max(1))
        })
    }
}

impl<'a> ProbeProfile<'a> {
    fn new(mut found: Vec<(u32, &'a str)>) -> Self {
        found.sort_unstable();
        found.dedup();
        let paths = found.chunk_by(|a, b| a.0 == b.0).count() as u64;
        let mut classes = BTreeMap::new();
        for (_, class) in found {
            *classes.entry(class).or_default() += 1;
        }
        Self { paths, classes }
    }

    /// Whether a client with these requests is a known prober. One path may be an accident; and
    /// names that do not exist are those of a search engine with old links, unless there are as
    /// many probed paths as no accident has.
    fn is_prober(&self, requests: ClientRequests) -> bool {
        let unknown = if self.paths >= MIN_PROBES {
            requests.unknown
        } else {
            0
        };
        self.paths >= 2
            && ClientRequests {
                unknown,
                ..requests
            }
            .are_of_prober()
    }
}

/// The normal pages of a site: paths that clients other than probers received, sorted.
pub(crate) struct NormalPages<'a> {
    paths: Vec<&'a [u8]>,
}

impl<'a> NormalPages<'a> {
    pub(crate) fn new(tally: &'a Tally, probers: &KnownProbers<'_>) -> Self {
        let unmatched = tally.unmatched();
        let received = unmatched
            .pairs()
            .filter(|(client, _, got)| *got && !probers.contains(*client))
            .map(|(_, path, _)| path);
        Self::from_paths(
            unmatched
                .normal_paths()
                .chain(received)
                .map(|path| tally.path(path))
                .collect(),
        )
    }

    fn from_paths(mut paths: Vec<&'a [u8]>) -> Self {
        paths.sort_unstable();
        paths.dedup();
        Self { paths }
    }

    /// Whether a rule on this path would match a normal page: the path itself, or one below it.
    pub(crate) fn covers(&self, path: &[u8]) -> bool {
        let folder = [path.strip_suffix(b"/").unwrap_or(path), b"/"].concat();
        let is_there = |start: &[u8]| {
            self.paths
                .get(self.paths.partition_point(|p| *p < start))
                .is_some_and(|p| p.starts_with(start))
        };
        self.paths.binary_search(&path).is_ok() || is_there(&folder)
    }
}

/// All proposals of a run.
#[derive(Debug, Default)]
pub(crate) struct Proposals<'a> {
    /// The inputs, in their order.
    pub inputs: Vec<InputSummary>,
    /// The proposed rules, those with most probers first.
    pub rules: Vec<Proposal<'a>>,
    /// Paths that were left out because they look machine-generated.
    pub random: u64,
    /// Clients that are known probers.
    pub probers: u64,
    /// Independent probers that a proposal needs.
    pub min_probers: u64,
    /// One of this many clients was read, because memory is limited; 1 is all. All counts are those
    /// of these clients.
    pub one_of: u64,
    /// Lines without a time that were kept, if a time range was given.
    pub without_time: u64,
}

/// A path for a new rule.
#[derive(Debug, Clone)]
pub(crate) struct Proposal<'a> {
    /// The path in lower case, printable ASCII.
    pub path: &'a str,
    /// The id of the proposed rule.
    pub rule: String,
    /// The title of that rule.
    pub title: String,
    /// Its suggested class.
    pub class: &'static str,
    /// Its suggested severity.
    pub severity: Severity,
    /// Independent probers that requested it.
    pub probers: u64,
    /// Independent other clients that requested it.
    pub others: u64,
    /// All their requests.
    pub requests: u64,
    /// Requests by status, sorted.
    pub statuses: Vec<(Option<u16>, u64)>,
    /// The earliest time.
    pub first_time: Option<LogTime>,
    /// The latest time.
    pub last_time: Option<LogTime>,
    /// The path of the input with the earliest request.
    pub source: &'a [u8],
    /// The number of its line, from 1.
    pub line: u64,
    /// Its target as logged, without its query.
    pub target: Vec<u8>,
    /// Its status code.
    pub status: Option<u16>,
}

impl Proposal<'_> {
    /// Requests that were answered.
    #[must_use]
    pub(crate) fn answered(&self) -> u64 {
        self.statuses
            .iter()
            .filter(|(status, _)| Outcome::from_status(*status) == Outcome::Answered)
            .map(|(_, n)| n)
            .sum()
    }

    /// The statuses as text.
    pub(crate) fn status_words(&self) -> Vec<String> {
        self.statuses
            .iter()
            .map(|(status, _)| status.map_or_else(|| "-".to_owned(), |status| status.to_string()))
            .collect()
    }
}

/// A kind of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A segment starts with a dot.
    Dot,
    /// An archive, a dump or a copy.
    Backup,
    /// A PHP page.
    Php,
    /// The name suggests a login or an administration page.
    Admin,
    /// Anything else.
    Other,
}

const BACKUPS: [&str; 16] = [
    "7z", "back", "backup", "bak", "bz2", "copy", "dump", "gz", "old", "orig", "rar", "save",
    "sql", "swp", "tgz", "zip",
];

const ADMIN_NAMES: [&str; 7] = [
    "admin", "cgi-bin", "console", "login", "logon", "manager", "panel",
];

/// Words that suggest a class.
const HINTS: [(&str, &str); 7] = [
    ("adminer", "db-admin"),
    ("myadmin", "db-admin"),
    ("mysql", "db-admin"),
    ("pma", "db-admin"),
    ("shell", "webshell"),
    ("sql", "db-admin"),
    ("wp-", "wordpress"),
];

impl PathKind {
    /// The kind of a path in lower case.
    pub(crate) fn from_path(path: &str) -> Self {
        let name = path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if path.contains("/.") {
            Self::Dot
        } else if BACKUPS.contains(&extension) || name.ends_with('~') {
            Self::Backup
        } else if extension.starts_with("php") {
            Self::Php
        } else if ADMIN_NAMES.iter().any(|word| path.contains(word)) {
            Self::Admin
        } else {
            Self::Other
        }
    }

    /// The possible classes of its rule, the likeliest first.
    pub(crate) fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Dot => &["config-exposure", "vcs-exposure", "cloud"],
            Self::Backup => &["backup"],
            Self::Php => &[
                "webshell",
                "db-admin",
                "wordpress",
                "cms",
                "panel",
                "php-eval",
                "phpinfo",
                "config-exposure",
            ],
            Self::Admin => &["panel", "db-admin", "iot", "vpn", "java", "cms"],
            Self::Other => &[
                "exposure",
                "cloud",
                "cms",
                "config-exposure",
                "db-admin",
                "debug",
                "iot",
                "java",
                "log-exposure",
                "misconfig",
                "panel",
                "vpn",
                "wordpress",
            ],
        }
    }

    /// The class that a word in the path suggests, if it is a possible one.
    pub(crate) fn class_hint(self, path: &str) -> Option<&'static str> {
        let (_, class) = HINTS.iter().find(|(word, _)| path.contains(word))?;
        self.classes().contains(class).then_some(class)
    }

    /// The id of the rule for such paths: the same in every run.
    pub(crate) fn rule(self, class: &str) -> String {
        format!("learned/{}-{class}", self.word())
    }

    /// The title of that rule.
    pub(crate) fn title(self, class: &str) -> String {
        let kind = match self {
            Self::Dot => "Dot files",
            Self::Backup => "Archives and copies",
            Self::Php => "PHP pages",
            Self::Admin => "Login and administration pages",
            Self::Other => "Paths",
        };
        format!("{kind} requested by probers (learned, {class})")
    }

    fn word(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Backup => "copy",
            Self::Php => "php",
            Self::Admin => "admin",
            Self::Other => "path",
        }
    }
}

/// The suggested severity of a rule, deliberately low.
fn suggested_severity(class: &str) -> Severity {
    match class {
        "backup" | "config-exposure" | "vcs-exposure" | "webshell" | "php-eval" => Severity::Medium,
        _ => Severity::Low,
    }
}

/// The shortest run of digits that looks generated; a date has eight, a year four.
const NUMBER: usize = 6;

/// The shortest run of hexadecimal digits, with both letters and digits, that looks generated.
const HASH: usize = 10;

/// Whether a part of the path looks machine-generated, such as a hash or a number. Such names do
/// not predict later probes.
fn is_machine_generated(path: &str) -> bool {
    let runs = |of: fn(&u8) -> bool| path.as_bytes().chunk_by(move |a, b| of(a) && of(b));
    let is_hash = |run: &[u8]| {
        let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
        run.len() >= HASH && digits >= 2 && run.len() - digits >= 2 && run[0].is_ascii_hexdigit()
    };
    runs(u8::is_ascii_digit).any(|run| run.len() >= NUMBER)
        || runs(u8::is_ascii_hexdigit).any(is_hash)
}

#[cfg(test)]
mod prober_tests {
    use super::*;

    #[test]
    fn a_prober_probes_a_large_part_of_its_requests() {
        let is_prober = |paths, hits, others, unknown| {
            ProbeProfile {
                paths,
                ..ProbeProfile::default()
            }
            .is_prober(ClientRequests {
                hits,
                others,
                unknown,
            })
        };
        assert!(is_prober(3, 3, 3, 0) && !is_prober(3, 3, 4, 0));
        assert!(is_prober(3, 3, 15, 6) && !is_prober(3, 3, 16, 6));
        assert!(
            is_prober(2, 2, 2, 0) && !is_prober(2, 2, 9, 9),
            "two paths and old links"
        );
        assert!(!is_prober(1, 100, 0, 0));
    }

    #[test]
    fn a_path_with_two_classes_is_one_path() {
        let profile = ProbeProfile::new(vec![
            (1, "webshell"),
            (1, "wordpress"),
            (2, "webshell"),
            (1, "webshell"),
        ]);
        assert_eq!(
            (
                profile.paths,
                profile.classes["webshell"],
                profile.classes["wordpress"]
            ),
            (2, 2, 1)
        );
    }
}

#[cfg(test)]
mod normal_pages_tests {
    use super::*;

    #[test]
    fn a_folder_with_a_normal_page_is_normal() {
        let ordinary = NormalPages::from_paths(vec![b"/shop/item", b"/blog", b"/shop-old/x"]);
        for path in ["/blog", "/shop", "/shop/", "/shop/item", "/shop-old"] {
            assert!(ordinary.covers(path.as_bytes()), "{path}");
        }
        for path in ["/blo", "/blog/", "/shop/ite", "/shop/item.php", "/z"] {
            assert!(!ordinary.covers(path.as_bytes()), "{path}");
        }
    }
}

#[cfg(test)]
mod machine_generated_tests {
    use super::*;

    #[test]
    fn machine_generated_names() {
        for path in [
            "/123456.php",
            "/a/5f4dcc3b5aa765d61d83/x",
            "/id-20260102.zip",
            "/7f3a-0123456789ab",
        ] {
            assert!(is_machine_generated(path), "{path}");
        }
        for path in [
            "/root11.php",
            "/2026/backup.zip",
            "/phpmyadmin-4.8.5/",
            "/feedbacked/facade.php",
            "/wp1/12345.php",
            "/",
        ] {
            assert!(!is_machine_generated(path), "{path}");
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proposals from small logs; they do not depend on how the log is split.

    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::log::source::SourceInfo;
    use crate::report::fixture;
    use crate::rules::{AllowList, Class, RuleChoice, RuleSet, load};
    use crate::tally::LinePosition;

    /// A few rules, independent of the built-in ones.
    static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
        let rule = |id: &str, class: &str, path: &str| {
            format!(
                "[[rule]]\nid = \"a/{id}\"\ntitle = \"x\"\nclass = \"{class}\"\nseverity = \"low\"\npaths = [\"{path}\"]\n"
            )
        };
        let text = rule("x", "exposure", PROBES[0])
            + &rule("y", "webshell", PROBES[1])
            + &rule("z", "webshell", PROBES[2]);
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        load(&RuleChoice {
            paths: vec![file.path().to_owned()],
            no_builtin: true,
            ..RuleChoice::default()
        })
        .expect("rules")
    });

    /// Three paths that rules match.
    const PROBES: [&str; 3] = ["/.env", "/probe.php", "/shell.php"];

    /// A line; each client is in a network of its own.
    fn line(client: usize, path: &str, status: u16, referer: &str) -> String {
        let time = format!("02/Nov/2026:08:{:02}:00 +0000", client % 60);
        format!(
            "10.{}.{}.7 - - [{time}] \"GET {path} HTTP/1.1\" {status} 9 \"{referer}\" \"x\"\n",
            client / 256,
            client % 256
        )
    }

    /// A client that sends three probes and this request.
    fn prober(client: usize, path: &str) -> String {
        PROBES
            .iter()
            .chain([&path])
            .map(|path| line(client, path, 404, "-"))
            .collect()
    }

    /// The tally of runs of lines, each scanned by the given worker, merged in the order of the
    /// workers.
    fn tally(runs: &[String], workers: &[usize]) -> Tally {
        let scan_options = ScanOptions {
            unmatched: true,
            ..ScanOptions::default()
        };
        let line_scanner = LineScanner::new(&RULES, &scan_options);
        let mut all = Tally::default();
        for worker in 0..=workers.iter().copied().max().unwrap_or(0) {
            let (mut worker_state, mut own) = (WorkerState::default(), Tally::default());
            for (number, run) in runs
                .iter()
                .enumerate()
                .filter(|(number, _)| workers[*number] == worker)
            {
                let findings = line_scanner.scan(run.as_bytes(), &mut worker_state);
                own.add_findings(
                    &findings,
                    LinePosition {
                        input: 0,
                        chunk: number as u64,
                        offset: 0,
                        line: 0,
                    },
                );
                worker_state.recycle(findings);
            }
            all.merge(own.with_names(worker_state.names));
        }
        all
    }

    fn source() -> [SourceInfo; 1] {
        [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])]
    }

    /// The proposals for the whole log.
    fn learned<T>(
        tally: &Tally,
        sources: &[SourceInfo],
        min_probers: usize,
        then: impl FnOnce(&Proposals<'_>) -> T,
    ) -> T {
        let allow = AllowList::default();
        let report_input = fixture::report_input(&RULES, tally, sources, &[], &allow);
        then(&learn(&LogAnalysis::new(&report_input), min_probers))
    }

    /// The proposed paths of a log.
    fn proposed(log: &str) -> Vec<String> {
        let (tally, sources) = (tally(&[log.to_owned()], &[0]), source());
        learned(&tally, &sources, 3, |learned| {
            learned
                .rules
                .iter()
                .map(|proposal| proposal.path.to_owned())
                .collect()
        })
    }

    fn probers(path: &str) -> String {
        (0..3).map(|client| prober(client, path)).collect()
    }

    #[test]
    fn paths_of_three_probers_are_proposed() {
        assert_eq!(proposed(&probers("/Unlisted.php?a=b")), ["/unlisted.php"]);
        assert_eq!(
            proposed(
                &(0..2)
                    .map(|client| prober(client, "/unlisted.php"))
                    .collect::<String>()
            ),
            [""; 0]
        );
    }

    #[test]
    fn clients_of_one_network_are_one_prober() {
        let log = probers("/unlisted.php").replace("10.0.2.7", "10.0.1.8");
        assert_eq!(proposed(&log), [""; 0]);
    }

    #[test]
    fn pages_that_a_normal_client_received_are_not_proposed() {
        for (status, is_proposed) in [
            (200, false),
            (304, false),
            (301, false),
            (404, true),
            (403, true),
        ] {
            let log = probers("/unlisted.php") + &line(9, "/unlisted.php", status, "-");
            assert_eq!(proposed(&log).len(), usize::from(is_proposed), "{status}");
        }
        let below = probers("/unlisted") + &line(9, "/unlisted/page", 200, "-");
        assert_eq!(proposed(&below), [""; 0]);
    }

    #[test]
    fn removed_pages_of_search_engines_are_not_proposed() {
        let crawlers: String = (10..12)
            .map(|client| line(client, "/unlisted.php", 404, "-"))
            .collect();
        assert_eq!(proposed(&(probers("/unlisted.php") + &crawlers)), [""; 0]);
    }

    #[test]
    fn linked_pages_are_not_proposed() {
        let linked = |referer: &str| {
            proposed(&(probers("/unlisted.php") + &line(0, "/unlisted.php", 200, referer)))
        };
        assert_eq!(linked("https://example.org/menu"), [""; 0]);
        assert_eq!(
            linked("https://example.org/unlisted.php"),
            ["/unlisted.php"]
        );
    }

    #[test]
    fn pages_that_many_clients_received_are_not_proposed() {
        let log = |clients: usize| {
            (0..clients)
                .map(|n| prober(n, "/x") + &line(n, "/unlisted.php", 200, "-"))
                .collect::<String>()
        };
        assert!(proposed(&log(63)).contains(&"/unlisted.php".to_owned()));
        assert_eq!(proposed(&log(64)), ["/x"]);
    }

    #[test]
    fn a_client_with_few_probes_among_many_requests_is_no_prober() {
        let pages = |client: usize| {
            (0..20)
                .map(|n| line(client, &format!("/page/{n}"), 200, "-"))
                .collect::<String>()
        };
        let log: String = (0..3)
            .map(|client| prober(client, "/unlisted.php") + &pages(client))
            .collect();
        assert_eq!(proposed(&log), [""; 0]);
    }

    #[test]
    fn machine_generated_paths_are_counted() {
        let (tally, sources) = (tally(&[probers("/x/1234567.php")], &[0]), source());
        assert_eq!(
            learned(&tally, &sources, 3, |learned| (
                learned.rules.len(),
                learned.random
            )),
            (0, 1)
        );
    }

    #[test]
    fn a_proposal_has_all_details() {
        let log = prober(2, "/Zero%2ephp")
            + &prober(1, "/zero.php?token=1")
            + &prober(0, "/zero.php")
            + &line(5, "/zero.php", 403, "-");
        let (tally, sources) = (tally(&[log], &[0]), source());
        learned(&tally, &sources, 3, |learned| {
            let [proposal] = &*learned.rules else {
                panic!("{learned:?}")
            };
            assert_eq!(
                (proposal.probers, proposal.others, proposal.requests),
                (3, 1, 4)
            );
            assert_eq!(proposal.statuses, [(Some(403), 1), (Some(404), 3)]);
            assert_eq!((proposal.line, proposal.status), (12, Some(404)));
            assert_eq!(
                (proposal.source, proposal.target.clone()),
                (&b"a.log"[..], b"/zero.php".to_vec())
            );
            assert_eq!(
                (&*proposal.rule, proposal.class),
                ("learned/php-webshell", "webshell")
            );
        });
    }

    /// A line of the log of a small site with probes.
    fn any_line() -> impl Strategy<Value = String> {
        let path = prop_oneof![
            Just("/api"),
            Just("/api"),
            Just("/old.php"),
            Just("/Old.php?x"),
            Just("/linked"),
            Just("/x/y.zip"),
            Just("/7654321.php"),
            prop::sample::select(&PROBES[..]),
            prop::sample::select(&PROBES[..]),
        ];
        let referer = prop_oneof![
            Just("-"),
            Just("-"),
            Just("-"),
            Just("http://h/linked"),
            Just("http://h/p")
        ];
        let status = prop::sample::select(vec![200, 200, 301, 404, 404, 404]);
        (0..90_usize, path, status, referer)
            .prop_map(|(client, path, status, referer)| line(client, path, status, referer))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_split_gives_the_same_proposals(
            lines in prop::collection::vec(any_line(), 0..600),
            cuts in prop::collection::vec(0_usize..600, 0..12),
            workers in prop::collection::vec(0_usize..4, 13),
            min_probers in 1_usize..4,
        ) {
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(lines.len())).chain([0, lines.len()]).collect();
            cuts.sort_unstable();
            let runs: Vec<String> = cuts.windows(2).map(|cut| lines[cut[0]..cut[1]].concat()).collect();
            let sources = source();
            let proposals = |workers: &[usize]| learned(&tally(&runs, workers), &sources, min_probers, |learned| format!("{learned:?}"));
            let alone = proposals(&vec![0; runs.len()]);
            prop_assert_eq!(&proposals(&workers[..runs.len()]), &alone);
            let backwards: Vec<_> = (0..runs.len()).rev().collect();
            prop_assert_eq!(&proposals(&backwards), &alone);
        }
    }

    #[test]
    fn kind_by_name() {
        for (path, kind) in [
            ("/.aws/x", PathKind::Dot),
            ("/app/.foorc", PathKind::Dot),
            ("/site.tar.gz", PathKind::Backup),
            ("/config.php.bak", PathKind::Backup),
            ("/index.php~", PathKind::Backup),
            ("/admin/index.php", PathKind::Php),
            ("/x.php7", PathKind::Php),
            ("/administrator/", PathKind::Admin),
            ("/geoserver/web", PathKind::Other),
        ] {
            assert_eq!(PathKind::from_path(path), kind, "{path}");
        }
    }

    #[test]
    fn a_word_suggests_a_possible_class() {
        let hinted = |path: &str| PathKind::from_path(path).class_hint(path);
        assert_eq!(hinted("/phpmyadmln/pma/index.php"), Some("db-admin"));
        assert_eq!(hinted("/wp-old/x.php"), Some("wordpress"));
        assert_eq!((hinted("/wp-old.zip"), hinted("/root.php")), (None, None));
    }

    #[test]
    fn every_class_exists() {
        let hinted = HINTS.iter().map(|(_, class)| class);
        for kind in [
            PathKind::Dot,
            PathKind::Backup,
            PathKind::Php,
            PathKind::Admin,
            PathKind::Other,
        ] {
            for class in kind.classes().iter().chain(hinted.clone()) {
                assert!(Class::find(class).is_some(), "{class}");
            }
        }
    }
}
