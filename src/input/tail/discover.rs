//! Finds what the arguments lead to, again and again: a file by its name even before it exists, folders and globs by
//! what lies in them now.
//!
//! Says which paths are worth following and opens none of them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::family::{base_of, bases, folder_of, is_packed_by_name};
use super::notice::Notice;
use super::stamp::Stamp;
use crate::input::find::{Kind, find};
use crate::input::wildcard::is_pattern;
use crate::source::SourceInfo;

/// So often at most nothing is looked through because no folder changed.
const SKIPPED: u32 = 10;

/// A path that may be followed.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    pub(super) named: bool,
    /// The argument that led to it.
    pub(super) argument: PathBuf,
    /// The argument may lead to others.
    pub(super) is_open: bool,
    /// Only files that it was rotated to were given.
    pub(super) is_absent: bool,
}

/// The arguments, and what was said about them.
#[derive(Debug)]
pub(super) struct Discovery {
    arguments: Vec<PathBuf>,
    /// Paths that a state says were followed.
    followed: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// What those were when they were last looked through, and how often they have not been since.
    stamps: Vec<Option<Stamp>>,
    skipped: u32,
    said: HashSet<String>,
}

impl Discovery {
    /// `followed`: paths that a state says were followed, or that those were rotated to.
    pub(super) fn new(arguments: Vec<PathBuf>, followed: &[PathBuf]) -> Self {
        let all: HashSet<&Path> = followed.iter().map(PathBuf::as_path).collect();
        let logs = followed.iter().filter(|path| base_among(path, &all).is_none()).cloned().collect();
        Self { arguments, followed: logs, folders: Vec::new(), stamps: Vec::new(), skipped: 0, said: HashSet::new() }
    }

    /// Whether anything may appear that was not named.
    pub(super) fn is_open(&self) -> bool {
        self.arguments.iter().any(|argument| is_pattern(argument) || argument.is_dir())
    }

    /// The arguments.
    pub(super) fn arguments(&self) -> &[PathBuf] {
        &self.arguments
    }

    /// Paths that a state says were followed.
    pub(super) fn followed(&self) -> &[PathBuf] {
        &self.followed
    }

    /// Folders in which something new may appear, as of the last time that [`candidates`](Self::candidates) were asked for.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    fn open_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for argument in &self.arguments {
            if argument.is_dir() {
                below(argument, &mut folders);
            } else if is_pattern(argument) && !argument.exists() {
                folders.push(folder_of(argument));
            }
        }
        folders
    }

    /// Whether nothing can have come or gone since the candidates were last asked for: no name in a folder changed.
    pub(super) fn is_unchanged(&mut self) -> bool {
        self.skipped += 1;
        let old = |stamp: &Option<Stamp>| stamp.is_some_and(|stamp| !stamp.is_young());
        self.skipped < SKIPPED && self.stamps.iter().all(old) && self.stamps == stamps(&self.folders)
    }

    /// All that the arguments lead to now; what a log was rotated to is left to that log.
    pub(super) fn candidates(&mut self, notices: &mut Vec<Notice>) -> Vec<Candidate> {
        self.folders = self.open_folders();
        self.stamps = stamps(&self.folders);
        self.skipped = 0;
        let mut candidates = Vec::new();
        for argument in self.arguments.clone() {
            let exists = fs::metadata(&argument);
            if exists.as_ref().is_ok_and(fs::Metadata::is_dir) || exists.is_err() && is_pattern(&argument) {
                self.within(&argument, &mut candidates, notices);
            } else {
                candidates.push(Candidate { path: argument.clone(), named: true, argument, is_open: false, is_absent: false });
            }
        }
        candidates
    }

    fn within(&mut self, argument: &Path, candidates: &mut Vec<Candidate>, notices: &mut Vec<Notice>) {
        let found = find(&[argument.to_owned()]);
        for problem in found.problems {
            self.say(&problem.path, problem.what, notices);
        }
        if !found.no_match.is_empty() {
            self.say(argument, "matches nothing yet; waiting".to_owned(), notices);
        }
        let files = found.sources.into_iter().filter(|source| source.kind == Kind::File).map(|source| source.path);
        let files: Vec<PathBuf> = files.collect();
        let names: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        let followed: HashSet<&Path> = self.followed.iter().map(PathBuf::as_path).collect();
        let argument = argument.to_owned();
        let candidate = |path| Candidate { path, named: false, argument: argument.clone(), is_open: true, is_absent: false };
        for path in files.iter().filter(|path| base_among(path, &names).is_none()) {
            // The log itself may be away just now, or gone for good and packed.
            candidates.push(candidate(base_among(path, &followed).unwrap_or_else(|| unpacked(path))));
        }
    }

    /// Says that no more than `most` paths are followed.
    pub(super) fn say_full(&mut self, path: &Path, most: usize, notices: &mut Vec<Notice>) {
        let folder = folder_of(path);
        self.say(&folder, format!("holds more than can be followed: {most} logs are the most"), notices);
    }

    fn say(&mut self, path: &Path, what: String, notices: &mut Vec<Notice>) {
        if self.said.insert(format!("{}: {what}", path.display())) {
            notices.push(Notice { path: path.to_owned(), what, problem: true });
        }
    }
}

fn stamps(folders: &[PathBuf]) -> Vec<Option<Stamp>> {
    folders.iter().map(|folder| fs::metadata(folder).ok().map(|found| Stamp::of(&found))).collect()
}

/// Adds `folder` and those below it.
fn below(folder: &Path, folders: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        below(&entry.path(), folders);
    }
}

/// The log that a packed file was rotated from, by its name: one that is not there, as nothing else is known of the file.
fn unpacked(path: &Path) -> PathBuf {
    if !is_packed_by_name(path) {
        return path.to_owned();
    }
    let text = SourceInfo::new(path.as_os_str().as_bytes().to_vec(), 0, Vec::new());
    PathBuf::from(OsStr::from_bytes(text.family()))
}

/// Which of these logs was rotated to this file, by their names.
pub(super) fn base_among(path: &Path, among: &HashSet<&Path>) -> Option<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    bases(&base_of(path)).map(|(base, _)| folder.join(OsStr::from_bytes(&base))).find(|log| among.contains(log.as_path()))
}
