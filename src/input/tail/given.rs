//! Finds what the arguments of one reading lead to: the logs, each with the files it was rotated to, however they were
//! named.
//!
//! A log and its rotated files are one, so that a text is known again when names have moved on. Opens nothing; which of the
//! files are read, their texts decide.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Given;
use super::discover::{Candidate, Discovery, base_among};
use super::family::{base_of, folder_of, rank};
use super::notice::Notice;
use super::stamp::Id;
use crate::input::find::{Kind, find};
use crate::input::wildcard::{is_pattern, leads_to};
use crate::source::SourceInfo;

/// A number behind a name that is larger names a port or a process, no rotation.
const MOST_ROTATIONS: u32 = 999;

/// One file that an argument leads to.
struct File {
    path: PathBuf,
    /// The same from the root on, without links to folders.
    key: PathBuf,
    named: bool,
}

/// The log that a file belongs to, by its name.
struct Root {
    path: PathBuf,
    /// The log itself was not given.
    is_absent: bool,
}

impl Discovery {
    /// All logs that the arguments lead to now; `given` becomes the files that were given.
    pub(super) fn all(&mut self, given: &mut Given, notices: &mut Vec<Notice>) -> Vec<Candidate> {
        let files = self.files(&mut given.ids, notices);
        given.paths = files.iter().map(|file| file.path.clone()).collect();
        let keys: HashSet<&Path> = files.iter().map(|file| file.key.as_path()).collect();
        let mut candidates: Vec<(PathBuf, Candidate)> = Vec::new();
        for file in &files {
            let root = root_of(&file.key, &keys);
            if let Some((_, candidate)) = candidates.iter_mut().find(|(key, _)| *key == root.path) {
                candidate.named |= file.named;
                continue;
            }
            let typed = files.iter().find(|other| other.key == root.path).map(|other| other.path.clone());
            let path = typed.unwrap_or_else(|| beside(file, &root.path));
            let argument = self.argument_of(&file.path);
            let candidate = Candidate { path, named: file.named, is_open: argument != file.path, argument, is_absent: root.is_absent };
            candidates.push((root.path, candidate));
        }
        candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn files(&self, ids: &mut HashSet<Id>, notices: &mut Vec<Notice>) -> Vec<File> {
        let found = find(self.arguments());
        let mut files = Vec::new();
        let mut problem = |path: PathBuf, what: String| notices.push(Notice { path, what, problem: true });
        for source in found.sources {
            if source.kind == Kind::File {
                ids.extend(source.id);
                files.push(File::new(source.path, source.named));
            } else {
                problem(source.path, "is not a file, and what came since the last run is known of files only".to_owned());
            }
        }
        for gone in found.problems {
            if self.is_known(&gone.path) && is_missing(&gone.path) {
                files.push(File::new(gone.path, true));
            } else {
                problem(gone.path, gone.what);
            }
        }
        for glob in found.no_match {
            if !self.followed().iter().any(|path| leads_to(&glob, path)) {
                problem(glob, "matches nothing".to_owned());
            }
        }
        // Logs of the state that are away just now: what came to them last lies beside them.
        let is_met = |path: &Path, files: &[File]| files.iter().any(|file| file.path == *path);
        for path in self.followed() {
            let is_asked_for =
                self.arguments().iter().any(|argument| argument.is_dir() && path.starts_with(argument) || leads_to(argument, path));
            if is_asked_for && !is_met(path, &files) {
                files.push(File::new(path.clone(), false));
            }
        }
        files
    }

    /// Whether the state knows a path, or one that its log was rotated to.
    fn is_known(&self, path: &Path) -> bool {
        let keys: HashSet<&Path> = HashSet::from([path]);
        let root = root_of(path, &keys).path;
        let base = base_of(&root);
        let is_family = |known: &PathBuf| *known == root || folder_of(known) == folder_of(&root) && rank(&base, &base_of(known)).is_some();
        self.followed().iter().any(is_family)
    }

    /// The argument that led to a file.
    fn argument_of(&self, path: &Path) -> PathBuf {
        let leads = |argument: &&PathBuf| *argument == path || argument.is_dir() && path.starts_with(argument);
        let open = || self.arguments().iter().find(|argument| is_pattern(argument));
        self.arguments().iter().find(leads).or_else(open).cloned().unwrap_or_else(|| path.to_owned())
    }
}

impl File {
    fn new(path: PathBuf, named: bool) -> Self {
        let folder = folder_of(&path);
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(&folder)).unwrap_or(folder);
        let key = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        Self { path, key, named }
    }
}

/// The log that a file belongs to: one of `all` where it is among them.
fn root_of(key: &Path, all: &HashSet<&Path>) -> Root {
    let mut path = key.to_owned();
    while let Some(base) = base_among(&path, all) {
        path = base;
    }
    let Some(base) = rotated_from(&path) else { return Root { path, is_absent: false } };
    // Where `olddir` took it.
    let above = path.parent().and_then(Path::parent).map(|folder| folder.join(base.file_name().unwrap_or_default()));
    match above.filter(|above| all.contains(above.as_path())) {
        Some(path) => Root { path, is_absent: false },
        None => Root { path: base, is_absent: true },
    }
}

/// The log that a file was rotated from, if it looks like a rotated one.
fn rotated_from(path: &Path) -> Option<PathBuf> {
    let text = SourceInfo::new(path.as_os_str().as_bytes().to_vec(), 0, Vec::new());
    let base = Path::new(OsStr::from_bytes(text.family()));
    let rank = rank(&base_of(base), &base_of(path))?;
    (rank.index().is_none_or(|index| index <= MOST_ROTATIONS)).then(|| base.to_owned())
}

/// The path of `root`, spelt as that of `file` is.
fn beside(file: &File, root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default();
    if file.key.parent() == root.parent() { file.path.with_file_name(name) } else { root.to_owned() }
}

fn is_missing(path: &Path) -> bool {
    matches!(fs::metadata(path), Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}
