//! The inputs of a run: rules, addresses that must not be blocked, the clock, and the new lines of
//! the logs.
//!
//! Writes nothing.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rayon::ThreadPool;

use crate::block::{self, AddressRanges, BlockPolicy, ProxyRanges};
use crate::commands::ReportSettings;
use crate::commands::common::{RuleContext, own_addresses, pool, privacy, warn_narrow_allow};
use crate::commands::error::CommandError;
use crate::commands::message::{self, sanitized_path};
use crate::commands::metrics::Backlog;
use crate::commands::server_logs;
use crate::commands::signals::StopSignal;
use crate::formats::ForwardedLines;
use crate::geoip::GeoDatabases;
use crate::input::lines::read_head_tail;
use crate::input::tail::{StartPosition, Tail, TailOptions};
use crate::log::source::Checkpoint;
use crate::log::time::LogTime;
use crate::os::system::{OpenFileLimit, unix_now};
use crate::report::anonymize::Privacy;
use crate::report::model::ReportModel;
use crate::report::networks::add_geo;
use crate::scan::incremental::{
    IncrementalOptions, IncrementalResult, PeriodResult, scan_new_lines,
};
use crate::state::ReportState;
use crate::tally::Tally;

/// How many bytes of one log are read at a time.
const BLOCK: usize = 256 << 10;

/// What a run works with.
#[derive(Debug)]
pub(super) struct ReportRun<'a> {
    pub(super) settings: &'a ReportSettings,
    pub(super) rule_context: RuleContext,
    pub(super) privacy: Privacy,
    geoip: GeoDatabases,
    /// The addresses of this host.
    interface_addresses: Vec<IpAddr>,
    /// The ranges of search engines.
    verified: AddressRanges,
    /// The ranges of proxies.
    proxies: ProxyRanges,
    pub(super) pool: ThreadPool,
    /// The name of this host in the reports.
    pub(super) log_host: String,
    stop: &'a StopSignal,
    /// The start of the run in seconds since 1970.
    now: u64,
}

/// The new lines, counted by period.
#[derive(Debug)]
pub(super) struct ReadResult {
    pub(super) increment: IncrementalResult,
    /// Logs that could not be read, and why.
    pub(super) problems: Vec<(PathBuf, String)>,
    /// Notices about logs, such as truncations.
    pub(super) notes: Vec<String>,
    /// A log has a field of forwarded addresses; looked up for block lists only.
    pub(super) has_forwarded: bool,
    /// What was not read, for metrics.
    pub(super) backlog: Backlog,
}

impl<'a> ReportRun<'a> {
    /// Loads the rules and other files that the settings name.
    pub(super) fn new(
        settings: &'a ReportSettings,
        stop: &'a StopSignal,
    ) -> Result<Self, CommandError> {
        let rule_context = RuleContext::load(&settings.scan)?;
        let privacy = privacy(&settings.scan.client.anonymize, settings.scan.client.redact)?;
        let geoip = privacy.open_geoip(&settings.scan.client.geoip)?;
        warn_narrow_allow(&settings.scan, &rule_context.scan_options.allow);
        if !settings.scan.quiet {
            message::warnings(rule_context.rules.warnings());
            message::warnings(&rule_context.scan_options.allow.warnings());
        }
        for wide in settings.scan.client.trusted.iter().filter(|network| {
            block::parse_trusted_proxy(&network.to_string()).is_ok_and(|(_, is_wide)| is_wide)
        }) {
            message::warning(&format!(
                "--trusted-proxy {wide} is a large part of the internet, and none of its addresses will be a block candidate"
            ));
        }
        let interface_addresses = own_addresses();
        let verified = AddressRanges::of_search_engines(&settings.verified_bots)?;
        let proxies = ProxyRanges::read(&settings.scan.client.proxy_ranges)?;
        let log_host = settings.log_host.clone().unwrap_or_else(|| {
            rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned()
        });
        Ok(Self {
            pool: pool(settings.scan.threads)?,
            settings,
            rule_context,
            privacy,
            geoip,
            interface_addresses,
            verified,
            proxies,
            log_host,
            stop,
            now: unix_now(),
        })
    }

    /// Adds the country and network of clients.
    pub(super) fn add_geo(&self, report: &mut ReportModel<'_>) {
        add_geo(report, &self.geoip, &self.privacy);
    }

    /// The start of the run.
    pub(super) fn started(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.now)
    }

    /// The start of the run in seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The addresses that must never be blocked.
    pub(super) fn policy(&self) -> BlockPolicy<'_> {
        BlockPolicy::new(
            &self.interface_addresses,
            &self.settings.scan.client.trusted,
            &self.rule_context.scan_options.allow,
        )
        .with_verified(&self.verified)
        .with_proxies(&self.proxies)
    }

    /// The state of the last run, or a new one.
    pub(super) fn initial_state(&self, known: Option<&ReportState>) -> ReportState {
        let mut state = known
            .cloned()
            .unwrap_or_else(|| ReportState::new(RandomState::new().hash_one(self.now)));
        state.logs.counters.start(self.now);
        state
    }

    /// Reads new lines, about `max_bytes` at most, and records in the state how far the logs were
    /// read. Calls `begin` with the number of bytes before, if there are any.
    pub(super) fn read(
        &self,
        known: Option<&ReportState>,
        state: &mut ReportState,
        max_bytes: u64,
        begin: impl FnOnce(u64) -> Result<(), CommandError>,
    ) -> Result<ReadResult, CommandError> {
        let checkpoints = known.map(|state| state.logs.checkpoints.clone());
        let logs = server_logs::existing_logs(&self.settings.scan);
        let mut tail = tail(self.settings, logs, checkpoints);
        let now = LogTime {
            utc: self.now.cast_signed(),
            offset: 0,
        };
        let job = self.rule_context.job(self.settings.scan.client.prefix);
        if let bytes @ 1.. = tail.logs().map(|log| log.lag).sum() {
            begin(max_bytes.min(bytes))?;
        }
        let options = IncrementalOptions {
            stop: self.stop.flag(),
            now,
            period_rule: self.settings.period_rule.as_ref(),
            max_bytes,
        };
        let scanned = self
            .pool
            .install(|| scan_new_lines(&mut tail, &job, &options));
        let mut increment =
            scanned.map_err(|source| CommandError::Threads { threads: 1, source })?;
        if increment.parts.is_empty() && self.settings.always && self.settings.period_rule.is_none()
        {
            increment.parts.push(PeriodResult {
                period: None,
                tally: Tally::default(),
                inputs: Vec::new(),
                lines: 0,
            });
        }
        state.logs.checkpoints = tail.checkpoints();
        self.record_rules(known, state);
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        for notice in std::mem::take(&mut increment.notices) {
            if notice.problem {
                problems.push((notice.path, notice.what));
            } else {
                notes.push(format!("{} {}", notice.path.display(), notice.what));
            }
        }
        let has_forwarded = self.settings.scan.client.origin.is_none()
            && tail.logs().any(|log| is_forwarded(log.path));
        let backlog = Backlog {
            files: tail.logs().count() as u64,
            lag: tail.logs().map(|log| log.lag).sum(),
        };
        Ok(ReadResult {
            increment,
            problems,
            notes,
            has_forwarded,
            backlog,
        })
    }

    fn record_rules(&self, known: Option<&ReportState>, state: &mut ReportState) {
        let rules = self.rule_context.fingerprint();
        if known.is_some_and(|known| known.logs.rules != rules) && !self.settings.scan.quiet {
            let dir = self
                .settings
                .state
                .dir
                .as_deref()
                .map(sanitized_path)
                .unwrap_or_default();
            message::notice(&format!(
                "{dir}: the rules differ from those of the last run; lines that it read are not matched again"
            ));
        }
        state.logs.rules = rules;
    }
}

/// Logs, and how much there is to read after `checkpoints`.
pub(super) fn tail(
    settings: &ReportSettings,
    logs: Vec<PathBuf>,
    checkpoints: Option<Vec<Checkpoint>>,
) -> Tail {
    let options = TailOptions {
        start: if settings.state.from_start {
            StartPosition::Start
        } else {
            StartPosition::ExplicitInputs
        },
        max_line: settings.scan.max_line,
        block: BLOCK,
        max_open: OpenFileLimit::raise().open_logs(),
    };
    let mut tail = Tail::new(logs, options, checkpoints);
    tail.measure_backlog(Instant::now());
    tail
}

/// The bytes at the start and at the end of a log that show whether it has a field of forwarded
/// addresses.
const SAMPLE_BYTES: usize = 64 << 10;

/// Whether most lines of a log have a field of forwarded addresses.
fn is_forwarded(log: &Path) -> bool {
    let Some(sample) = read_head_tail(log, SAMPLE_BYTES) else {
        return false;
    };
    let mut lines = ForwardedLines::in_sample(&sample.first, ForwardedLines::SAMPLE);
    lines.add(ForwardedLines::in_sample(
        &sample.last,
        ForwardedLines::SAMPLE,
    ));
    lines.are_most()
}

/// Whether a file exists where a log was last seen.
pub(super) fn still_exists(known: &Checkpoint) -> bool {
    fs::symlink_metadata(OsStr::from_bytes(&known.path)).is_ok()
}
