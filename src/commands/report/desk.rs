//! What a run works with: rules, what must not be blocked, the clock; and the reading itself.
//!
//! Writes nothing.

use std::ffi::OsStr;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rayon::ThreadPool;

use super::failure::Failure;
use crate::analysis::anonymize::Privacy;
use crate::block::{self, Guard, PROC_NET};
use crate::commands::ReportSettings;
use crate::commands::brief::Brief;
use crate::commands::message::{self, shown};
use crate::commands::run::{pool, privacy, warn_of_small};
use crate::commands::servers;
use crate::commands::signals::Stop;
use crate::input::tail::{StartPosition, Tail, TailOptions};
use crate::scan::incremental::{IncrementalJob, IncrementalResult, PeriodResult, scan_new_lines};
use crate::source::Checkpoint;
use crate::state::ReportState;
use crate::tally::Tally;
use crate::time::LogTime;

/// Bytes of one log that are read in a turn.
const BLOCK: usize = 256 << 10;

/// What a run works with.
#[derive(Debug)]
pub(super) struct Desk<'a> {
    pub(super) settings: &'a ReportSettings,
    pub(super) brief: Brief,
    pub(super) privacy: Privacy,
    /// The addresses of this machine.
    own: Vec<IpAddr>,
    pub(super) pool: ThreadPool,
    /// What this machine is called in the reports.
    pub(super) machine: String,
    stop: &'a Stop,
    /// Seconds since 1970, when the run began.
    now: u64,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) increment: IncrementalResult,
    /// What could not be read, and why.
    pub(super) problems: Vec<(PathBuf, String)>,
    /// What happened to the logs meanwhile.
    pub(super) notes: Vec<String>,
}

impl<'a> Desk<'a> {
    /// Reads the rules and whatever else the settings name.
    pub(super) fn new(settings: &'a ReportSettings, stop: &'a Stop) -> Result<Self, Failure> {
        let brief = Brief::read(&settings.scan)?;
        let privacy = privacy(settings.scan.client.anonymize.as_ref(), settings.scan.client.redact)?;
        warn_of_small(&settings.scan, &brief.scope.allow);
        if !settings.scan.quiet {
            message::warnings(brief.rules.warnings());
            message::warnings(&brief.scope.allow.warnings());
        }
        for wide in
            settings.scan.client.trusted.iter().filter(|network| block::trusted(&network.to_string()).is_ok_and(|(_, is_wide)| is_wide))
        {
            message::warning(&format!("--trusted-proxy {wide} is a good part of the internet, and none of it will be named to block"));
        }
        let own = block::addresses(Path::new(PROC_NET)).unwrap_or_else(|error| {
            message::warning(&format!("{PROC_NET}: {error}; this machine's own addresses are not known, name them in a file of --allow"));
            Vec::new()
        });
        let machine = settings.machine.clone().unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Ok(Self { pool: pool(&settings.scan)?, settings, brief, privacy, own, machine, stop, now })
    }

    /// When the run began.
    pub(super) fn started(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.now)
    }

    /// Seconds since 1970, when the run began.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Whom nobody must lock out.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard::new(&self.own, &self.settings.scan.client.trusted, &self.brief.scope.allow)
    }

    /// The state to go on with: that of the last run, or a new one.
    pub(super) fn ledger(&self, known: Option<&ReportState>) -> ReportState {
        known.cloned().unwrap_or_else(|| ReportState::new(RandomState::new().hash_one(self.now)))
    }

    /// Reads what is new, and notes in the ledger how far it came.
    pub(super) fn read(&self, known: Option<&ReportState>, ledger: &mut ReportState) -> Read {
        let start = if self.settings.state.from_start { StartPosition::Start } else { StartPosition::ExplicitInputs };
        let options = TailOptions { start, max_line: self.settings.scan.max_line, block: BLOCK };
        let checkpoints = known.map(|ledger| ledger.logs.checkpoints.clone());
        let mut tail = Tail::new(servers::present(&self.settings.scan), options, checkpoints);
        let Brief { rules, scope, formats, .. } = &self.brief;
        let now = LogTime { utc: self.now.cast_signed(), offset: 0 };
        let reading = IncrementalJob { rules, scope, formats, stop: self.stop.flag(), now, prefix: self.settings.scan.client.prefix };
        let mut increment = self.pool.install(|| scan_new_lines(&mut tail, &reading, self.settings.cut.as_ref()));
        if increment.parts.is_empty() && self.settings.always && self.settings.cut.is_none() {
            increment.parts.push(PeriodResult { period: None, tally: Tally::default(), inputs: Vec::new(), lines: 0 });
        }
        ledger.logs.checkpoints = tail.checkpoints();
        self.take_rules(known, ledger);
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        for notice in std::mem::take(&mut increment.notices) {
            if notice.problem {
                problems.push((notice.path, notice.what));
            } else {
                notes.push(format!("{} {}", notice.path.display(), notice.what));
            }
        }
        Read { increment, problems, notes }
    }

    fn take_rules(&self, known: Option<&ReportState>, ledger: &mut ReportState) {
        let rules = self.brief.fingerprint();
        if known.is_some_and(|known| known.logs.rules != rules) && !self.settings.scan.quiet {
            let dir = self.settings.state.dir.as_deref().map(|dir| shown(&dir.to_string_lossy())).unwrap_or_default();
            message::notice(&format!("{dir}: other rules than in the last run; what it read is not judged again"));
        }
        ledger.logs.rules = rules;
    }
}

/// Whether something is where a log was last seen.
pub(super) fn is_there(known: &Checkpoint) -> bool {
    fs::symlink_metadata(OsStr::from_bytes(&known.path)).is_ok()
}
