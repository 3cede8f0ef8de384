//! Finds the inputs: files, folders, globs, pipes and standard input.
//!
//! Opens only folders, one at a time, and lists each file once, however many names lead to it. It
//! does not check whether a file can be read or what it contains.
//!
//! If the user may not read a file, an error message names the group that may. Only file modes,
//! `/etc/group` and `/etc/passwd` are read. No group is named without read access, none that the
//! user is in already, and never `root`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{FileType, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::filesystem::is_on_pseudo_filesystem;
use super::wildcard::{GlobMatches, expand, is_pattern};
use crate::os::accounts::{self, GROUP_FILE, PASSWD_FILE};
use crate::os::system::list_folder;

/// One input to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSource {
    /// As typed or found; `-` is standard input. May contain any bytes.
    pub path: PathBuf,
    /// How it was found.
    pub origin: InputOrigin,
    /// How it is read.
    pub kind: SourceKind,
    /// Device and inode, if known.
    pub id: Option<(u64, u64)>,
}

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A regular file.
    File,
    /// A named pipe. It is read to its end once; opening it waits for a writer.
    Stream,
    /// Standard input, of any kind.
    Stdin,
    /// A reader of the caller: its path is only a name.
    Reader,
}

/// The inputs that the given paths lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundInputs {
    /// Inputs in the order of the arguments; within a folder, in byte order of the names.
    pub sources: Vec<InputSource>,
    /// Notices about paths that were skipped without an error, as sentences. They contain
    /// unsanitized names.
    pub notices: Vec<String>,
    /// Paths that cannot be read, and why.
    pub problems: Vec<InputProblem>,
    /// Globs that match nothing.
    pub no_match: Vec<PathBuf>,
    /// Number of files excluded because they are too old.
    pub excluded: usize,
}

/// A path that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputProblem {
    /// As typed or found. May contain any bytes.
    pub path: PathBuf,
    /// The reason, to print after the path and a colon: `no such file`.
    pub what: String,
}

/// Finds all inputs that `paths` lead to. Never fails: paths that cannot be read are in `problems`.
///
/// A path that does not exist and contains `*`, `?` or `[` is a glob. A file of exactly that name
/// takes precedence.
#[must_use]
pub(crate) fn find(paths: &[PathBuf]) -> FoundInputs {
    let mut search = Search::default();
    for path in paths {
        search.argument(path);
    }
    search.found
}

/// How an input was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputOrigin {
    /// It was given by name. It is read as a log even if it looks like a server's error log.
    Name,
    /// It matched a pattern, on the command line or in a server's configuration.
    Pattern,
    /// It is in a folder. Only here it is no error that a file is not a log.
    Folder,
}

impl InputOrigin {
    /// Of an input that was given, by its name or by a pattern, or is in a folder.
    pub(crate) fn new(is_given: bool, by_pattern: bool) -> Self {
        match (is_given, by_pattern) {
            (true, false) => Self::Name,
            (true, true) => Self::Pattern,
            (false, _) => Self::Folder,
        }
    }
}

/// A search in progress.
#[derive(Debug, Default)]
struct Search {
    found: FoundInputs,
    /// The first name of every file and folder visited, by device and inode.
    visited: HashMap<(u64, u64), PathBuf>,
    /// By device: whether it is a pseudo file system.
    pseudo_devices: HashMap<u64, bool>,
}

impl Search {
    fn argument(&mut self, path: &Path) {
        if path.as_os_str() == "-" {
            self.standard_input();
            return;
        }
        match fs::metadata(path) {
            Ok(metadata) => self.classify(path, &metadata, InputOrigin::Name),
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_pattern(path) => {
                self.glob(path);
            }
            Err(error) => self.record_error(path, &error),
        }
    }

    /// Its inode is recorded too, so that `probewatch access.log - < access.log` reads the file
    /// once.
    fn standard_input(&mut self) {
        let id = rustix::fs::fstat(io::stdin())
            .ok()
            .map(|stat| (stat.st_dev, stat.st_ino));
        self.add(InputSource {
            path: PathBuf::from("-"),
            origin: InputOrigin::Name,
            kind: SourceKind::Stdin,
            id,
        });
    }

    fn glob(&mut self, path: &Path) {
        let GlobMatches {
            mut paths,
            failures,
        } = expand(path);
        if paths.is_empty() && failures.is_empty() {
            self.found.no_match.push(path.to_owned());
        }
        paths.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        for path in paths {
            self.visit(&path, InputOrigin::Pattern);
        }
        for (folder, error) in failures {
            self.record_error(&folder, &error);
        }
    }

    /// Classifies a path that was found; follows symbolic links.
    fn visit(&mut self, path: &Path, origin: InputOrigin) {
        match fs::metadata(path) {
            Ok(metadata) => self.classify(path, &metadata, origin),
            // A dangling link, or a file that was rotated since the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.notice(format!("{} is a dangling link; skipped", path.display()));
            }
            Err(error) => self.record_error(path, &error),
        }
    }

    fn classify(&mut self, path: &Path, metadata: &Metadata, origin: InputOrigin) {
        let is_named = origin == InputOrigin::Name;
        let id = Some((metadata.dev(), metadata.ino()));
        let kind = metadata.file_type();
        let may_be_pseudo = !is_named || kind.is_dir();
        if may_be_pseudo && self.is_pseudo_file(path, metadata.dev()) {
            self.notice(format!(
                "{} is on a pseudo file system of the kernel; skipped",
                path.display()
            ));
        } else if kind.is_dir() {
            self.folder(path, (metadata.dev(), metadata.ino()));
        } else if kind.is_file() || kind.is_fifo() && is_named {
            self.add(InputSource {
                path: path.to_owned(),
                origin,
                kind: if kind.is_file() {
                    SourceKind::File
                } else {
                    SourceKind::Stream
                },
                id,
            });
        } else if is_named {
            self.problem(path, format!("is {}, not a log", describe(kind)));
        } else {
            // Reading a pipe that the user did not name could block forever.
            self.notice(format!("{} is {}; skipped", path.display(), describe(kind)));
        }
    }

    fn is_pseudo_file(&mut self, path: &Path, device: u64) -> bool {
        *self
            .pseudo_devices
            .entry(device)
            .or_insert_with(|| is_on_pseudo_filesystem(path))
    }

    /// Descends into a folder. Its list is read and closed first, so that depth costs no file
    /// descriptors.
    fn folder(&mut self, path: &Path, id: (u64, u64)) {
        if self.already_visited(path, id, "folder") {
            return;
        }
        match list_folder(path) {
            Ok(entries) => entries
                .iter()
                .for_each(|(name, _)| self.visit(&path.join(name), InputOrigin::Folder)),
            Err(error) => self.record_error(path, &error),
        }
    }

    fn add(&mut self, source: InputSource) {
        if let Some(id) = source.id
            && self.already_visited(&source.path, id, "file")
        {
            return;
        }
        self.found.sources.push(source);
    }

    /// Whether another name led to this file before; adds a notice if so, and records the path if
    /// not.
    fn already_visited(&mut self, path: &Path, id: (u64, u64), what: &str) -> bool {
        let first = match self.visited.entry(id) {
            Entry::Occupied(first) => first,
            Entry::Vacant(free) => {
                free.insert(path.to_owned());
                return false;
            }
        };
        let notice = if first.get() == path {
            format!("{} was named more than once; read once", path.display())
        } else {
            format!(
                "{} is the same {what} as {}; read once",
                path.display(),
                first.get().display()
            )
        };
        self.notice(notice);
        true
    }

    fn record_error(&mut self, path: &Path, error: &io::Error) {
        let what = match error.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => "is a dangling link".to_owned(),
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::PermissionDenied => describe_denied(path),
            _ => error.to_string(),
        };
        self.problem(path, what);
    }

    fn problem(&mut self, path: &Path, what: String) {
        self.found.problems.push(InputProblem {
            path: path.to_owned(),
            what,
        });
    }

    fn notice(&mut self, notice: String) {
        self.found.notices.push(notice);
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Describes a file that is neither regular nor a folder.
fn describe(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() {
        "a character device"
    } else {
        "a block device"
    }
}

/// Group rights: read a file, and search a folder. Listing a folder needs both.
const GROUP_READ: u32 = 0o040;
const GROUP_SEARCH: u32 = 0o010;

/// Why a path may not be read, to print after the path and a colon.
#[must_use]
pub(crate) fn describe_denied(path: &Path) -> String {
    let Some(group) = group_of(path) else {
        return "permission denied".to_owned();
    };
    let user = accounts::name(PASSWD_FILE, rustix::process::geteuid().as_raw())
        .unwrap_or_else(|| "USER".to_owned());
    format!(
        "permission denied; the group {group} may read it: type sudo usermod -aG {group} {user} and log in again"
    )
}

/// The group that may read a path, or search the folder that denies access to it.
fn group_of(path: &Path) -> Option<String> {
    let (found, needed) = match fs::metadata(path) {
        Ok(found) => {
            let needed = if found.is_dir() {
                GROUP_READ | GROUP_SEARCH
            } else {
                GROUP_READ
            };
            (found, needed)
        }
        // The nearest folder with readable metadata is the one that denies access.
        Err(_) => (
            path.ancestors()
                .skip(1)
                .find_map(|folder| fs::metadata(folder).ok())?,
            GROUP_SEARCH,
        ),
    };
    let group = group_with_access(&found, needed)?;
    accounts::name(GROUP_FILE, group)
}

fn group_with_access(found: &Metadata, needed: u32) -> Option<u32> {
    let group = found.gid();
    let is_member = || {
        let own = rustix::process::getegid().as_raw() == group;
        own || rustix::process::getgroups()
            .is_ok_and(|groups| groups.iter().any(|one| one.as_raw() == group))
    };
    (found.mode() & needed == needed && group != 0 && !is_member()).then_some(group)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use tempfile::TempDir;

    use super::*;

    /// Creates a folder with these files.
    fn folder(files: &[&str]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "line\n").unwrap();
        }
        folder
    }

    /// The paths that were found, relative to `folder`.
    fn names(found: &FoundInputs, folder: &TempDir) -> Vec<String> {
        let name = |source: &InputSource| {
            source
                .path
                .strip_prefix(folder.path())
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        found.sources.iter().map(name).collect()
    }

    fn mkfifo(path: &Path) {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
    }

    #[test]
    fn files_of_a_folder_are_in_name_order() {
        let folder = folder(&["b/2.log", "a.log", "b/10.log", "B.log", ".hidden", "b.log"]);
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(
            names(&found, &folder),
            [".hidden", "B.log", "a.log", "b/10.log", "b/2.log", "b.log"]
        );
        assert!(
            found
                .sources
                .iter()
                .all(|source| source.origin == InputOrigin::Folder
                    && source.kind == SourceKind::File
                    && source.id.is_some())
        );
        assert_eq!((found.notices.len(), found.problems.len()), (0, 0));
    }

    #[test]
    fn pseudo_files_are_read_only_if_named() {
        let folder = folder(&["a.log"]);
        symlink("/proc/kmsg", folder.path().join("b.log")).unwrap();
        symlink("/proc/self", folder.path().join("c")).unwrap();
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(names(&found, &folder), ["a.log"]);
        assert!(
            found.notices.len() == 2
                && found.notices[0]
                    .ends_with("b.log is on a pseudo file system of the kernel; skipped")
        );
        assert_eq!(find(&[PathBuf::from("/proc/self/maps")]).sources.len(), 1);
    }

    #[test]
    fn a_symlink_loop_ends() {
        let folder = folder(&["a.log"]);
        symlink(".", folder.path().join("loop")).unwrap();
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(names(&found, &folder), ["a.log"]);
        assert!(found.notices[0].contains("is the same folder as"));
        assert!(found.problems.is_empty());
    }

    #[test]
    fn a_symlink_to_a_folder_is_followed() {
        let outside = folder(&["far.log"]);
        let inside = folder(&["near.log"]);
        symlink(outside.path(), inside.path().join("link")).unwrap();
        assert_eq!(
            names(&find(&[inside.path().to_owned()]), &inside),
            ["link/far.log", "near.log"]
        );
    }

    #[test]
    fn a_file_with_many_names_is_listed_once() {
        let folder = folder(&["a.log"]);
        let [a, hard, soft] = ["a.log", "hard", "soft"].map(|name| folder.path().join(name));
        fs::hard_link(&a, &hard).unwrap();
        symlink(&a, &soft).unwrap();
        let found = find(&[
            soft.clone(),
            a.clone(),
            hard.clone(),
            soft.clone(),
            folder.path().to_owned(),
        ]);
        assert_eq!(found.sources.len(), 1);
        assert_eq!(found.sources[0].path, soft);
        assert_eq!(found.notices.len(), 6);
        assert_eq!(
            found.notices[0],
            format!(
                "{} is the same file as {}; read once",
                a.display(),
                soft.display()
            )
        );
        assert_eq!(
            found.notices[2],
            format!("{} was named more than once; read once", soft.display())
        );
    }

    #[test]
    fn globs_match_as_in_a_shell() {
        let folder = folder(&["b.log", "a.log", ".c.log", "d.txt", "deep/e.log", "[x].log"]);
        let found = find(&[folder.path().join("*.log"), folder.path().join("*.gz")]);
        assert_eq!(names(&found, &folder), ["[x].log", "a.log", "b.log"]);
        assert!(
            found
                .sources
                .iter()
                .all(|source| source.origin != InputOrigin::Folder)
        );
        assert_eq!(found.no_match, [folder.path().join("*.gz")]);
        // An existing file is that file, even if its name looks like a glob.
        assert_eq!(
            names(&find(&[folder.path().join("[x].log")]), &folder),
            ["[x].log"]
        );
    }

    #[test]
    fn a_pipe_is_read_only_if_named_directly() {
        let folder = folder(&[]);
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe);
        assert_eq!(
            find(std::slice::from_ref(&pipe)).sources[0].kind,
            SourceKind::Stream
        );
        for path in [folder.path().to_owned(), folder.path().join("p*")] {
            let found = find(&[path]);
            assert!(found.sources.is_empty() && found.problems.is_empty());
            assert!(found.notices[0].ends_with("pipe is a named pipe; skipped"));
        }
    }

    #[test]
    fn a_named_path_that_is_not_a_log_is_a_problem() {
        let folder = folder(&["a.log"]);
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        let gone = folder.path().join("gone");
        let dangling = folder.path().join("dangling");
        symlink("nowhere", &dangling).unwrap();
        let paths = [
            "/dev/null".into(),
            folder.path().join("socket"),
            gone,
            dangling,
            folder.path().join("a.log/b"),
        ];
        let problems: Vec<_> = find(&paths)
            .problems
            .into_iter()
            .map(|problem| problem.what)
            .collect();
        assert_eq!(
            problems[..2],
            ["is a character device, not a log", "is a socket, not a log"]
        );
        assert_eq!(problems[2..4], ["no such file", "is a dangling link"]);
        assert!(problems[4].contains("Not a directory"));
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(
            (
                found.sources.len(),
                found.notices.len(),
                found.problems.len()
            ),
            (1, 2, 0)
        );
    }

    #[test]
    fn names_may_contain_any_byte() {
        let folder = TempDir::new().unwrap();
        let name = OsStr::from_bytes(b"-rf\n\x1b[31m\xff.log");
        fs::write(folder.path().join(name), "").unwrap();
        let paths = [folder.path().to_owned(), folder.path().join("*.log")];
        let found = find(&paths);
        assert_eq!(found.sources[0].path.file_name(), Some(name));
        assert_eq!((found.notices.len(), found.no_match.len()), (1, 0));
    }

    #[test]
    fn standard_input_is_listed_once() {
        let found = find(&["-".into(), "-".into()]);
        assert_eq!((found.sources.len(), found.notices.len()), (1, 1));
        assert_eq!(
            (found.sources[0].kind, found.sources[0].origin),
            (SourceKind::Stdin, InputOrigin::Name)
        );
    }
}
