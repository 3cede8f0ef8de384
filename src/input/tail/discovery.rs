//! Finds what the arguments lead to, again and again: a file by its name even before it exists, folders and globs by
//! what lies in them now.
//!
//! Says which paths are worth following and opens none of them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Notice;
use super::file_stat::FileStat;
use crate::input::find::{SourceKind, find};
use crate::input::rotation_names::{bases, file_name_bytes, has_compression_suffix, parent_folder};
use crate::input::wildcard::is_pattern;
use crate::source::SourceInfo;

/// So often at most nothing is looked through because no folder changed.
const MAX_SKIPPED: u32 = 10;

/// A path that may be followed.
#[derive(Debug, Clone)]
pub(super) struct LogCandidate {
    pub(super) path: PathBuf,
    pub(super) named: bool,
    /// The argument that led to it.
    pub(super) argument: PathBuf,
    /// The argument may lead to others.
    pub(super) from_pattern: bool,
    /// Only files that it was rotated to were given.
    pub(super) is_absent: bool,
}

/// The arguments, and what was said about them.
#[derive(Debug)]
pub(super) struct LogDiscovery {
    arguments: Vec<PathBuf>,
    /// Paths that a state says were followed.
    followed: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// What those were when they were last looked through, and how often they have not been since.
    stats: Vec<Option<FileStat>>,
    skipped: u32,
    reported: HashSet<String>,
}

impl LogDiscovery {
    /// `followed`: paths that a state says were followed, or that those were rotated to.
    pub(super) fn new(arguments: Vec<PathBuf>, followed: &[PathBuf]) -> Self {
        let all: HashSet<&Path> = followed.iter().map(PathBuf::as_path).collect();
        let logs = followed.iter().filter(|path| base_in(path, &all).is_none()).cloned().collect();
        Self { arguments, followed: logs, folders: Vec::new(), stats: Vec::new(), skipped: 0, reported: HashSet::new() }
    }

    /// Whether anything may appear that was not named.
    pub(super) fn may_find_new(&self) -> bool {
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
                add_folders(argument, &mut folders);
            } else if is_pattern(argument) && !argument.exists() {
                folders.push(parent_folder(argument));
            }
        }
        folders
    }

    /// Whether nothing can have come or gone since the candidates were last asked for: no name in a folder changed.
    pub(super) fn is_unchanged(&mut self) -> bool {
        self.skipped += 1;
        let old = |stat: &Option<FileStat>| stat.is_some_and(|stat| !stat.is_recent());
        self.skipped < MAX_SKIPPED && self.stats.iter().all(old) && self.stats == stats(&self.folders)
    }

    /// All that the arguments lead to now; what a log was rotated to is left to that log.
    pub(super) fn candidates(&mut self, notices: &mut Vec<Notice>) -> Vec<LogCandidate> {
        self.folders = self.open_folders();
        self.stats = stats(&self.folders);
        self.skipped = 0;
        let mut candidates = Vec::new();
        for argument in self.arguments.clone() {
            let exists = fs::metadata(&argument);
            if exists.as_ref().is_ok_and(fs::Metadata::is_dir) || exists.is_err() && is_pattern(&argument) {
                self.within(&argument, &mut candidates, notices);
            } else {
                candidates.push(LogCandidate { path: argument.clone(), named: true, argument, from_pattern: false, is_absent: false });
            }
        }
        candidates
    }

    fn within(&mut self, argument: &Path, candidates: &mut Vec<LogCandidate>, notices: &mut Vec<Notice>) {
        let found = find(&[argument.to_owned()]);
        for problem in found.problems {
            self.report_once(&problem.path, problem.what, notices);
        }
        if !found.no_match.is_empty() {
            self.report_once(argument, "matches nothing yet; waiting".to_owned(), notices);
        }
        let files = found.sources.into_iter().filter(|source| source.kind == SourceKind::File).map(|source| source.path);
        let files: Vec<PathBuf> = files.collect();
        let names: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        let followed: HashSet<&Path> = self.followed.iter().map(PathBuf::as_path).collect();
        let argument = argument.to_owned();
        let candidate = |path| LogCandidate { path, named: false, argument: argument.clone(), from_pattern: true, is_absent: false };
        for path in files.iter().filter(|path| base_in(path, &names).is_none()) {
            // The log itself may be away just now, or gone for good and packed.
            candidates.push(candidate(base_in(path, &followed).unwrap_or_else(|| unpacked(path))));
        }
    }

    /// Says that no more than `most` paths are followed.
    pub(super) fn report_full(&mut self, path: &Path, most: usize, notices: &mut Vec<Notice>) {
        let folder = parent_folder(path);
        self.report_once(&folder, format!("holds more than can be followed: {most} logs are the most"), notices);
    }

    fn report_once(&mut self, path: &Path, what: String, notices: &mut Vec<Notice>) {
        if self.reported.insert(format!("{}: {what}", path.display())) {
            notices.push(Notice { path: path.to_owned(), what, problem: true });
        }
    }
}

fn stats(folders: &[PathBuf]) -> Vec<Option<FileStat>> {
    folders.iter().map(|folder| fs::metadata(folder).ok().map(|found| FileStat::from_metadata(&found))).collect()
}

/// Adds `folder` and those below it.
fn add_folders(folder: &Path, folders: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        add_folders(&entry.path(), folders);
    }
}

/// The log that a packed file was rotated from, by its name: one that is not there, as nothing else is known of the file.
fn unpacked(path: &Path) -> PathBuf {
    if !has_compression_suffix(path) {
        return path.to_owned();
    }
    let text = SourceInfo::new(path.as_os_str().as_bytes().to_vec(), 0, Vec::new());
    PathBuf::from(OsStr::from_bytes(text.family()))
}

/// Which of these logs was rotated to this file, by their names.
pub(super) fn base_in(path: &Path, among: &HashSet<&Path>) -> Option<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    bases(&file_name_bytes(path)).map(|(base, _)| folder.join(OsStr::from_bytes(&base))).find(|log| among.contains(log.as_path()))
}
