//! Finds the logs that the arguments lead to, repeatedly: named files even before they exist, and
//! the current matches of folders and globs. Rotated files that are arguments are grouped with
//! their log, however they are named, so that content is recognized after renames.
//!
//! Opens no files; the content decides which files are read.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::inspected_file::{FileId, FileStat, is_absent};
use super::{ExplicitInputs, Notice};
use crate::input::find::{InputOrigin, SourceKind, find};
use crate::input::rotation::{bases, file_name_bytes, has_compression_suffix, parent_folder, rank};
use crate::input::wildcard::{is_pattern, pattern_matches};
use crate::log::source::SourceInfo;
use crate::os::system::list_folder;

/// Maximum number of searches in a row that are skipped because no folder changed.
const MAX_SKIPPED: u32 = 10;
/// A larger number after a name is a port or a process ID, not a rotation index.
const MAX_ROTATION_INDEX: u32 = 999;

/// A path that may be watched.
#[derive(Debug, Clone)]
pub(super) struct LogCandidate {
    pub(super) path: PathBuf,
    pub(super) named: bool,
    /// The folder that was given and led to it.
    pub(super) argument_folder: Option<PathBuf>,
    /// The argument may lead to other files too.
    pub(super) from_pattern: bool,
    /// Only rotated siblings of it were named.
    pub(super) is_absent: bool,
}

/// The arguments, and what was reported about them.
#[derive(Debug)]
pub(super) struct LogDiscovery {
    arguments: Vec<PathBuf>,
    /// Paths of the checkpoints.
    followed: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    /// The metadata of the folders at the last search, and how many searches were skipped since.
    stats: Vec<Option<FileStat>>,
    skipped: u32,
    reported: HashSet<String>,
}

impl LogDiscovery {
    /// `followed` are the paths of the checkpoints.
    pub(super) fn new(arguments: Vec<PathBuf>, followed: &[PathBuf]) -> Self {
        let all: HashSet<&Path> = followed.iter().map(PathBuf::as_path).collect();
        let logs = followed
            .iter()
            .filter(|path| base_in(path, &all).is_none())
            .cloned()
            .collect();
        Self {
            arguments,
            followed: logs,
            folders: Vec::new(),
            stats: Vec::new(),
            skipped: 0,
            reported: HashSet::new(),
        }
    }

    /// Whether files can appear that were not named.
    pub(super) fn may_find_new(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| is_pattern(argument) || argument.is_dir())
    }

    /// The arguments.
    pub(super) fn arguments(&self) -> &[PathBuf] {
        &self.arguments
    }

    /// Paths of the checkpoints, without rotated siblings.
    pub(super) fn followed(&self) -> &[PathBuf] {
        &self.followed
    }

    /// Folders in which new logs may appear, as of the last call of
    /// [`candidates`](Self::candidates).
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

    /// Whether no name in any folder changed since the last call of
    /// [`candidates`](Self::candidates).
    pub(super) fn is_unchanged(&mut self) -> bool {
        self.skipped += 1;
        let old = |stat: &Option<FileStat>| stat.is_some_and(|stat| !stat.is_recent());
        self.skipped < MAX_SKIPPED
            && self.stats.iter().all(old)
            && self.stats == stats(&self.folders)
    }

    /// All logs that the arguments lead to now. Rotated siblings are left to their log.
    pub(super) fn candidates(&mut self, notices: &mut Vec<Notice>) -> Vec<LogCandidate> {
        self.folders = self.open_folders();
        self.stats = stats(&self.folders);
        self.skipped = 0;
        let mut candidates = Vec::new();
        for argument in self.arguments.clone() {
            let exists = fs::metadata(&argument);
            if exists.as_ref().is_ok_and(fs::Metadata::is_dir)
                || exists.is_err() && is_pattern(&argument)
            {
                self.within(&argument, &mut candidates, notices);
            } else {
                candidates.push(LogCandidate {
                    path: argument,
                    named: true,
                    argument_folder: None,
                    from_pattern: false,
                    is_absent: false,
                });
            }
        }
        candidates
    }

    fn within(
        &mut self,
        argument: &Path,
        candidates: &mut Vec<LogCandidate>,
        notices: &mut Vec<Notice>,
    ) {
        let found = find(&[argument.to_owned()]);
        for problem in found.problems {
            self.report_once(&problem.path, problem.what, notices);
        }
        if !found.no_match.is_empty() {
            self.report_once(argument, "matches nothing yet; waiting".to_owned(), notices);
        }
        let files = found
            .sources
            .into_iter()
            .filter(|source| source.kind == SourceKind::File)
            .map(|source| source.path);
        let files: Vec<PathBuf> = files.collect();
        let names: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        let followed: HashSet<&Path> = self.followed.iter().map(PathBuf::as_path).collect();
        let argument_folder = argument.is_dir().then(|| argument.to_owned());
        let candidate = |path| LogCandidate {
            path,
            named: false,
            argument_folder: argument_folder.clone(),
            from_pattern: true,
            is_absent: false,
        };
        for path in files.iter().filter(|path| base_in(path, &names).is_none()) {
            // The log itself may be missing at the moment, or only compressed files may be left.
            candidates.push(candidate(
                base_in(path, &followed).unwrap_or_else(|| log_of_compressed(path)),
            ));
        }
    }

    /// Reports that no more than `most` paths are followed.
    pub(super) fn report_full(&mut self, path: &Path, most: usize, notices: &mut Vec<Notice>) {
        let folder = parent_folder(path);
        self.report_once(
            &folder,
            format!("has more logs than can be followed: the limit is {most}"),
            notices,
        );
    }

    fn report_once(&mut self, path: &Path, what: String, notices: &mut Vec<Notice>) {
        if self.reported.insert(format!("{}: {what}", path.display())) {
            notices.push(Notice {
                path: path.to_owned(),
                what,
                problem: true,
            });
        }
    }
}

fn stats(folders: &[PathBuf]) -> Vec<Option<FileStat>> {
    folders
        .iter()
        .map(|folder| {
            fs::metadata(folder)
                .ok()
                .map(|found| FileStat::from_metadata(&found))
        })
        .collect()
}

/// Adds `folder` and the folders below it.
fn add_folders(folder: &Path, folders: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    // The search for logs reports a folder that cannot be read.
    for (name, _) in list_folder(folder)
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, kind)| kind.is_dir())
    {
        add_folders(&folder.join(name), folders);
    }
}

/// The log that a compressed file was rotated from, by its name.
fn log_of_compressed(path: &Path) -> PathBuf {
    if !has_compression_suffix(path) {
        return path.to_owned();
    }
    let text = SourceInfo::new(path.as_os_str().as_bytes().to_vec(), 0, Vec::new());
    PathBuf::from(OsStr::from_bytes(text.family()))
}

/// The log in `among` that this file was rotated from, by its name.
pub(super) fn base_in(path: &Path, among: &HashSet<&Path>) -> Option<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new(""));
    bases(&file_name_bytes(path))
        .map(|(base, _)| folder.join(OsStr::from_bytes(&base)))
        .find(|log| among.contains(log.as_path()))
}

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
    pub(super) fn all(
        &mut self,
        explicit: &mut ExplicitInputs,
        notices: &mut Vec<Notice>,
    ) -> Vec<LogCandidate> {
        let files = self.files(&mut explicit.ids, notices);
        explicit.paths = files.iter().map(|file| file.path.clone()).collect();
        let keys: HashSet<&Path> = files.iter().map(|file| file.key.as_path()).collect();
        // Of equal keys the first path is the one that is typed.
        let typed: HashMap<&Path, &PathBuf> = files
            .iter()
            .rev()
            .map(|file| (file.key.as_path(), &file.path))
            .collect();
        let arguments = self.classified_arguments();
        let mut candidates: Vec<LogCandidate> = Vec::new();
        let mut by_root: HashMap<PathBuf, usize> = HashMap::new();
        for file in &files {
            let root = root_of(&file.key, &keys);
            if let Some(&index) = by_root.get(&root.path) {
                candidates[index].named |= file.named;
                continue;
            }
            let path = typed
                .get(root.path.as_path())
                .map_or_else(|| beside(file, &root.path), |path| (*path).clone());
            let argument = argument_of(&arguments, &file.path);
            let argument_folder = argument
                .filter(|argument| argument.is_folder)
                .map(|argument| argument.path.to_owned());
            let from_pattern = argument.is_some_and(|argument| argument.path != file.path);
            by_root.insert(root.path, candidates.len());
            candidates.push(LogCandidate {
                path,
                named: file.named,
                argument_folder,
                from_pattern,
                is_absent: root.is_absent,
            });
        }
        candidates
    }

    fn files(&self, ids: &mut HashSet<FileId>, notices: &mut Vec<Notice>) -> Vec<ExplicitFile> {
        let found = find(self.arguments());
        let (mut files, mut folders) = (Vec::new(), HashMap::new());
        let mut problem = |path: PathBuf, what: String| {
            notices.push(Notice {
                path,
                what,
                problem: true,
            });
        };
        for source in found.sources {
            if source.kind == SourceKind::File {
                ids.extend(source.id);
                let is_given = source.origin != InputOrigin::Folder;
                files.push(ExplicitFile::new(source.path, is_given, &mut folders));
            } else {
                problem(
                    source.path,
                    "is not a file; only files can be read from where the last run ended"
                        .to_owned(),
                );
            }
        }
        for gone in found.problems {
            if self.is_known(&gone.path) && is_missing(&gone.path) {
                files.push(ExplicitFile::new(gone.path, true, &mut folders));
            } else {
                problem(gone.path, gone.what);
            }
        }
        for glob in found.no_match {
            if !self
                .followed()
                .iter()
                .any(|path| pattern_matches(&glob, path))
            {
                problem(glob, "matches nothing".to_owned());
            }
        }
        // Logs of the checkpoints that do not exist at the moment: their latest lines are in
        // rotated siblings.
        let existing: HashSet<&PathBuf> = files.iter().map(|file| &file.path).collect();
        let missing: Vec<&PathBuf> = self
            .followed()
            .iter()
            .filter(|path| !existing.contains(path))
            .collect();
        let arguments = if missing.is_empty() {
            Vec::new()
        } else {
            self.classified_arguments()
        };
        let is_requested = |path: &Path| {
            arguments
                .iter()
                .any(|argument| argument.contains(path) || pattern_matches(argument.path, path))
        };
        files.extend(
            missing
                .into_iter()
                .filter(|path| is_requested(path))
                .map(|path| ExplicitFile::new(path.clone(), false, &mut folders)),
        );
        files
    }

    /// Whether the checkpoints contain a path or a rotated sibling of it.
    fn is_known(&self, path: &Path) -> bool {
        let keys: HashSet<&Path> = HashSet::from([path]);
        let root = root_of(path, &keys).path;
        let base = file_name_bytes(&root);
        let is_self_or_sibling = |known: &PathBuf| {
            *known == root
                || parent_folder(known) == parent_folder(&root)
                    && rank(&base, &file_name_bytes(known)).is_some()
        };
        self.followed().iter().any(is_self_or_sibling)
    }

    /// The arguments, and which of them are folders.
    fn classified_arguments(&self) -> Vec<Argument<'_>> {
        self.arguments()
            .iter()
            .map(|path| Argument {
                path,
                is_folder: path.is_dir(),
            })
            .collect()
    }
}

/// An argument. Looked up once for all files that it leads to.
#[derive(Clone, Copy)]
struct Argument<'a> {
    path: &'a Path,
    is_folder: bool,
}

impl Argument<'_> {
    /// Whether it is a folder that contains this path, directly or not.
    fn contains(&self, path: &Path) -> bool {
        self.is_folder && path.starts_with(self.path)
    }
}

/// The argument that led to a file, if one did.
fn argument_of<'a>(arguments: &[Argument<'a>], path: &Path) -> Option<Argument<'a>> {
    let leads = |argument: &&Argument<'_>| argument.path == path || argument.contains(path);
    let open = || arguments.iter().find(|argument| is_pattern(argument.path));
    arguments.iter().find(leads).or_else(open).copied()
}

impl ExplicitFile {
    /// `folders` has the canonical paths of folders: each is resolved once for all its files.
    fn new(path: PathBuf, named: bool, folders: &mut HashMap<PathBuf, PathBuf>) -> Self {
        let folder = parent_folder(&path);
        let resolve = || {
            folder
                .canonicalize()
                .or_else(|_| std::path::absolute(&folder))
                .unwrap_or_else(|_| folder.clone())
        };
        let canonical = folders.entry(folder.clone()).or_insert_with(resolve);
        let key = path
            .file_name()
            .map_or_else(|| canonical.clone(), |name| canonical.join(name));
        Self { path, key, named }
    }
}

/// The log that a file belongs to, one of `all` if possible.
fn root_of(key: &Path, all: &HashSet<&Path>) -> RotationRoot {
    let mut path = key.to_owned();
    while let Some(base) = base_in(&path, all) {
        path = base;
    }
    let Some(base) = rotated_from(&path) else {
        return RotationRoot {
            path,
            is_absent: false,
        };
    };
    // With `olddir`, the log is in the parent folder.
    let above = path
        .parent()
        .and_then(Path::parent)
        .map(|folder| folder.join(base.file_name().unwrap_or_default()));
    match above.filter(|above| all.contains(above.as_path())) {
        Some(path) => RotationRoot {
            path,
            is_absent: false,
        },
        None => RotationRoot {
            path: base,
            is_absent: true,
        },
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
    if file.key.parent() == root.parent() {
        file.path.with_file_name(name)
    } else {
        root.to_owned()
    }
}

fn is_missing(path: &Path) -> bool {
    matches!(fs::metadata(path), Err(error) if is_absent(&error))
}
