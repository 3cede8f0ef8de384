//! `probewatch report`: what came since the last run, as a folder of reports that is there whole or not at all.
//!
//! Everything that can be wrong with the command is found before the first line is read. What is read counts as reported
//! from the moment the state says so; what stands on disk then and what does not is put right by the next run.

mod desk;
mod edition;
mod failure;
mod group;
mod status;

use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use self::desk::{Desk, Read};
use self::edition::Editions;
use self::failure::Failure;
use super::{Exit, ReportSettings, Task, message, servers, signals, stdout};
use crate::report_store::{Access, Archive, Run};
use crate::state::{KEEP_ABSENT, ReportState, StateFolder};

/// The state's name in its folder: other commands keep theirs beside it.
const NAME: &str = "report";

/// What was not seen for so long is new again.
const REMEMBER: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// Reports what came since the last run.
#[must_use]
pub fn run(settings: &ReportSettings) -> Exit {
    // Cron would mail it after every run.
    if settings.task != Task::Run || std::io::stderr().is_terminal() {
        servers::tell(&settings.scan);
    }
    let done = match settings.task {
        Task::Run => report(settings),
        Task::DryRun => rehearse(settings),
        Task::Status => status::print(settings, dir(settings)),
    };
    done.unwrap_or_else(|failure| failure.tell())
}

fn report(settings: &ReportSettings) -> Result<Exit, Failure> {
    let stop = signals::listen();
    let group = settings.group.as_deref().map(group::number).transpose()?;
    let desk = Desk::new(settings, &stop)?;
    let opened = if settings.wait {
        StateFolder::open_waiting(dir(settings), NAME, settings.state.insecure, stop.flag())
    } else {
        StateFolder::open(dir(settings), NAME, settings.state.insecure)
    };
    if let Some(exit) = stop.exit() {
        return Err(Failure::Stopped(exit));
    }
    let folder = opened?;
    let archive = Archive::open(out(settings), Access { mode: settings.mode, group })?.of_state(file_of(&folder))?;
    let archive = if settings.scan.threads == Some(1) { archive.one_by_one() } else { archive };
    let known = settled(settings, &folder, &archive)?;
    let mut ledger = desk.ledger(known.as_ref());
    let Read { increment, problems, notes } = desk.read(known.as_ref(), &mut ledger);
    if let Some(exit) = stop.exit() {
        return Err(Failure::Stopped(exit));
    }
    ledger.logs.drop_absent(desk::is_there, desk.now(), KEEP_ABSENT);
    let mut editions = Editions::new(&desk, &increment, &problems, &notes, &ledger);
    if editions.is_empty() {
        if known.as_ref() != Some(&ledger) {
            folder.save(&ledger)?;
        }
        archive.prune(settings.keep, desk.started())?;
        return Ok(tell(&problems));
    }
    let number = archive.last_number()?.max(ledger.run.as_ref().map_or(0, |run| run.number)) + 1;
    let mut staging = archive.stage(number)?;
    editions.write(&mut staging, &archive, number, &mut ledger)?;
    let run = staging.finish()?;
    ledger.seen.prune(desk.now().cast_signed(), REMEMBER);
    ledger.sites.prune(desk.now().cast_signed(), REMEMBER);
    ledger.run = Some(run.clone());
    // From here on it is reported, whatever happens.
    if let Err(error) = folder.save(&ledger) {
        take_back(&folder, &archive, known.as_ref());
        return Err(error.into());
    }
    publish(&archive, &run, &desk)?;
    let exit = tell(&problems);
    Ok(print(editions.mail().as_deref(), exit))
}

/// What the last run left, once its folders have their places; nothing where it is to be forgotten.
fn settled(settings: &ReportSettings, folder: &StateFolder, archive: &Archive) -> Result<Option<ReportState>, Failure> {
    let run = |known: &Option<ReportState>| known.as_ref().and_then(|ledger| ledger.run.clone());
    if !settings.state.reset {
        let known = folder.load()?;
        archive.settle(run(&known).as_ref())?;
        return Ok(known);
    }
    // A state that is damaged says nothing of folders that wait; one that is not still does.
    let known = folder.load().unwrap_or(None);
    archive.settle(run(&known).as_ref())?;
    folder.reset()?;
    Ok(None)
}

/// Removes what a run staged that could not be committed, unless it was after all: then the next run sees to it.
fn take_back(folder: &StateFolder, archive: &Archive, known: Option<&ReportState>) {
    if let Ok(there) = folder.load::<ReportState>()
        && there.as_ref() == known
    {
        // What it cannot remove now the next run does.
        let _ = archive.settle(known.and_then(|ledger| ledger.run.as_ref()));
    }
}

/// Puts a run's folders in their place, and deletes those that are too old.
fn publish(archive: &Archive, run: &Run, desk: &Desk<'_>) -> Result<(), Failure> {
    archive.publish(run)?;
    archive.prune(desk.settings.keep, desk.started())?;
    Ok(())
}

/// Says what a run would report, and changes nothing.
fn rehearse(settings: &ReportSettings) -> Result<Exit, Failure> {
    let stop = signals::listen();
    let desk = Desk::new(settings, &stop)?;
    let known: Option<ReportState> =
        if settings.state.reset { None } else { StateFolder::peek(dir(settings), NAME, settings.state.insecure)? };
    let mut ledger = desk.ledger(known.as_ref());
    let Read { increment, problems, notes } = desk.read(known.as_ref(), &mut ledger);
    if let Some(exit) = stop.exit() {
        return Err(Failure::Stopped(exit));
    }
    let pages = Editions::new(&desk, &increment, &problems, &notes, &ledger).pages(&mut ledger)?;
    let exit = tell(&problems);
    let text = if pages.is_empty() { b"Nothing new.\n".to_vec() } else { pages };
    match stdout::print(&text) {
        Exit::Success => Ok(exit),
        failed => Ok(failed),
    }
}

/// Names what could not be read, and says how the run ends.
fn tell(problems: &[(PathBuf, String)]) -> Exit {
    for (path, what) in problems {
        message::error(&format!("{}: {}", message::shown(&path.to_string_lossy()), message::shown(what)));
    }
    if problems.is_empty() { Exit::Success } else { Exit::Damaged }
}

/// Prints the mail, if there is one. What cannot be printed stands in the folder.
fn print(mail: Option<&[u8]>, exit: Exit) -> Exit {
    match mail.map(stdout::print) {
        None | Some(Exit::Success) => exit,
        Some(failed) => failed,
    }
}

/// The state's file by one name, whatever name it was given by.
fn file_of(folder: &StateFolder) -> PathBuf {
    let path = folder.path();
    let (dir, name) = (path.parent().unwrap_or(Path::new(".")), path.file_name().unwrap_or_default());
    let dir = fs::canonicalize(dir).or_else(|_| std::path::absolute(dir));
    dir.map_or_else(|_| path.clone(), |dir| dir.join(name))
}

/// The state's folder. There always: a run without one is refused before.
fn dir(settings: &ReportSettings) -> &Path {
    settings.state.dir.as_deref().unwrap_or(Path::new("."))
}

/// The reports' folder. There where anything is written: a run without one is refused before.
fn out(settings: &ReportSettings) -> &Path {
    settings.out.as_deref().unwrap_or(Path::new("."))
}
