//! Excludes files from what was found: files that are too old, and compressed files whose plain
//! text is read as well.
//!
//! Every exclusion is reported with the number of files and their names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::decompress::Decompressor;
use super::find::{FoundInputs, InputSource, SourceKind};
use super::magic::{self, HEAD};
use super::readers::PeekReader;
use super::rotation::{file_name_bytes, strip_compression_suffix};

/// Names that a notice lists before it counts the rest.
const MAX_NAMED: usize = 3;
/// Bytes compared at a time.
const BLOCK: usize = 64 << 10;

/// The earliest modification time of files that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewerThan {
    /// The value as it was typed: `2d`.
    pub as_typed: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub since: i64,
}

/// Removes files from `found` that were last modified before `newer`, and adds a notice. Pipes and
/// standard input have no modification time and stay.
pub(crate) fn exclude_older(found: &mut FoundInputs, newer: &NewerThan) {
    let is_older = |source: &InputSource| {
        source.kind == SourceKind::File && modified(source).is_some_and(|time| time < newer.since)
    };
    let (older, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut found.sources)
        .into_iter()
        .partition(is_older);
    found.sources = kept;
    found.excluded += older.len();
    if older.is_empty() {
        return;
    }
    let files = if older.len() == 1 { "file" } else { "files" };
    let all = if found.sources.is_empty() {
        "; no other file was found: choose a longer time to read them"
    } else {
        ""
    };
    found.notices.push(format!(
        "{} {files} older than {} left out: {}{all}",
        older.len(),
        newer.as_typed,
        names_of(&older)
    ));
}

/// The modification time, rounded up to a second, so that a file at the limit is read.
fn modified(source: &InputSource) -> Option<i64> {
    let metadata = fs::metadata(&source.path).ok()?;
    Some(
        metadata
            .mtime()
            .saturating_add(i64::from(metadata.mtime_nsec() > 0)),
    )
}

/// The first names, and how many more there are.
fn names_of(sources: &[InputSource]) -> String {
    let names: Vec<_> = sources
        .iter()
        .take(MAX_NAMED)
        .map(|source| source.path.display().to_string())
        .collect();
    match sources.len().saturating_sub(MAX_NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

/// Removes compressed files from `found` whose text is that of a plain file in it, and adds a
/// notice for each.
///
/// `gzip` and its like keep both files until they are done: a scan at that moment would count the
/// same lines twice. The name determines which uncompressed file to compare with; the texts decide.
pub(crate) fn exclude_compressed_copies(found: &mut FoundInputs) {
    let plain: HashSet<PathBuf> = found
        .sources
        .iter()
        .filter(|source| source.kind == SourceKind::File)
        .map(|source| source.path.clone())
        .collect();
    let plain_copy_of = |source: &InputSource| {
        let path = source
            .path
            .with_file_name(OsStr::from_bytes(strip_compression_suffix(
                &file_name_bytes(&source.path),
            )));
        let is_beside =
            source.kind == SourceKind::File && path != source.path && plain.contains(&path);
        (is_beside && is_compressed_copy(&path, &source.path).unwrap_or(false)).then_some(path)
    };
    let mut kept = Vec::with_capacity(found.sources.len());
    for source in std::mem::take(&mut found.sources) {
        match plain_copy_of(&source) {
            Some(plain) => found.notices.push(format!(
                "{} holds what {} holds; left out",
                source.path.display(),
                plain.display()
            )),
            None => kept.push(source),
        }
    }
    found.sources = kept;
}

/// Whether all that can be decompressed of a file is the start of a plain one.
fn is_compressed_copy(plain: &Path, compressed: &Path) -> io::Result<bool> {
    let mut plain = BufReader::with_capacity(BLOCK, File::open(plain)?);
    let source = PeekReader::new(File::open(compressed)?, HEAD);
    if source.head().is_empty() {
        // The compressor has not written anything yet.
        return Ok(true);
    }
    let Ok(Some(compression)) = magic::detect(source.head()) else {
        return Ok(false);
    };
    let mut text = Decompressor::new(BufReader::with_capacity(BLOCK, source), compression);
    let (mut here, mut there) = (vec![0; BLOCK], vec![0; BLOCK]);
    // A compressed file that ends early is still being written.
    while let Ok(read @ 1..) = text.read(&mut here) {
        match plain.read_exact(&mut there[..read]) {
            Ok(()) if here[..read] == there[..read] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::decompress::fixture::{COMPRESSIONS, compress};
    use crate::input::find::find;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn older_files_are_excluded_counted_and_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, seconds) in [
            ("a", 99),
            ("b", 100),
            ("c", 101),
            ("d", 5),
            ("e", 6),
            ("f", 7),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
                .unwrap();
        }
        let newer = |since| NewerThan {
            as_typed: "2d".to_owned(),
            since,
        };
        let left = |since| {
            let mut found = find(&[folder.path().to_owned(), "-".into()]);
            exclude_older(&mut found, &newer(since));
            (
                found.sources.len(),
                found.excluded,
                found
                    .notices
                    .join("")
                    .replace(&format!("{}/", folder.path().display()), ""),
            )
        };
        assert_eq!(left(0), (7, 0, String::new()));
        assert_eq!(
            left(6),
            (6, 1, "1 file older than 2d left out: d".to_owned())
        );
        assert_eq!(
            left(100),
            (
                3,
                4,
                "4 files older than 2d left out: a, d, e and 1 more".to_owned()
            )
        );
        let mut found = find(&[folder.path().to_owned()]);
        exclude_older(&mut found, &newer(1000));
        assert!(
            found.sources.is_empty()
                && found.notices[0].ends_with("choose a longer time to read them"),
            "{:?}",
            found.notices
        );
    }

    /// The names that stay, where `access.log.1` holds `plain` and the compressed file the first
    /// `halves` halves of the compressed `text`.
    fn kept_names(plain: &[u8], text: &[u8], halves: usize) -> Vec<String> {
        let mut all = COMPRESSIONS.map(|compression| {
            let folder = tempfile::tempdir().unwrap();
            let compressed = compress(compression, [text]);
            fs::write(folder.path().join("access.log.1"), plain).unwrap();
            fs::write(
                folder.path().join("access.log.1.gz"),
                &compressed[..compressed.len() * halves / 2],
            )
            .unwrap();
            let mut found = find(&[folder.path().to_owned()]);
            exclude_compressed_copies(&mut found);
            assert_eq!(found.notices.len(), 2 - found.sources.len());
            found
                .sources
                .iter()
                .map(|source| {
                    source
                        .path
                        .file_name()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned()
                })
                .collect::<Vec<_>>()
        });
        all.sort();
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0].clone()
    }

    #[test]
    fn a_compressed_copy_is_excluded_at_every_stage() {
        let text = b"one line of many\n".repeat(20_000);
        for halves in 0..=2 {
            assert_eq!(
                kept_names(&text, &text, halves),
                ["access.log.1"],
                "{halves}"
            );
        }
        // A line was appended after the compressor had read the file.
        assert_eq!(
            kept_names(&text, &text[..text.len() - 17], 2),
            ["access.log.1"]
        );
    }

    #[test]
    fn a_compressed_file_of_another_text_is_kept() {
        let text = b"one line of many\n".repeat(20_000);
        let more = [&text[..], b"one more\n"].concat();
        let other = [&text[..text.len() - 1], b"!"].concat();
        for compressed in [&more[..], &other, b"x\n"] {
            assert_eq!(
                kept_names(&text, compressed, 2),
                ["access.log.1", "access.log.1.gz"]
            );
        }
    }

    #[test]
    fn plain_files_and_files_without_a_plain_copy_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("a", "one\n"), ("a.gz", "one\n"), ("b.gz", "")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let mut found = find(&[folder.path().to_owned()]);
        exclude_compressed_copies(&mut found);
        assert_eq!((found.sources.len(), found.notices.len()), (3, 0));
    }
}
