//! Finds what there is to read: files, folders, globs, pipes and standard input.
//!
//! Only looks: nothing is opened but folders, one at a time, and each thing is listed once however many names lead to
//! it. What is in a file, even whether it may be read, is not its business.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::filesystem::is_on_pseudo_filesystem;
use super::permission::describe_denied;
use super::wildcard::{GlobMatches, expand, is_pattern};

/// One thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSource {
    /// As named or found; `-` is standard input. May hold any byte.
    pub path: PathBuf,
    /// Asked for by name or by glob, as against found in a folder: only then is a file that is no log worth a complaint.
    pub named: bool,
    /// Asked for by its own name: it is read as a log though it looks like a server's error log.
    pub literal: bool,
    /// How it is read.
    pub kind: SourceKind,
    /// Device and inode, where the system said.
    pub id: Option<(u64, u64)>,
}

/// How a source is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A regular file.
    File,
    /// A named pipe: read once, to its end, waiting for a writer.
    Stream,
    /// Standard input, whatever it is.
    Stdin,
}

/// What the named paths came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundInputs {
    /// What to read: in the order of the arguments, within a folder by the bytes of the names.
    pub sources: Vec<InputSource>,
    /// What was passed over though nothing is wrong, in sentences. They hold names as they are: sanitise them.
    pub notices: Vec<String>,
    /// What cannot be read, and why.
    pub problems: Vec<InputProblem>,
    /// Globs that match nothing.
    pub no_match: Vec<PathBuf>,
    /// Files left out because they are older than was asked for.
    pub excluded: usize,
}

/// A path that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputProblem {
    /// As named or found. May hold any byte.
    pub path: PathBuf,
    /// Why, to be put behind the path and a colon: `no such file`.
    pub what: String,
}

/// Finds everything that `paths` lead to. Never fails: what cannot be read is among the problems.
///
/// A path that does not exist but holds `*`, `?` or `[` is a glob, so a file of that very name comes first.
#[must_use]
pub fn find(paths: &[PathBuf]) -> FoundInputs {
    let mut search = Search::default();
    for path in paths {
        search.argument(path);
    }
    search.found
}

/// How a path was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputOrigin {
    Name,
    Glob,
    Folder,
}

/// A search under way.
#[derive(Debug, Default)]
struct Search {
    found: FoundInputs,
    /// The first name of every file and folder met, by device and inode.
    visited: HashMap<(u64, u64), PathBuf>,
    /// By device: whether the kernel makes up what is on it.
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
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_pattern(path) => self.glob(path),
            Err(error) => self.record_error(path, &error),
        }
    }

    /// Known by what it is too, so that `probewatch access.log - < access.log` counts nothing twice.
    fn standard_input(&mut self) {
        let id = rustix::fs::fstat(io::stdin()).ok().map(|stat| (stat.st_dev, stat.st_ino));
        self.add(InputSource { path: PathBuf::from("-"), named: true, literal: true, kind: SourceKind::Stdin, id });
    }

    fn glob(&mut self, path: &Path) {
        let GlobMatches { mut paths, failures } = expand(path);
        if paths.is_empty() && failures.is_empty() {
            self.found.no_match.push(path.to_owned());
        }
        paths.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        for path in paths {
            self.visit(&path, InputOrigin::Glob);
        }
        for (folder, error) in failures {
            self.record_error(&folder, &error);
        }
    }

    /// Looks at something found, through symbolic links.
    fn visit(&mut self, path: &Path, by: InputOrigin) {
        match fs::metadata(path) {
            Ok(metadata) => self.classify(path, &metadata, by),
            // Either a link to nothing, or rotated away since its name was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.notice(format!("{} leads to nothing; passed over", path.display()));
            }
            Err(error) => self.record_error(path, &error),
        }
    }

    fn classify(&mut self, path: &Path, metadata: &Metadata, by: InputOrigin) {
        let (named, literal) = (by != InputOrigin::Folder, by == InputOrigin::Name);
        let id = Some((metadata.dev(), metadata.ino()));
        let kind = metadata.file_type();
        let may_be_pseudo = by != InputOrigin::Name || kind.is_dir();
        if may_be_pseudo && self.is_pseudo_file(path, metadata.dev()) {
            self.notice(format!("{} is made up by the kernel and no log; passed over", path.display()));
        } else if kind.is_dir() {
            self.folder(path, (metadata.dev(), metadata.ino()));
        } else if kind.is_file() {
            self.add(InputSource { path: path.to_owned(), named, literal, kind: SourceKind::File, id });
        } else if kind.is_fifo() && by == InputOrigin::Name {
            self.add(InputSource { path: path.to_owned(), named, literal, kind: SourceKind::Stream, id });
        } else if by == InputOrigin::Name {
            self.problem(path, format!("is {}, not a log", describe(kind)));
        } else {
            // Reading a pipe that nobody named could wait for ever.
            self.notice(format!("{} is {}; passed over", path.display(), describe(kind)));
        }
    }

    fn is_pseudo_file(&mut self, path: &Path, device: u64) -> bool {
        *self.pseudo_devices.entry(device).or_insert_with(|| is_on_pseudo_filesystem(path))
    }

    /// Goes down a folder. Its list is read and closed first, so that no depth costs descriptors.
    fn folder(&mut self, path: &Path, id: (u64, u64)) {
        if self.already_visited(path, id, "folder") {
            return;
        }
        let mut entries = match list(path) {
            Ok(entries) => entries,
            Err(error) => return self.record_error(path, &error),
        };
        entries.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        for entry in entries {
            self.visit(&entry, InputOrigin::Folder);
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

    /// Whether another name led here already; says so. Remembers this one if not.
    fn already_visited(&mut self, path: &Path, id: (u64, u64), what: &str) -> bool {
        let first = match self.visited.entry(id) {
            Entry::Occupied(first) => first,
            Entry::Vacant(free) => {
                free.insert(path.to_owned());
                return false;
            }
        };
        let notice = if first.get() == path {
            format!("{} was given more than once; read once", path.display())
        } else {
            format!("{} is the same {what} as {}; read once", path.display(), first.get().display())
        };
        self.notice(notice);
        true
    }

    fn record_error(&mut self, path: &Path, error: &io::Error) {
        let what = match error.kind() {
            io::ErrorKind::NotFound if path.is_symlink() => "is a link to nothing".to_owned(),
            io::ErrorKind::NotFound => "no such file".to_owned(),
            io::ErrorKind::PermissionDenied => describe_denied(path),
            _ => error.to_string(),
        };
        self.problem(path, what);
    }

    fn problem(&mut self, path: &Path, what: String) {
        self.found.problems.push(InputProblem { path: path.to_owned(), what });
    }

    fn notice(&mut self, notice: String) {
        self.found.notices.push(notice);
    }
}

fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// What is neither file nor folder, in words.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use tempfile::TempDir;

    /// A folder with these files.
    fn folder(files: &[&str]) -> TempDir {
        let folder = TempDir::new().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "line\n").unwrap();
        }
        folder
    }

    /// What was found, relative to `folder`.
    fn names(found: &FoundInputs, folder: &TempDir) -> Vec<String> {
        let name = |source: &InputSource| source.path.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_owned();
        found.sources.iter().map(name).collect()
    }

    fn mkfifo(path: &Path) {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    }

    #[test]
    fn a_folder_is_read_in_the_order_of_its_names() {
        let folder = folder(&["b/2.log", "a.log", "b/10.log", "B.log", ".hidden", "b.log"]);
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(names(&found, &folder), [".hidden", "B.log", "a.log", "b/10.log", "b/2.log", "b.log"]);
        assert!(found.sources.iter().all(|source| !source.named && source.kind == SourceKind::File && source.id.is_some()));
        assert_eq!((found.notices.len(), found.problems.len()), (0, 0));
    }

    #[test]
    fn files_of_the_kernel_are_read_only_by_name() {
        let folder = folder(&["a.log"]);
        symlink("/proc/kmsg", folder.path().join("b.log")).unwrap();
        symlink("/proc/self", folder.path().join("c")).unwrap();
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(names(&found, &folder), ["a.log"]);
        assert!(found.notices.len() == 2 && found.notices[0].ends_with("b.log is made up by the kernel and no log; passed over"));
        assert_eq!(find(&[PathBuf::from("/proc/self/maps")]).sources.len(), 1);
    }

    #[test]
    fn a_loop_of_links_ends() {
        let folder = folder(&["a.log"]);
        symlink(".", folder.path().join("loop")).unwrap();
        let found = find(&[folder.path().to_owned()]);
        assert_eq!(names(&found, &folder), ["a.log"]);
        assert!(found.notices[0].contains("is the same folder as"));
        assert!(found.problems.is_empty());
    }

    #[test]
    fn a_link_to_a_folder_is_followed() {
        let outside = folder(&["far.log"]);
        let inside = folder(&["near.log"]);
        symlink(outside.path(), inside.path().join("link")).unwrap();
        assert_eq!(names(&find(&[inside.path().to_owned()]), &inside), ["link/far.log", "near.log"]);
    }

    #[test]
    fn a_file_of_many_names_is_read_once() {
        let folder = folder(&["a.log"]);
        let [a, hard, soft] = ["a.log", "hard", "soft"].map(|name| folder.path().join(name));
        fs::hard_link(&a, &hard).unwrap();
        symlink(&a, &soft).unwrap();
        let found = find(&[soft.clone(), a.clone(), hard.clone(), soft.clone(), folder.path().to_owned()]);
        assert_eq!(found.sources.len(), 1);
        assert_eq!(found.sources[0].path, soft);
        assert_eq!(found.notices.len(), 6);
        assert_eq!(found.notices[0], format!("{} is the same file as {}; read once", a.display(), soft.display()));
        assert_eq!(found.notices[2], format!("{} was given more than once; read once", soft.display()));
    }

    #[test]
    fn globs_match_like_in_a_shell() {
        let folder = folder(&["b.log", "a.log", ".c.log", "d.txt", "deep/e.log", "[x].log"]);
        let found = find(&[folder.path().join("*.log"), folder.path().join("*.gz")]);
        assert_eq!(names(&found, &folder), ["[x].log", "a.log", "b.log"]);
        assert!(found.sources.iter().all(|source| source.named));
        assert_eq!(found.no_match, [folder.path().join("*.gz")]);
        // A name that exists is that name, whatever it looks like.
        assert_eq!(names(&find(&[folder.path().join("[x].log")]), &folder), ["[x].log"]);
    }

    #[test]
    fn only_a_named_pipe_that_was_named_is_read() {
        let folder = folder(&[]);
        let pipe = folder.path().join("pipe");
        mkfifo(&pipe);
        assert_eq!(find(std::slice::from_ref(&pipe)).sources[0].kind, SourceKind::Stream);
        for path in [folder.path().to_owned(), folder.path().join("p*")] {
            let found = find(&[path]);
            assert!(found.sources.is_empty() && found.problems.is_empty());
            assert!(found.notices[0].ends_with("pipe is a named pipe; passed over"));
        }
    }

    #[test]
    fn what_is_no_log_is_a_problem_if_named() {
        let folder = folder(&["a.log"]);
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        let gone = folder.path().join("gone");
        let dangling = folder.path().join("dangling");
        symlink("nowhere", &dangling).unwrap();
        let paths = ["/dev/null".into(), folder.path().join("socket"), gone, dangling, folder.path().join("a.log/b")];
        let problems: Vec<_> = find(&paths).problems.into_iter().map(|problem| problem.what).collect();
        assert_eq!(problems[..2], ["is a character device, not a log", "is a socket, not a log"]);
        assert_eq!(problems[2..4], ["no such file", "is a link to nothing"]);
        assert!(problems[4].contains("Not a directory"));
        let found = find(&[folder.path().to_owned()]);
        assert_eq!((found.sources.len(), found.notices.len(), found.problems.len()), (1, 2, 0));
    }

    #[test]
    fn names_may_hold_any_byte() {
        let folder = TempDir::new().unwrap();
        let name = OsStr::from_bytes(b"-rf\n\x1b[31m\xff.log");
        fs::write(folder.path().join(name), "").unwrap();
        let paths = [folder.path().to_owned(), folder.path().join("*.log")];
        let found = find(&paths);
        assert_eq!(found.sources[0].path.file_name(), Some(name));
        assert_eq!((found.notices.len(), found.no_match.len()), (1, 0));
    }

    #[test]
    fn standard_input_is_read_once() {
        let found = find(&["-".into(), "-".into()]);
        assert_eq!((found.sources.len(), found.notices.len()), (1, 1));
        assert_eq!((found.sources[0].kind, found.sources[0].named), (SourceKind::Stdin, true));
    }
}
