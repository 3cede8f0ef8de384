//! Rotated files: recognizes them by their names, sorts them by the age in their names, and lists
//! the files of a log.
//!
//! Recognizes the names that logrotate and similar tools give: a number, a date, or `old`,
//! compressed or not. Names only select candidates; the content decides. A log follows the files
//! that it was rotated to, oldest first; the order does not depend on when files were touched or
//! copied, and other inputs keep their position. A log may be a glob and need not exist. Only
//! folders are read.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::find::{InputSource, SourceKind};
use super::wildcard::{GlobMatches, expand, is_pattern, pattern_matches};
use crate::os::atomic_file::folder_of;
use crate::os::system::list_folder;

/// File name suffixes of compressed files.
const COMPRESSED_SUFFIXES: [&[u8]; 5] = [b".gz", b".bz2", b".xz", b".zst", b".Z"];

/// The age of a rotated file according to its name, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RotationRank {
    /// A date or a time, as in the name.
    Date(Vec<u8>),
    /// A number that increases with every rotation.
    Index(Reverse<u32>),
}

impl RotationRank {
    /// The number in the name, if it has one that increases with every rotation.
    pub(super) fn index(&self) -> Option<u32> {
        match self {
            Self::Index(Reverse(index)) => Some(*index),
            Self::Date(_) => None,
        }
    }

    /// Whether both have a number and this one is older.
    pub(super) fn is_older(&self, other: &Self) -> bool {
        self.index()
            .zip(other.index())
            .is_some_and(|(mine, other)| mine > other)
    }
}

/// The rank of the file `name` among the rotated files of the log `base`; `None` if it is not one.
pub(super) fn rank(base: &[u8], name: &[u8]) -> Option<RotationRank> {
    let plain = strip_compression_suffix(name);
    if plain == base {
        return (name != base).then_some(RotationRank::Index(Reverse(0)));
    }
    if let Some(suffix) = plain.strip_prefix(base) {
        return rank_of_suffix(suffix);
    }
    let dot = base
        .iter()
        .rposition(|&byte| byte == b'.')
        .filter(|&dot| dot > 0)?;
    let (stem, ending) = base.split_at(dot);
    let between = plain.strip_prefix(stem)?.strip_suffix(ending)?;
    // Before the extension, a short number after a hyphen or a long one after a dot more likely
    // belongs to another log's name.
    let digits = between.iter().filter(|byte| byte.is_ascii_digit()).count();
    let usual = digits >= 6 || digits <= 3 && between.starts_with(b".");
    rank_of_suffix(between).filter(|_| usual)
}

/// The names that the log of a rotated file `name` may have, with the rank of the file, most likely
/// first.
pub(super) fn bases(name: &[u8]) -> impl Iterator<Item = (Vec<u8>, RotationRank)> {
    let plain = strip_compression_suffix(name);
    let stems = || (1..name.len()).filter(|&at| b".-_".contains(&name[at]));
    let endings = move |stem: usize| {
        (stem + 1..plain.len())
            .filter(|&at| plain[at] == b'.')
            .map(|at| &plain[at..])
    };
    let within =
        stems().flat_map(move |at| endings(at).map(move |ending| [&name[..at], ending].concat()));
    // The last candidate is a file that was compressed but not renamed.
    let stems = stems()
        .filter(|&at| at < plain.len())
        .map(|at| name[..at].to_vec());
    let candidates = stems.chain(within).chain([plain.to_vec()]);
    candidates.filter_map(move |base| rank(&base, name).map(|rank| (base, rank)))
}

/// Whether one name extends the other, at its end or before its extension. Such files more likely
/// hold the same text than two with the same start.
pub(super) fn is_name_variant(one: &[u8], other: &[u8]) -> bool {
    let (base, name) = if one.len() <= other.len() {
        (one, strip_compression_suffix(other))
    } else {
        (other, strip_compression_suffix(one))
    };
    let dot = base
        .iter()
        .rposition(|&byte| byte == b'.')
        .filter(|&dot| dot > 0)
        .unwrap_or(base.len());
    let (stem, ending) = base.split_at(dot);
    let is_added = |rest: &[u8]| {
        rest.first()
            .is_none_or(|byte| !byte.is_ascii_alphanumeric())
    };
    name.strip_prefix(base).is_some_and(is_added)
        || name
            .strip_prefix(stem)
            .and_then(|rest| rest.strip_suffix(ending))
            .is_some_and(is_added)
}

/// For each byte of the path of a file, whether it is a digit of a date or a time: in a group of
/// six digits or more, as in `access.20261125`, which in the name of a folder are a possible date
/// or the time after one, or in groups with one byte between them, the first of four digits and the
/// others of two, as in `2026/11/25/access.log`. If there is none, of the last running number in
/// its name: three digits or more, the first a zero, as in `access-0012.log`. Any other number may
/// be a port, or belong to the name of another log.
pub(super) fn sequence_digits(path: &[u8]) -> Vec<bool> {
    let mut is_date = vec![false; path.len()];
    let mut date_ends_at = None;
    let mut start = 0;
    let name_at = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    for group in path.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()) {
        let end = start + group.len();
        if group[0].is_ascii_digit() {
            let continues =
                matches!(group.len(), 2 | 6) && date_ends_at.is_some_and(|end| end + 1 == start);
            let begins = group.len() == 4
                && path
                    .get(end + 1..end + 3)
                    .is_some_and(|month| month.iter().all(u8::is_ascii_digit));
            if group.len() >= 6 && (start >= name_at || is_date_like(group, date_ends_at.is_some()))
                || begins
                || continues
            {
                is_date[start..end].fill(true);
                date_ends_at = Some(end);
            }
        }
        start = end;
    }
    if !is_date.contains(&true) {
        let end = path
            .iter()
            .rposition(u8::is_ascii_digit)
            .map_or(0, |last| last + 1);
        let start = path[..end]
            .iter()
            .rposition(|byte| !byte.is_ascii_digit())
            .map_or(0, |before| before + 1);
        let is_in_name = !path[end..].contains(&b'/');
        if is_in_name && end - start >= 3 && path[start] == b'0' {
            is_date[start..end].fill(true);
        }
    }
    is_date
}

/// Whether at least six digits of a folder's name can be a date, perhaps with a time: of the years
/// from 1900 to 2099 as in `202611` and `20261125`, the seconds since 1970, or, below a folder with
/// a date, as in `261125`. Other numbers are those of customers and sites: a number of six digits
/// is a day of some century too often.
fn is_date_like(digits: &[u8], is_below_date: bool) -> bool {
    let number = |at: usize| {
        digits
            .get(at..at + 2)
            .map(|two| (two[0] - b'0') * 10 + (two[1] - b'0'))
    };
    let is_day = |at: usize| {
        matches!(number(at), Some(1..=12)) && matches!(number(at + 2), None | Some(1..=31))
    };
    let has_century = matches!(number(0), Some(19 | 20));
    has_century && is_day(4)
        || is_below_date && digits.len() == 6 && is_day(2)
        || digits.len() >= 10 && digits[0] == b'1'
}

/// The rank of a suffix such as `.1`, `-20261101` or `.old`.
fn rank_of_suffix(suffix: &[u8]) -> Option<RotationRank> {
    let (separator, rest) = without_backup_suffix(suffix).split_first()?;
    if !b".-_".contains(separator) {
        return None;
    }
    if rest == b"old" {
        return Some(RotationRank::Index(Reverse(1)));
    }
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0
        || !rest
            .iter()
            .all(|byte| byte.is_ascii_digit() || b".-_:T".contains(byte))
    {
        return None;
    }
    let index = std::str::from_utf8(rest)
        .ok()
        .filter(|_| digits <= 5)
        .and_then(|rest| rest.parse().ok());
    Some(index.map_or_else(
        || RotationRank::Date(rest.to_vec()),
        |index| RotationRank::Index(Reverse(index)),
    ))
}

/// A name without what logrotate adds to a file whose name it needs for another one:
/// `-2026110100.backup`.
fn without_backup_suffix(name: &[u8]) -> &[u8] {
    let stem = name
        .strip_suffix(b".backup")
        .and_then(|stem| stem.split_last_chunk::<11>());
    stem.filter(|(_, [hyphen, time @ ..])| *hyphen == b'-' && time.iter().all(u8::is_ascii_digit))
        .map_or(name, |(stem, _)| stem)
}

/// The names of a file after it was compressed.
pub(super) fn compressed_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    COMPRESSED_SUFFIXES.iter().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(OsStr::from_bytes(suffix));
        name.into()
    })
}

/// A file name without its compression suffix.
pub(super) fn strip_compression_suffix(name: &[u8]) -> &[u8] {
    COMPRESSED_SUFFIXES
        .iter()
        .find_map(|ending| name.strip_suffix(*ending))
        .unwrap_or(name)
}

/// A path without its compression suffix.
pub(super) fn path_without_compression_suffix(path: &Path) -> PathBuf {
    path.with_file_name(OsStr::from_bytes(strip_compression_suffix(
        &file_name_bytes(path),
    )))
}

/// Whether a file name has a compression suffix.
pub(super) fn has_compression_suffix(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    strip_compression_suffix(name).len() < name.len()
}

/// The folder of a path; `.` for a bare name.
pub(super) fn parent_folder(path: &Path) -> PathBuf {
    folder_of(path).to_owned()
}

/// The file name of a path as bytes.
pub(super) fn file_name_bytes(path: &Path) -> Vec<u8> {
    path.file_name()
        .map_or_else(Vec::new, |name| name.as_bytes().to_vec())
}

/// A larger number after a name is a port or a process ID, not a rotation index.
const MAX_ROTATION_INDEX: u32 = 999;

/// A file and the log that it belongs to.
struct RotationMember {
    /// The path of the log, which need not exist.
    log: PathBuf,
    /// Its age; `None` for the log itself, which is the youngest.
    rank: Option<RotationRank>,
}

/// Sorts each log after its rotated files, oldest first. The group takes the position of its first
/// member.
pub(crate) fn sort_by_age(sources: &mut Vec<InputSource>) {
    let members = members(sources);
    let mut first: HashMap<&Path, usize> = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        if let Some(member) = member {
            first.entry(&member.log).or_insert(index);
        }
    }
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_cached_key(|&index| match &members[index] {
        // Both the plain and the compressed file exist while a file is being compressed.
        Some(RotationMember { log, rank }) => (
            first[log.as_path()],
            rank.is_none(),
            rank.clone(),
            file_name_bytes(&sources[index].path),
            index,
        ),
        None => (index, false, None, Vec::new(), index),
    });
    let mut old: Vec<_> = std::mem::take(sources).into_iter().map(Some).collect();
    sources.extend(order.into_iter().filter_map(|index| old[index].take()));
}

/// For each source, whether another source belongs to the same log.
#[must_use]
pub(crate) fn has_rotated_siblings(sources: &[InputSource]) -> Vec<bool> {
    let members = members(sources);
    let mut counts: HashMap<&Path, usize> = HashMap::new();
    for member in members.iter().flatten() {
        *counts.entry(&member.log).or_default() += 1;
    }
    members
        .iter()
        .map(|member| {
            member
                .as_ref()
                .is_some_and(|member| counts[member.log.as_path()] > 1)
        })
        .collect()
}

/// The log that each source belongs to; `None` for a source that is not a file.
fn members(sources: &[InputSource]) -> Vec<Option<RotationMember>> {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut paths = Vec::with_capacity(sources.len());
    for source in sources {
        let name = source
            .path
            .file_name()
            .filter(|_| source.kind == SourceKind::File);
        // A folder may be spelled in two ways.
        let folder = folders
            .entry(parent_folder(&source.path))
            .or_insert_with_key(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        paths.push(name.map(|name| folder.join(name)));
    }
    let indexes: HashMap<&Path, usize> = paths
        .iter()
        .enumerate()
        .filter_map(|(index, path)| Some((path.as_deref()?, index)))
        .collect();
    paths
        .iter()
        .map(|path| path.as_ref().map(|path| member(path, &indexes)))
        .collect()
}

fn member(path: &Path, indexes: &HashMap<&Path, usize>) -> RotationMember {
    let mut log = path.to_owned();
    let mut step = None;
    while let Some((base, rank)) = listed_base(&log, indexes) {
        log = base;
        step.get_or_insert(rank);
    }
    // The log itself may not be among the inputs.
    if let Some((base, rank)) = possible_bases(&log).into_iter().next() {
        log.set_file_name(OsStr::from_bytes(&base));
        step.get_or_insert(rank);
    }
    let rank = rank(&file_name_bytes(&log), &file_name_bytes(path)).or(step);
    RotationMember { log, rank }
}

/// The log among `indexes` that a file was rotated from. With `olddir`, it is in the parent folder.
fn listed_base(path: &Path, indexes: &HashMap<&Path, usize>) -> Option<(PathBuf, RotationRank)> {
    let folders = path.ancestors().skip(1).take(2);
    let listed_in = |folder: &Path| {
        let mut logs = possible_bases(path)
            .into_iter()
            .map(|(base, rank)| (folder.join(OsStr::from_bytes(&base)), rank));
        logs.find(|(log, _)| indexes.contains_key(log.as_path()))
    };
    folders.into_iter().find_map(listed_in)
}

/// Possible names of the log that a file was rotated from.
fn possible_bases(path: &Path) -> Vec<(Vec<u8>, RotationRank)> {
    bases(&file_name_bytes(path))
        .filter(|(_, rank)| rank.index().is_none_or(|index| index <= MAX_ROTATION_INDEX))
        .collect()
}

/// The files of a log in byte order of their names; empty if its folder does not exist.
///
/// # Errors
///
/// A folder cannot be listed.
pub(crate) fn rotated_files(log: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in folders(log)? {
        let entries = match list_folder(&folder) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                continue;
            }
            entries => entries?,
        };
        for (name, _) in entries {
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
pub(crate) fn belongs_to_log(log: &Path, file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else {
        return false;
    };
    let home = log.parent().unwrap_or(Path::new(""));
    (folder == home || pattern_matches(home, folder))
        && is_log_or_rotated_name(log, name.as_bytes())
}

/// The folders that the log may be in.
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
    let rotated = || {
        name.iter()
            .enumerate()
            .filter(|(_, byte)| b".-_".contains(byte))
            .map(|(at, _)| &name[..at])
    };
    let matches = |name| {
        pattern_matches(
            Path::new(OsStr::from_bytes(base)),
            Path::new(OsStr::from_bytes(name)),
        )
    };
    name == base
        || rank(base, name).is_some()
        || matches(name)
        || rotated().any(|stem| matches(stem) && rank(stem, name).is_some())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::input::find::InputOrigin;

    #[test]
    fn rotated_names_are_known() {
        for name in [
            "access.log.1",
            "access.log.2.gz",
            "access.log.12.zst",
            "access.log-20261101",
            "access.log-20261101.gz",
            "access.log-2026-11-01_00-00-00",
            "access.log.old",
            "access.log.gz",
            "access-20261101.log",
            "access-20261101.log.gz",
            "access.1.log",
            "access.log_20261101T000000",
            "access.log.1-2026110100.backup.xz",
        ] {
            assert!(rank(b"access.log", name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn names_of_other_logs_are_not_rotated_names() {
        for name in [
            "access.log",
            "access.log.vhost1",
            "access.log2",
            "access-2.log",
            "access.8080.log",
            "error.log.1",
            "access.log.",
            "x",
            ".log",
        ] {
            assert_eq!(rank(b"access.log", name.as_bytes()), None, "{name}");
        }
        assert_eq!(rank(b".log", b"access.log"), None);
    }

    #[test]
    fn digits_of_dates_and_running_numbers_are_found() {
        let marked = |path: &str| {
            let digits = sequence_digits(path.as_bytes());
            path.bytes()
                .zip(digits)
                .map(|(byte, is_date)| if is_date { 'D' } else { char::from(byte) })
                .collect::<String>()
        };
        for (path, expected) in [
            ("/log/access.20261125", "/log/access.DDDDDDDD"),
            ("/log/2026/11/25/access.log", "/log/DDDD/DD/DD/access.log"),
            ("access-2026-11-25_10.log", "access-DDDD-DD-DD_DD.log"),
            ("web12/access-20261125.log", "web12/access-DDDDDDDD.log"),
            ("12-20261125", "12-DDDDDDDD"),
            ("/log/0001/web3-0012.log", "/log/0001/web3-DDDD.log"),
            // In the names of folders, numbers of customers are no dates.
            (
                "/vhosts/100234/access-0012.log",
                "/vhosts/100234/access-DDDD.log",
            ),
            (
                "/vhosts/100234/20261125/access.log",
                "/vhosts/100234/DDDDDDDD/access.log",
            ),
            (
                "/vhosts/100234/access-100234.log",
                "/vhosts/100234/access-DDDDDD.log",
            ),
            ("/vhosts/120115/access.log", "/vhosts/120115/access.log"),
            (
                "/vhosts/120115/access-0012.log",
                "/vhosts/120115/access-DDDD.log",
            ),
            (
                "/log/20261125-235959/access.log",
                "/log/DDDDDDDD-DDDDDD/access.log",
            ),
            (
                "/log/202611/261125/1795000000/access.log",
                "/log/DDDDDD/DDDDDD/DDDDDDDDDD/access.log",
            ),
            ("web-012-3.log", "web-012-3.log"),
            ("access.log.1", "access.log.1"),
            ("vhost2/access-8080.log", "vhost2/access-8080.log"),
            ("2026", "2026"),
            ("", ""),
        ] {
            assert_eq!(marked(path), expected);
        }
    }

    #[test]
    fn a_name_that_extends_another_is_its_variant() {
        for name in [
            "access.log.away",
            "access.log~",
            "access.log-backup.gz",
            "access-1.log",
            "access.log.1-2026112223.backup",
            "access.log",
        ] {
            assert!(
                is_name_variant(b"access.log", name.as_bytes())
                    && is_name_variant(name.as_bytes(), b"access.log"),
                "{name}"
            );
        }
        for name in [
            "old.log",
            "access2.log",
            "accesses.log",
            "a.access.log",
            "error.log",
        ] {
            assert!(
                !is_name_variant(b"access.log", name.as_bytes())
                    && !is_name_variant(name.as_bytes(), b"access.log"),
                "{name}"
            );
        }
    }

    #[test]
    fn the_log_is_found_from_the_name_of_a_rotated_file() {
        let base = |name: &str| {
            bases(name.as_bytes())
                .next()
                .map(|(base, _)| String::from_utf8(base).unwrap())
        };
        for name in [
            "access.log.1",
            "access.log.2.gz",
            "access.log-2026-11-01",
            "access-20261101.log",
            "access-20261101.log.xz",
        ] {
            assert_eq!(base(name).as_deref(), Some("access.log"), "{name}");
        }
        for name in [
            "access.log",
            "2026-11-01.log",
            "site-1.log",
            "u_ex261101.log",
            "",
            "-",
            ".1",
        ] {
            assert_eq!(base(name), None, "{name}");
        }
    }

    #[test]
    fn the_oldest_comes_first() {
        let mut names = [
            "a.log.1",
            "a.log.10.gz",
            "a.log-20261101",
            "a.log.2.gz",
            "a.log-20261030.gz",
        ];
        names.sort_by_key(|name| rank(b"a.log", name.as_bytes()));
        assert_eq!(
            names,
            [
                "a.log-20261030.gz",
                "a.log-20261101",
                "a.log.10.gz",
                "a.log.2.gz",
                "a.log.1"
            ]
        );
    }

    fn sources(paths: &[&str]) -> Vec<InputSource> {
        let kind = |path: &str| {
            if path == "-" {
                SourceKind::Stdin
            } else {
                SourceKind::File
            }
        };
        paths
            .iter()
            .map(|path| InputSource {
                path: path.into(),
                origin: InputOrigin::Name,
                kind: kind(path),
                id: None,
            })
            .collect()
    }

    fn ordered(paths: &[&str]) -> Vec<String> {
        let mut sources = sources(paths);
        sort_by_age(&mut sources);
        sources
            .iter()
            .map(|source| source.path.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_log_follows_its_rotated_files() {
        let names = [
            "access.log",
            "access.log.1",
            "access.log.10.gz",
            "access.log.2.gz",
            "error.log",
            "error.log.1",
        ];
        assert_eq!(
            ordered(&names),
            [
                "access.log.10.gz",
                "access.log.2.gz",
                "access.log.1",
                "access.log",
                "error.log.1",
                "error.log"
            ]
        );
        let dated = [
            "access.log",
            "access.log-20261101.gz",
            "access.log-20261030.gz",
            "access.log-20261102",
        ];
        assert_eq!(
            ordered(&dated),
            [
                "access.log-20261030.gz",
                "access.log-20261101.gz",
                "access.log-20261102",
                "access.log"
            ]
        );
        let within = [
            "access-20261101.log",
            "access-20261030.log.xz",
            "access.log",
        ];
        assert_eq!(
            ordered(&within),
            [
                "access-20261030.log.xz",
                "access-20261101.log",
                "access.log"
            ]
        );
    }

    #[test]
    fn rotated_files_without_their_log_are_sorted_too() {
        assert_eq!(
            ordered(&["a.log.1", "a.log.2.gz", "a.log.11.gz"]),
            ["a.log.11.gz", "a.log.2.gz", "a.log.1"]
        );
        assert_eq!(
            ordered(&["a.log-2026-11-30", "a.log-2026-11-02"]),
            ["a.log-2026-11-02", "a.log-2026-11-30"]
        );
        assert_eq!(
            ordered(&["a-20261102.log", "a-20261101.log.gz", "x"]),
            ["a-20261101.log.gz", "a-20261102.log", "x"]
        );
        assert_eq!(
            ordered(&["a.log.1.gz", "a.log.1", "a.log.2"]),
            ["a.log.2", "a.log.1", "a.log.1.gz"]
        );
    }

    #[test]
    fn a_group_takes_the_position_of_its_first_member() {
        assert_eq!(
            ordered(&["b.log", "x.log", "-", "a.log", "b.log.1"]),
            ["b.log.1", "b.log", "x.log", "-", "a.log"]
        );
        let none = [
            "z.log",
            "y-2.log",
            "y-1.log",
            "y.8080.log",
            "y.log.8080",
            "b/a.log",
            "a/a.log.1",
        ];
        assert_eq!(ordered(&none), none);
    }

    #[test]
    fn files_in_olddir_belong_to_the_log_in_the_parent_folder() {
        assert_eq!(
            ordered(&["l/a.log", "l/b.log", "l/old/a.log.1", "l/old/a.log.2"]),
            ["l/old/a.log.2", "l/old/a.log.1", "l/a.log", "l/b.log"]
        );
        let own = ["l/a.log", "l/b.log", "l/old/a.log", "l/old/a.log.1"];
        assert_eq!(
            ordered(&own),
            ["l/a.log", "l/b.log", "l/old/a.log.1", "l/old/a.log"]
        );
    }

    #[test]
    fn siblings_are_files_of_the_same_log() {
        assert_eq!(
            has_rotated_siblings(&sources(&["a.log", "./a.log.1", "b.log", "-", "-"])),
            [true, true, false, false, false]
        );
    }

    proptest! {
        /// An index by base finds what a comparison of each log with each file finds.
        #[test]
        fn the_bases_of_a_name_are_the_logs_that_it_may_be_of(
            stem in "[ab._-]{1,4}",
            ending in "(\\.log)?",
            suffix in "([._-]([0-9T-]{1,9}|old|[ab]))?(\\.gz)?",
            is_before_ending in any::<bool>(),
        ) {
            let base = [&*stem, &*ending].concat();
            let name = if is_before_ending { [&*stem, &*suffix, &*ending].concat() } else { [&*base, &*suffix].concat() };
            let is_base = bases(name.as_bytes()).any(|(found, _)| found == base.as_bytes());
            prop_assert_eq!(is_base, rank(base.as_bytes(), name.as_bytes()).is_some());
        }

        #[test]
        fn sorting_keeps_all_inputs_and_is_idempotent(
            names in prop::collection::vec("(a|b)(\\.log)?([.-](1|2|11|20261101|old))?(\\.gz)?|-|[a1.-]{1,6}", 0..12)
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let once = ordered(&names);
            let again: Vec<&str> = once.iter().map(String::as_str).collect();
            prop_assert_eq!(ordered(&again), once.clone());
            let (mut before, mut after) = (names, again);
            before.sort_unstable();
            after.sort_unstable();
            prop_assert_eq!(before, after);
        }
    }

    #[test]
    fn a_log_and_what_it_was_rotated_to() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "access.log",
            "access.log.1",
            "access.log.2.gz",
            "a.access.log",
            "a.access.log.1",
            "b.access.log-20261101.gz",
            "error.log",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let of = |log: &str| -> Vec<String> {
            let log = folder.path().join(log);
            let files = rotated_files(&log).unwrap();
            assert!(
                files.iter().all(|file| belongs_to_log(&log, file))
                    && !belongs_to_log(&log, &folder.path().join("error.log"))
            );
            files
                .iter()
                .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(of("access.log"), names[..3]);
        assert_eq!(of("*.access.log"), names[3..6]);
        assert!(of("gone.log").is_empty() && of("gone/access.log").is_empty());
        let parent = folder.path().parent().unwrap();
        let name = folder.path().file_name().unwrap().to_str().unwrap();
        let pattern = parent.join(format!("{}*/access.log", &name[..name.len() - 1]));
        assert!(
            rotated_files(&pattern)
                .unwrap()
                .contains(&folder.path().join("access.log.2.gz"))
        );
        assert!(
            belongs_to_log(&pattern, &folder.path().join("access.log.1"))
                && !belongs_to_log(&pattern, &parent.join("access.log"))
        );
    }
}
