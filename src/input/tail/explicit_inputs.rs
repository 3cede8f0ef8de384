//! Finds the logs that the command line names, each together with its rotated files, however they are named.
//!
//! A log and its rotated files form one group, so that content is recognized after renames. Opens nothing; the
//! content decides which files are read.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ExplicitInputs;
use super::Notice;
use super::discovery::{LogCandidate, LogDiscovery, base_in};
use super::file_stat::FileId;
use crate::input::find::{SourceKind, find};
use crate::input::rotation::{file_name_bytes, parent_folder, rank};
use crate::input::wildcard::{is_pattern, pattern_matches};
use crate::source::SourceInfo;

/// A larger number after a name is a port or a process ID, not a rotation index.
const MAX_ROTATION_INDEX: u32 = 999;

/// A file that an argument leads to.
struct ExplicitFile {
    path: PathBuf,
    /// The absolute path, without symbolic links to folders.
    key: PathBuf,
    named: bool,
}

/// The log that a file belongs to, by its name.
struct RotationRoot {
    path: PathBuf,
    /// The log itself was not named.
    is_absent: bool,
}

impl LogDiscovery {
    /// All logs that the arguments lead to now. Stores the files in `explicit`.
    pub(super) fn all(&mut self, explicit: &mut ExplicitInputs, notices: &mut Vec<Notice>) -> Vec<LogCandidate> {
        let files = self.files(&mut explicit.ids, notices);
        explicit.paths = files.iter().map(|file| file.path.clone()).collect();
        let keys: HashSet<&Path> = files.iter().map(|file| file.key.as_path()).collect();
        let mut candidates: Vec<(PathBuf, LogCandidate)> = Vec::new();
        for file in &files {
            let root = root_of(&file.key, &keys);
            if let Some((_, candidate)) = candidates.iter_mut().find(|(key, _)| *key == root.path) {
                candidate.named |= file.named;
                continue;
            }
            let typed = files.iter().find(|other| other.key == root.path).map(|other| other.path.clone());
            let path = typed.unwrap_or_else(|| beside(file, &root.path));
            let argument = self.argument_of(&file.path);
            let candidate =
                LogCandidate { path, named: file.named, from_pattern: argument != file.path, argument, is_absent: root.is_absent };
            candidates.push((root.path, candidate));
        }
        candidates.into_iter().map(|(_, candidate)| candidate).collect()
    }

    fn files(&self, ids: &mut HashSet<FileId>, notices: &mut Vec<Notice>) -> Vec<ExplicitFile> {
        let found = find(self.arguments());
        let mut files = Vec::new();
        let mut problem = |path: PathBuf, what: String| notices.push(Notice { path, what, problem: true });
        for source in found.sources {
            if source.kind == SourceKind::File {
                ids.extend(source.id);
                files.push(ExplicitFile::new(source.path, source.named));
            } else {
                problem(source.path, "is not a file; only files can be read from where the last run ended".to_owned());
            }
        }
        for gone in found.problems {
            if self.is_known(&gone.path) && is_missing(&gone.path) {
                files.push(ExplicitFile::new(gone.path, true));
            } else {
                problem(gone.path, gone.what);
            }
        }
        for glob in found.no_match {
            if !self.followed().iter().any(|path| pattern_matches(&glob, path)) {
                problem(glob, "matches nothing".to_owned());
            }
        }
        // Logs of the checkpoints that do not exist at the moment: their latest lines are in rotated siblings.
        let is_met = |path: &Path, files: &[ExplicitFile]| files.iter().any(|file| file.path == *path);
        for path in self.followed() {
            let is_asked_for =
                self.arguments().iter().any(|argument| argument.is_dir() && path.starts_with(argument) || pattern_matches(argument, path));
            if is_asked_for && !is_met(path, &files) {
                files.push(ExplicitFile::new(path.clone(), false));
            }
        }
        files
    }

    /// Whether the checkpoints contain a path or a rotated sibling of it.
    fn is_known(&self, path: &Path) -> bool {
        let keys: HashSet<&Path> = HashSet::from([path]);
        let root = root_of(path, &keys).path;
        let base = file_name_bytes(&root);
        let is_self_or_sibling = |known: &PathBuf| {
            *known == root || parent_folder(known) == parent_folder(&root) && rank(&base, &file_name_bytes(known)).is_some()
        };
        self.followed().iter().any(is_self_or_sibling)
    }

    /// The argument that led to a file.
    fn argument_of(&self, path: &Path) -> PathBuf {
        let leads = |argument: &&PathBuf| *argument == path || argument.is_dir() && path.starts_with(argument);
        let open = || self.arguments().iter().find(|argument| is_pattern(argument));
        self.arguments().iter().find(leads).or_else(open).cloned().unwrap_or_else(|| path.to_owned())
    }
}

impl ExplicitFile {
    fn new(path: PathBuf, named: bool) -> Self {
        let folder = parent_folder(&path);
        let folder = folder.canonicalize().or_else(|_| std::path::absolute(&folder)).unwrap_or(folder);
        let key = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
        Self { path, key, named }
    }
}

/// The log that a file belongs to, one of `all` if possible.
fn root_of(key: &Path, all: &HashSet<&Path>) -> RotationRoot {
    let mut path = key.to_owned();
    while let Some(base) = base_in(&path, all) {
        path = base;
    }
    let Some(base) = rotated_from(&path) else { return RotationRoot { path, is_absent: false } };
    // With `olddir`, the log is in the parent folder.
    let above = path.parent().and_then(Path::parent).map(|folder| folder.join(base.file_name().unwrap_or_default()));
    match above.filter(|above| all.contains(above.as_path())) {
        Some(path) => RotationRoot { path, is_absent: false },
        None => RotationRoot { path: base, is_absent: true },
    }
}

/// The log that a file was rotated from, if its name looks rotated.
fn rotated_from(path: &Path) -> Option<PathBuf> {
    let text = SourceInfo::new(path.as_os_str().as_bytes().to_vec(), 0, Vec::new());
    let base = Path::new(OsStr::from_bytes(text.family()));
    let rank = rank(&file_name_bytes(base), &file_name_bytes(path))?;
    (rank.index().is_none_or(|index| index <= MAX_ROTATION_INDEX)).then(|| base.to_owned())
}

/// The path of `root`, spelled like that of `file`.
fn beside(file: &ExplicitFile, root: &Path) -> PathBuf {
    let name = root.file_name().unwrap_or_default();
    if file.key.parent() == root.parent() { file.path.with_file_name(name) } else { root.to_owned() }
}

fn is_missing(path: &Path) -> bool {
    matches!(fs::metadata(path), Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}
