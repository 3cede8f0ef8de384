//! Expands globs as a shell does: `*`, `?` and `[a-z]` within a name, `**` for any number of
//! folders.
//!
//! Uses the patterns of the `glob` crate, but not its directory walk, which silently skips names
//! that are not UTF-8.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};
use rustix::fs::FileType;

use crate::os::system::list_folder;

/// Options of a shell: `*` does not match hidden files.
const SHELL_OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The result of expanding a glob.
#[derive(Debug, Default)]
pub(crate) struct GlobMatches {
    /// Existing paths that match, in no particular order.
    pub(crate) paths: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub(crate) failures: Vec<(PathBuf, io::Error)>,
}

/// Whether `name` contains glob characters.
pub(super) fn is_pattern(name: &Path) -> bool {
    name.as_os_str()
        .as_encoded_bytes()
        .iter()
        .any(|byte| b"*?[".contains(byte))
}

/// Whether the glob `pattern` matches `path`, which need not exist.
pub(super) fn pattern_matches(pattern: &Path, path: &Path) -> bool {
    is_pattern(pattern)
        && Pattern::new(&pattern.to_string_lossy())
            .is_ok_and(|pattern| pattern.matches_with(&path.to_string_lossy(), SHELL_OPTIONS))
}

/// All existing paths that match `pattern`.
pub(crate) fn expand(pattern: &Path) -> GlobMatches {
    let mut matches = GlobMatches {
        paths: vec![PathBuf::new()],
        failures: Vec::new(),
    };
    for component in pattern.components() {
        let folders = std::mem::take(&mut matches.paths);
        match component {
            Component::Normal(name) if name == "**" => {
                for folder in folders {
                    matches.descend(folder);
                }
            }
            Component::Normal(name) if is_pattern(name.as_ref()) => {
                // An invalid pattern matches nothing.
                let Ok(pattern) = Pattern::new(&name.to_string_lossy()) else {
                    break;
                };
                for folder in &folders {
                    matches.add_matching(folder, &pattern);
                }
            }
            literal => matches
                .paths
                .extend(folders.into_iter().map(|folder| folder.join(literal))),
        }
    }
    matches.paths.retain(|path| path.symlink_metadata().is_ok());
    matches
}

impl GlobMatches {
    /// Adds the entries of `folder` that match.
    fn add_matching(&mut self, folder: &Path, pattern: &Pattern) {
        let names = self.list(folder);
        let chosen = names
            .iter()
            .map(|(name, _)| name)
            .filter(|name| pattern.matches_with(&name.to_string_lossy(), SHELL_OPTIONS));
        self.paths.extend(chosen.map(|name| folder.join(name)));
    }

    /// Adds `folder` and all folders below it that are not hidden. Does not follow symbolic links,
    /// so it terminates.
    fn descend(&mut self, folder: PathBuf) {
        for (name, kind) in self.list(&folder) {
            if kind.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
                self.descend(folder.join(name));
            }
        }
        self.paths.push(folder);
    }

    /// The names in `folder`; empty if there is no such folder.
    fn list(&mut self, folder: &Path) -> Vec<(OsString, FileType)> {
        list_folder(folder).unwrap_or_else(|error| {
            if !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) {
                self.failures.push((folder.to_owned(), error));
            }
            Vec::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn matches_names_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        for path in [
            "a/x.log",
            "a/y.log",
            "a/.z.log",
            "b/x.log",
            "b/c/x.log",
            "d.log",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        symlink("..", folder.path().join("b/loop")).unwrap();
        for (pattern, expected) in [
            ("*.log", &["d.log"][..]),
            ("*/x.log", &["a/x.log", "b/x.log"]),
            ("[a-b]/?.log", &["a/x.log", "a/y.log", "b/x.log"]),
            ("a/.*.log", &["a/.z.log"]),
            ("**/x.log", &["a/x.log", "b/c/x.log", "b/x.log"]),
            ("*/x.log/*", &[]),
            ("gone/*", &[]),
            ("[", &[]),
        ] {
            let mut matches = expand(&folder.path().join(pattern));
            matches.paths.sort();
            let found: Vec<_> = matches
                .paths
                .iter()
                .map(|path| path.strip_prefix(folder.path()).unwrap())
                .collect();
            assert_eq!(
                (found, matches.failures.len()),
                (expected.iter().map(Path::new).collect(), 0),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_relative_pattern_works() {
        assert!(
            expand("Cargo.*".as_ref())
                .paths
                .contains(&"Cargo.toml".into())
        );
    }
}
