//! Files of a configuration: reads them whole, and finds those that an include means.
//!
//! Knows no directive. A file may have any bytes, but not any size, and includes may not go round in a circle.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use glob::MatchOptions;

/// Bytes that a file may have: lists of a million addresses are a tenth of it.
const MAX_BYTES: u64 = 256 << 20;

/// Includes in includes. Servers themselves stop at 128 or when descriptors are used up.
pub(super) const MAX_DEPTH: usize = 32;

/// As glob(3), which both servers follow: `*` finds no hidden file and no folder's separator.
const LIKE_A_SERVER: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// The folder of a file, from the root on: relative names in a configuration do not start where we do.
pub(super) fn folder(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path);
    whole.as_deref().unwrap_or(path).parent().unwrap_or(Path::new("")).to_owned()
}

/// The text of a file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if path.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    let read = File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut text)? as u64;
    if read > MAX_BYTES {
        return Err(io::Error::other("it is larger than 256 MiB, too large for a configuration"));
    }
    Ok(text)
}

/// Whether a name is a pattern to a server.
pub(super) fn is_pattern(name: &[u8]) -> bool {
    name.iter().any(|byte| b"*?[".contains(byte))
}

/// The files that a pattern means, in the order of their names; none whose name is not UTF-8.
pub(super) fn matching(pattern: &Path) -> Vec<PathBuf> {
    let found = glob::glob_with(&pattern.to_string_lossy(), LIKE_A_SERVER).into_iter().flatten();
    let mut paths: Vec<PathBuf> = found.filter_map(Result::ok).collect();
    paths.sort();
    paths
}

/// All files in a folder and below it, in the order of their names.
pub(super) fn files_recursive(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    descend(folder, MAX_DEPTH, &mut files)?;
    Ok(files)
}

fn descend(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if !path.is_dir() {
            files.push(path);
        } else if depth > 0 {
            descend(&path, depth - 1, files)?;
        }
    }
    Ok(())
}
