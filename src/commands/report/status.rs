//! `report --status`: how much of each log was read, and how much is left. Changes nothing.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::NAME;
use super::run::{still_exists, tail};
use crate::commands::error::CommandError;
use crate::commands::{Exit, ReportSettings, server_logs, stdout};
use crate::log::source::Checkpoint;
use crate::render::table;
use crate::report::status::{LogStage, LogStatus, ReadStatus};
use crate::state::{ReportState, StateFolder};

/// Prints the status from the state in `dir`.
pub(super) fn print(settings: &ReportSettings, dir: &Path) -> Result<Exit, CommandError> {
    let state: Option<ReportState> = StateFolder::peek(dir, NAME, settings.state.insecure)?;
    let checkpoints = state.as_ref().map(|state| state.logs.checkpoints.clone());
    let last_run = state
        .and_then(|state| state.run)
        .map(|run| (run.number, run.folders));
    let status = ReadStatus {
        last_run,
        logs: logs(settings, checkpoints),
    };
    let page = table::status(&status, &stdout::terminal(settings.scan.color, false));
    Ok(stdout::print(page.as_bytes()))
}

/// The status of existing logs, and of logs that only the state contains.
fn logs(settings: &ReportSettings, checkpoints: Option<Vec<Checkpoint>>) -> Vec<LogStatus> {
    let known: Vec<Checkpoint> = checkpoints
        .clone()
        .unwrap_or_default()
        .into_iter()
        .filter(|known| known.head.bytes > 0)
        .collect();
    let given = server_logs::existing_logs(&settings.scan);
    let paths = if given.is_empty() {
        paths(&known)
    } else {
        given
    };
    let tail = tail(settings, paths, checkpoints);
    let is_new = |generation: u64| !known.iter().any(|known| known.generation == generation);
    let mut logs: Vec<LogStatus> = Vec::new();
    let mut seen = HashSet::new();
    for log in tail.logs() {
        seen.insert(log.generation);
        let stage = match log.live {
            _ if is_new(log.generation) => LogStage::New,
            true => LogStage::Live,
            false => LogStage::Rotated,
        };
        let path = log.path.as_os_str().as_bytes().to_vec();
        logs.push(LogStatus {
            path,
            stage,
            lines: log.lines,
            read: log.offset,
            lag: log.lag,
            pending: log.pending,
        });
    }
    for known in known
        .iter()
        .filter(|known| !seen.contains(&known.generation))
    {
        let stage = if still_exists(known) {
            LogStage::Done
        } else {
            LogStage::Gone
        };
        logs.push(LogStatus {
            path: known.path.clone(),
            stage,
            lines: known.lines,
            read: known.offset,
            lag: 0,
            pending: false,
        });
    }
    logs.sort_by(|one, other| (one.stage, &one.path).cmp(&(other.stage, &other.path)));
    logs
}

/// The last known paths of the logs in a state.
fn paths(known: &[Checkpoint]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = known
        .iter()
        .map(|known| PathBuf::from(std::ffi::OsStr::from_bytes(&known.path)))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}
