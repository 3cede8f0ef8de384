//! The files that hold what was written to a log: itself, and those it was rotated to, by their names.
//!
//! The log may be a pattern, and need not be there. Looks into folders and opens nothing else; in which order the files are
//! read is not its business.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use glob::Pattern;

use super::rotation_names::rank;
use super::wildcard::{GlobMatches, SHELL_OPTIONS, expand, is_pattern};

/// The files of a log, by the bytes of their names; none where its folder is not there.
///
/// # Errors
///
/// The system's, for a folder that cannot be looked into.
pub fn files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in folders(log)? {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let entries = match fs::read_dir(here) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => continue,
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            if is_log_or_rotated_name(log, name.as_bytes()) {
                files.push(folder.join(name));
            }
        }
    }
    files.sort_by(|a, b| a.as_os_str().as_bytes().cmp(b.as_os_str().as_bytes()));
    Ok(files)
}

/// Whether a file is this log or one that it was rotated to.
#[must_use]
pub fn belongs(log: &Path, file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return false };
    let home = log.parent().unwrap_or(Path::new(""));
    (folder == home || is_pattern(home) && matches(home.as_os_str().as_bytes(), folder.as_os_str().as_bytes()))
        && is_log_or_rotated_name(log, name.as_bytes())
}

/// The folders that a log may lie in.
fn folders(log: &Path) -> io::Result<Vec<PathBuf>> {
    let home = log.parent().unwrap_or(Path::new(""));
    if !is_pattern(home) || home.exists() {
        return Ok(vec![home.to_owned()]);
    }
    let GlobMatches { paths, failures } = expand(home);
    match failures.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(paths),
    }
}

fn is_log_or_rotated_name(log: &Path, name: &[u8]) -> bool {
    let base = log.file_name().map_or(&b""[..], OsStrExt::as_bytes);
    let rotated = || name.iter().enumerate().filter(|(_, byte)| b".-_".contains(byte)).map(|(at, _)| &name[..at]);
    name == base
        || rank(base, name).is_some()
        || is_pattern(Path::new(OsStr::from_bytes(base)))
            && (matches(base, name) || rotated().any(|stem| matches(base, stem) && rank(stem, name).is_some()))
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (pattern, text) = (String::from_utf8_lossy(pattern), String::from_utf8_lossy(text));
    Pattern::new(&pattern).is_ok_and(|pattern| pattern.matches_with(&text, SHELL_OPTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_and_what_it_was_rotated_to() {
        let folder = tempfile::tempdir().unwrap();
        let names =
            ["access.log", "access.log.1", "access.log.2.gz", "a.access.log", "a.access.log.1", "b.access.log-20261101.gz", "error.log"];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let of = |log: &str| -> Vec<String> {
            let log = folder.path().join(log);
            let files = files(&log).unwrap();
            assert!(files.iter().all(|file| belongs(&log, file)) && !belongs(&log, &folder.path().join("error.log")));
            files.iter().map(|file| file.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(of("access.log"), names[..3]);
        assert_eq!(of("*.access.log"), names[3..6]);
        assert!(of("gone.log").is_empty() && of("gone/access.log").is_empty());
        let parent = folder.path().parent().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let pattern = parent.join(format!("{}*/access.log", &name[..name.len() - 1]));
        assert!(files(&pattern).unwrap().contains(&folder.path().join("access.log.2.gz")));
        assert!(belongs(&pattern, &folder.path().join("access.log.1")) && !belongs(&pattern, &parent.join("access.log")));
    }
}
