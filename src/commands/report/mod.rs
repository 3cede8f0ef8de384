//! `probewatch report`: reports what was logged since the last run, in a folder that appears
//! complete or not at all.
//!
//! Errors in the command are found before the first line is read. Lines count as reported when the
//! state is saved; the next run completes or removes what an interrupted run left on disk.

mod block_lists;
mod run;
mod status;
mod writer;

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::run::{ReadResult, ReportRun};
use self::writer::ReportWriter;
use super::error::CommandError;
use super::metrics::{Backlog, MetricsFile};
use super::{Exit, ReportSettings, ReportTask, message, server_logs, signals, stdout};
use crate::log::time::Period;
use crate::os::accounts::{self, GROUP_FILE};
use crate::render::html::index::{self, DIGEST_BYTES, IndexEntry, RunDigest, VerifiedDigest};
use crate::render::html::{FolderLink, PAGE_FILE};
use crate::report::verify::VERIFIED_FILE;
use crate::report_store::{Access, ReportStore, RetentionClock};
use crate::state::{KEEP_ABSENT, ReportState, StateError, StateFolder};

/// The name of the state file; other commands use other names in the same folder.
const NAME: &str = "report";

/// What was not seen for this long is new again.
const REMEMBER: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Runs the command.
#[must_use]
pub(crate) fn run(settings: &ReportSettings) -> Exit {
    // Otherwise cron would mail these notices after every run.
    if settings.task != ReportTask::Run || std::io::stderr().is_terminal() {
        server_logs::print_skipped(&settings.scan);
    }
    let done = match settings.task {
        ReportTask::Run => report(settings),
        ReportTask::DryRun => dry_run(settings),
        ReportTask::Status => status::print(settings, dir(settings)),
    };
    done.unwrap_or_else(|error| {
        let exit = error.report();
        if let CommandError::State(StateError::Locked { .. }) = error {
            message::hint("--wait waits for its end");
        }
        exit
    })
}

fn report(settings: &ReportSettings) -> Result<Exit, CommandError> {
    let started = Instant::now();
    let stop = signals::listen();
    let group = settings.group.as_deref().map(group_id).transpose()?;
    let report_run = ReportRun::new(settings, &stop)?;
    let opened = if settings.wait {
        StateFolder::open_waiting(dir(settings), NAME, settings.state.insecure, stop.flag())
    } else {
        StateFolder::open(dir(settings), NAME, settings.state.insecure)
    };
    if let Some(exit) = stop.exit() {
        return Err(CommandError::ReportStopped(exit));
    }
    let folder = opened?;
    let store = ReportStore::open(
        out(settings),
        Access {
            mode: settings.mode,
            group,
        },
    )?
    .for_state(file_of(&folder))?;
    block_lists::check(settings)?;
    let store = if settings.scan.threads == Some(1) {
        store.single_threaded()
    } else {
        store
    };
    if settings.html {
        store.check_index()?;
    }
    let metrics = MetricsFile::open(settings.metrics.as_deref(), "report", &settings.state)?;
    let mut known = recover_state(settings, &folder, &store)?;
    block_lists::recover(&folder, &report_run, known.as_mut())?;
    let context = Context {
        report_run: &report_run,
        stop: &stop,
        folder: &folder,
        store: &store,
        metrics: metrics.as_ref(),
        started,
    };
    let done = context.report_batches(known);
    folder.end();
    done
}

/// The fewest bytes of logs that a run reads at once: a quarter of what it scans at once in any
/// case.
const MIN_BATCH: u64 = 1 << 20;

/// What a run keeps from one batch to the next.
struct Context<'r> {
    report_run: &'r ReportRun<'r>,
    stop: &'r signals::StopSignal,
    folder: &'r StateFolder,
    store: &'r ReportStore,
    metrics: Option<&'r MetricsFile>,
    started: Instant,
}

/// A part of a run that was saved.
struct Batch {
    exit: Exit,
    state: ReportState,
    /// There is more to read.
    has_more: bool,
}

impl Context<'_> {
    /// Reports everything that is new since `known`.
    fn report_batches(&self, mut known: Option<ReportState>) -> Result<Exit, CommandError> {
        let is_first = known.as_ref().is_none_or(|known| known.run.is_none());
        // What a run that was killed tried to read at once was too much, if memory was the reason.
        let max_bytes = self
            .folder
            .unfinished()
            .map_or(u64::MAX, |bytes| (bytes / 2).max(MIN_BATCH));
        let mut exit = Exit::Success;
        loop {
            let batch = self.report_batch(known.as_ref(), is_first, max_bytes)?;
            if exit == Exit::Success {
                exit = batch.exit;
            }
            if !batch.has_more {
                return Ok(exit);
            }
            known = Some(batch.state);
        }
    }

    /// Reports what is new since `known`, or a part of it, and saves the state. Most runs have one
    /// batch. More of them limit memory and give the same reports as several runs; `max_bytes`
    /// limits the logs that one of them reads.
    fn report_batch(
        &self,
        known: Option<&ReportState>,
        is_first: bool,
        max_bytes: u64,
    ) -> Result<Batch, CommandError> {
        let Self {
            report_run,
            stop,
            folder,
            store,
            ..
        } = *self;
        let settings = report_run.settings;
        let mut state = report_run.initial_state(known);
        let begin = |bytes| Ok(folder.begin(bytes)?);
        let ReadResult {
            increment,
            problems,
            notes,
            has_forwarded,
            backlog,
        } = report_run.read(known, &mut state, max_bytes, begin)?;
        let periods: Vec<_> = increment
            .parts
            .iter()
            .filter_map(|part| part.period)
            .map(Period::label)
            .collect();
        let last_clock = state.clock;
        let clock = store.clock(last_clock, report_run.started(), &periods, settings.keep)?;
        block_lists::warn_forwarded(report_run, has_forwarded);
        if let Some(exit) = stop.exit() {
            return Err(CommandError::ReportStopped(exit));
        }
        state
            .logs
            .drop_absent(run::still_exists, report_run.now(), KEEP_ABSENT);
        let has_more = increment.has_more;
        let mut writer = ReportWriter::new(
            report_run,
            &increment,
            &problems,
            &notes,
            is_first,
            has_forwarded,
        );
        if writer.parts.is_empty() {
            block_lists::prepare(report_run, &mut state, false);
            if known != Some(&state) {
                folder.save(&state)?;
            }
            block_lists::publish(folder, report_run, &mut state, !problems.is_empty())?;
            self.prune(clock, last_clock)?;
            self.write_index()?;
            let exit = print(settings, None, "Nothing new.\n", print_problems(&problems));
            self.write_metrics(&state, backlog)?;
            return Ok(Batch {
                exit,
                state,
                has_more,
            });
        }
        let number = store
            .last_run_number()?
            .max(state.run.as_ref().map_or(0, |run| run.number))
            + 1;
        let mut staging = store.stage(number)?;
        writer.write(&mut staging, store, number, &mut state)?;
        let run = staging.finish()?;
        state.seen.prune(report_run.now().cast_signed(), REMEMBER);
        state.sites.prune(report_run.now().cast_signed(), REMEMBER);
        state.run = Some(run.clone());
        // Without --keep, the time since the last run is not needed and would be old once it is.
        state.clock = settings.keep.age.map(|_| clock);
        block_lists::prepare(report_run, &mut state, true);
        // The lines count as reported from here on.
        if let Err(error) = folder.save(&state) {
            rollback(folder, store, known);
            return Err(error.into());
        }
        let lists = block_lists::publish(folder, report_run, &mut state, !problems.is_empty());
        store.publish(&run)?;
        self.prune(clock, last_clock)?;
        self.write_index()?;
        lists?;
        let exit = match print_problems(&problems) {
            Exit::Success if writer.has_set_aside => Exit::Damaged,
            exit => exit,
        };
        let latest = out(settings).join("latest");
        let done = format!(
            "Nothing that is new was answered. The report is in {}.\n",
            message::sanitized_path(&latest)
        );
        let exit = print(settings, writer.mail().as_deref(), &done, exit);
        self.write_metrics(&state, backlog)?;
        Ok(Batch {
            exit,
            state,
            has_more,
        })
    }

    /// Replaces the file of metrics, after everything else: the lines count as reported even if this
    /// fails.
    fn write_metrics(&self, state: &ReportState, backlog: Backlog) -> Result<(), CommandError> {
        self.metrics.map_or(Ok(()), |file| {
            file.write(
                &state.logs.counters,
                &self.report_run.rule_context.rules,
                backlog,
                self.started.elapsed(),
            )
        })
    }

    /// Removes folders that are too old. The first run after a jump of the clock says what is kept
    /// because of it.
    fn prune(
        &self,
        clock: RetentionClock,
        last: Option<RetentionClock>,
    ) -> Result<(), CommandError> {
        let settings = self.report_run.settings;
        let pruned = self.store.prune(settings.keep, clock)?;
        if let Some(jump) = clock.new_jump(last)
            && pruned.kept_by_jump > 0
            && !settings.scan.quiet
        {
            message::warning(&format!(
                "the clock is {} days ahead of the last report: it jumped, or no report was written in that time; --keep does not count \
                 these days, and keeps {} older folders",
                jump.days(),
                pruned.kept_by_jump
            ));
        }
        Ok(())
    }

    /// Writes the index of the folders that exist, with the digests of their pages.
    fn write_index(&self) -> Result<(), CommandError> {
        let Self {
            store, report_run, ..
        } = self;
        if !report_run.settings.html {
            return Ok(());
        }
        let start_of = |folder: &str, file: &str, bytes: u64| {
            // The report of the folder is complete, but its numbers are not in the index.
            store
                .read_start(folder, file, bytes)
                .unwrap_or_else(|error| {
                    message::warning(&format!("{error}; index.html lacks its numbers"));
                    None
                })
        };
        let digest =
            |folder: &str| RunDigest::from_page(&start_of(folder, PAGE_FILE, DIGEST_BYTES)?);
        let verified = |folder: &str| {
            VerifiedDigest::from_json(&start_of(folder, VERIFIED_FILE, MAX_VERIFIED_BYTES)?)
        };
        let folders = store.reports()?;
        let entry = |name: &String| {
            Some(IndexEntry {
                folder: FolderLink::new(name)?,
                digest: digest(name),
                verified: verified(name),
            })
        };
        let entries: Vec<IndexEntry> = folders.iter().filter_map(entry).collect();
        if entries.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        index::write(&entries, Some(&report_run.log_host), &mut text)
            .map_err(CommandError::WriteReport)?;
        Ok(store.replace_index(&text)?)
    }
}

/// Loads the state of the last run and publishes its folders if that is pending; `None` if the
/// state is discarded.
fn recover_state(
    settings: &ReportSettings,
    folder: &StateFolder,
    store: &ReportStore,
) -> Result<Option<ReportState>, CommandError> {
    let run = |known: &Option<ReportState>| known.as_ref().and_then(|state| state.run.clone());
    if !settings.state.reset {
        let known = folder.load()?;
        store.recover(run(&known).as_ref())?;
        return Ok(known);
    }
    // A damaged state cannot be used to publish pending folders.
    let known = folder.load().unwrap_or(None);
    store.recover(run(&known).as_ref())?;
    folder.reset()?;
    Ok(None)
}

/// Removes staged folders if the state was not saved. If it was saved after all, the next run
/// publishes them.
fn rollback(folder: &StateFolder, store: &ReportStore, known: Option<&ReportState>) {
    if let Ok(there) = folder.load::<ReportState>()
        && there.as_ref() == known
    {
        // If this fails, the next run does it.
        let _ = store.recover(known.and_then(|state| state.run.as_ref()));
    }
}

/// The most bytes of a result of `verify`: each request makes at most 2 kB.
const MAX_VERIFIED_BYTES: u64 = 4 << 20;

/// Prints what a run would report, and changes nothing.
fn dry_run(settings: &ReportSettings) -> Result<Exit, CommandError> {
    let stop = signals::listen();
    let report_run = ReportRun::new(settings, &stop)?;
    let known: Option<ReportState> = if settings.state.reset {
        None
    } else {
        StateFolder::peek(dir(settings), NAME, settings.state.insecure)?
    };
    let mut state = report_run.initial_state(known.as_ref());
    let is_first = state.run.is_none();
    let ReadResult {
        increment,
        problems,
        notes,
        ..
    } = report_run.read(known.as_ref(), &mut state, u64::MAX, |_| Ok(()))?;
    if let Some(exit) = stop.exit() {
        return Err(CommandError::ReportStopped(exit));
    }
    let pages = ReportWriter::new(&report_run, &increment, &problems, &notes, is_first, false)
        .pages(&mut state)?;
    let exit = print_problems(&problems);
    let text = if pages.is_empty() {
        b"Nothing new.\n".to_vec()
    } else {
        pages
    };
    match stdout::print(&text) {
        Exit::Success => Ok(exit),
        failed => Ok(failed),
    }
}

/// Prints the problems, and returns the exit code.
fn print_problems(problems: &[(PathBuf, String)]) -> Exit {
    for (path, what) in problems {
        message::error(&format!(
            "{}: {}",
            message::sanitized_path(path),
            message::sanitized(what)
        ));
    }
    if problems.is_empty() {
        Exit::Success
    } else {
        Exit::Damaged
    }
}

/// Prints the mail, if there is one; its content is in the folder too. Without one, `done` shows a
/// person at a terminal that the run worked. Cron mails nothing then.
fn print(settings: &ReportSettings, mail: Option<&[u8]>, done: &str, exit: Exit) -> Exit {
    let is_seen = std::io::stdout().is_terminal() && !settings.scan.quiet;
    match mail
        .or_else(|| is_seen.then_some(done.as_bytes()))
        .map(stdout::print)
    {
        None | Some(Exit::Success) => exit,
        Some(failed) => failed,
    }
}

/// The canonical path of the state file.
fn file_of(folder: &StateFolder) -> PathBuf {
    let path = folder.path();
    let (dir, name) = (
        path.parent().unwrap_or(Path::new(".")),
        path.file_name().unwrap_or_default(),
    );
    let dir = fs::canonicalize(dir).or_else(|_| std::path::absolute(dir));
    dir.map_or_else(|_| path.clone(), |dir| dir.join(name))
}

/// The state folder. The settings always have one.
fn dir(settings: &ReportSettings) -> &Path {
    settings.state.dir.as_deref().unwrap_or(Path::new("."))
}

/// The folder of the reports. The settings have one if anything is written.
fn out(settings: &ReportSettings) -> &Path {
    settings.out.as_deref().unwrap_or(Path::new("."))
}

/// The ID of a group, which is given by name or by number. No name service is queried.
///
/// # Errors
///
/// The group does not exist.
fn group_id(name: &str) -> Result<u32, CommandError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let found = accounts::group_id(name).map_err(|error| {
        CommandError::Group(format!(
            "--group: cannot read {GROUP_FILE}: {error}; give its number"
        ))
    })?;
    found.ok_or_else(|| {
        CommandError::Group(format!(
            "--group: {GROUP_FILE} has no group '{}'; give one that it has, or a number",
            message::sanitized(name)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_group_of_that_number() {
        assert_eq!(group_id("1234").ok(), Some(1234));
    }
}
