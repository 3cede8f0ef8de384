//! Finds the paths that a pattern means, as a shell would: `*`, `?` and `[a-z]` within a name, `**` for any folders.
//!
//! The patterns are those of the `glob` crate. The walk is not: that one passes over names that are not UTF-8 without a
//! word, and a log of any name is to be read.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

/// `*` does not find hidden files.
pub(super) const SHELL_OPTIONS: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// What a pattern came to.
#[derive(Debug, Default)]
pub(super) struct GlobMatches {
    /// What exists and matches, in no order.
    pub(super) paths: Vec<PathBuf>,
    /// Folders that could not be looked into.
    pub(super) failures: Vec<(PathBuf, io::Error)>,
}

/// Whether `name` holds anything that a pattern is made of.
pub(super) fn is_pattern(name: &Path) -> bool {
    name.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// Whether `pattern` means `path`, there or not.
pub(super) fn pattern_matches(pattern: &Path, path: &Path) -> bool {
    is_pattern(pattern)
        && Pattern::new(&pattern.to_string_lossy()).is_ok_and(|pattern| pattern.matches_with(&path.to_string_lossy(), SHELL_OPTIONS))
}

/// Everything that `pattern` means.
pub(super) fn expand(pattern: &Path) -> GlobMatches {
    let mut matches = GlobMatches { paths: vec![PathBuf::new()], failures: Vec::new() };
    for component in pattern.components() {
        let folders = std::mem::take(&mut matches.paths);
        match component {
            Component::Normal(name) if name == "**" => {
                for folder in folders {
                    matches.descend(folder);
                }
            }
            Component::Normal(name) if is_pattern(name.as_ref()) => {
                // One that is none matches nothing.
                let Ok(pattern) = Pattern::new(&name.to_string_lossy()) else { break };
                for folder in &folders {
                    matches.add_matching(folder, &pattern);
                }
            }
            literal => matches.paths.extend(folders.into_iter().map(|folder| folder.join(literal))),
        }
    }
    matches.paths.retain(|path| path.symlink_metadata().is_ok());
    matches
}

impl GlobMatches {
    /// Adds what in `folder` matches.
    fn add_matching(&mut self, folder: &Path, pattern: &Pattern) {
        let names = self.list(folder);
        let chosen = names.iter().filter(|name| pattern.matches_with(&name.to_string_lossy(), SHELL_OPTIONS));
        self.paths.extend(chosen.map(|name| folder.join(name)));
    }

    /// Adds `folder` and every folder below it that is not hidden. Links are not followed, so there is an end.
    fn descend(&mut self, folder: PathBuf) {
        for name in self.list(&folder) {
            let below = folder.join(&name);
            let hidden = name.as_os_str().as_encoded_bytes().starts_with(b".");
            if !hidden && below.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                self.descend(below);
            }
        }
        self.paths.push(folder);
    }

    /// The names in `folder`; none where there is no such folder.
    fn list(&mut self, folder: &Path) -> Vec<PathBuf> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let names = fs::read_dir(here).and_then(|entries| entries.map(|entry| Ok(entry?.file_name().into())).collect());
        names.unwrap_or_else(|error| {
            if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) {
                self.failures.push((folder.to_owned(), error));
            }
            Vec::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn matches_names_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["a/x.log", "a/y.log", "a/.z.log", "b/x.log", "b/c/x.log", "d.log"] {
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
            let found: Vec<_> = matches.paths.iter().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
            assert_eq!((found, matches.failures.len()), (expected.iter().map(Path::new).collect(), 0), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_may_be_relative() {
        assert!(expand("Cargo.*".as_ref()).paths.contains(&"Cargo.toml".into()));
    }
}
