//! Tells by their names which files a log was rotated to, and which of them is older.
//!
//! Knows the names that logrotate and its like give: a number, a date, `old`, packed or not. A name only says where to
//! look; what a file is, its text decides.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Endings that packing gives.
const COMPRESSED_SUFFIXES: [&[u8]; 5] = [b".gz", b".bz2", b".xz", b".zst", b".Z"];

/// How old a rotated file is by its name: the oldest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::input) enum RotationRank {
    /// A date or a time, as it is written.
    Date(Vec<u8>),
    /// A number that grows with every rotation.
    Index(Reverse<u32>),
}

impl RotationRank {
    /// The number in the name, where it has one that grows with every rotation.
    pub(in crate::input) fn index(&self) -> Option<u32> {
        match self {
            Self::Index(Reverse(index)) => Some(*index),
            Self::Date(_) => None,
        }
    }

    /// Whether both have a number, and this one is the older.
    pub(super) fn is_older(&self, other: &Self) -> bool {
        self.index().zip(other.index()).is_some_and(|(mine, other)| mine > other)
    }
}

/// The rank of the file called `name` among those that a log called `base` was rotated to; `None` if it is none.
pub(in crate::input) fn rank(base: &[u8], name: &[u8]) -> Option<RotationRank> {
    let plain = strip_compression_suffix(name);
    if plain == base {
        return (name != base).then_some(RotationRank::Index(Reverse(0)));
    }
    if let Some(suffix) = plain.strip_prefix(base) {
        return rank_of_suffix(suffix);
    }
    let dot = base.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    let (stem, ending) = base.split_at(dot);
    let between = plain.strip_prefix(stem)?.strip_suffix(ending)?;
    // Before the ending a short number behind a hyphen, or a long one behind a dot, more likely names another log.
    let digits = between.iter().filter(|byte| byte.is_ascii_digit()).count();
    let usual = digits >= 6 || digits <= 3 && between.starts_with(b".");
    rank_of_suffix(between).filter(|_| usual)
}

/// The names that a log may have which was rotated to a file called `name`, and the ranks they give it: the
/// likeliest first.
pub(in crate::input) fn bases(name: &[u8]) -> impl Iterator<Item = (Vec<u8>, RotationRank)> {
    let plain = strip_compression_suffix(name);
    let stems = || (1..name.len()).filter(|&at| b".-_".contains(&name[at]));
    let endings = move |stem: usize| (stem + 1..plain.len()).filter(|&at| plain[at] == b'.').map(|at| &plain[at..]);
    let within = stems().flat_map(move |at| endings(at).map(move |ending| [&name[..at], ending].concat()));
    // Last what may have been packed and nothing else.
    let stems = stems().filter(|&at| at < plain.len()).map(|at| name[..at].to_vec());
    let candidates = stems.chain(within).chain([plain.to_vec()]);
    candidates.filter_map(move |base| rank(&base, name).map(|rank| (base, rank)))
}

/// Whether a name is made of another one by adding to it, behind it or before its ending, so that a short text in both is
/// more likely one than two.
pub(super) fn is_name_variant(one: &[u8], other: &[u8]) -> bool {
    let (base, name) =
        if one.len() <= other.len() { (one, strip_compression_suffix(other)) } else { (other, strip_compression_suffix(one)) };
    let dot = base.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0).unwrap_or(base.len());
    let (stem, ending) = base.split_at(dot);
    let is_added = |rest: &[u8]| rest.first().is_none_or(|byte| !byte.is_ascii_alphanumeric());
    name.strip_prefix(base).is_some_and(is_added)
        || name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(ending)).is_some_and(is_added)
}

/// The rank that `.1`, `-20261101` or `.old` gives.
fn rank_of_suffix(suffix: &[u8]) -> Option<RotationRank> {
    let (separator, rest) = suffix.split_first()?;
    if !b".-_".contains(separator) {
        return None;
    }
    if rest == b"old" {
        return Some(RotationRank::Index(Reverse(1)));
    }
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || !rest.iter().all(|byte| byte.is_ascii_digit() || b".-_:T".contains(byte)) {
        return None;
    }
    let index = std::str::from_utf8(rest).ok().filter(|_| digits <= 5).and_then(|rest| rest.parse().ok());
    Some(index.map_or_else(|| RotationRank::Date(rest.to_vec()), |index| RotationRank::Index(Reverse(index))))
}

/// A name without the ending that packing gave it.
pub(in crate::input) fn strip_compression_suffix(name: &[u8]) -> &[u8] {
    COMPRESSED_SUFFIXES.iter().find_map(|ending| name.strip_suffix(*ending)).unwrap_or(name)
}

/// A path without the ending that packing gave it.
pub(super) fn path_without_compression_suffix(path: &Path) -> PathBuf {
    path.with_file_name(OsStr::from_bytes(strip_compression_suffix(&file_name_bytes(path))))
}

/// Whether a file is packed, by its name.
pub(super) fn has_compression_suffix(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    strip_compression_suffix(name).len() < name.len()
}

/// The folder that a path lies in.
pub(in crate::input) fn parent_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The name of a path, without its folder.
pub(in crate::input) fn file_name_bytes(path: &Path) -> Vec<u8> {
    path.file_name().map_or_else(Vec::new, |name| name.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert!(rank(b"access.log", name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn other_logs_are_not() {
        for name in
            ["access.log", "access.log.vhost1", "access.log2", "access-2.log", "access.8080.log", "error.log.1", "access.log.", "x", ".log"]
        {
            assert_eq!(rank(b"access.log", name.as_bytes()), None, "{name}");
        }
        assert_eq!(rank(b".log", b"access.log"), None);
    }

    #[test]
    fn names_that_add_to_another_are_its_variants() {
        for name in
            ["access.log.away", "access.log~", "access.log-backup.gz", "access-1.log", "access.log.1-2026112223.backup", "access.log"]
        {
            assert!(is_name_variant(b"access.log", name.as_bytes()) && is_name_variant(name.as_bytes(), b"access.log"), "{name}");
        }
        for name in ["old.log", "access2.log", "accesses.log", "a.access.log", "error.log"] {
            assert!(!is_name_variant(b"access.log", name.as_bytes()) && !is_name_variant(name.as_bytes(), b"access.log"), "{name}");
        }
    }

    #[test]
    fn a_name_tells_the_log_it_was_rotated_from() {
        let base = |name: &str| bases(name.as_bytes()).next().map(|(base, _)| String::from_utf8(base).unwrap());
        for name in ["access.log.1", "access.log.2.gz", "access.log-2026-11-01", "access-20261101.log", "access-20261101.log.xz"] {
            assert_eq!(base(name).as_deref(), Some("access.log"), "{name}");
        }
        for name in ["access.log", "2026-11-01.log", "site-1.log", "u_ex261101.log", "", "-", ".1"] {
            assert_eq!(base(name), None, "{name}");
        }
    }

    #[test]
    fn the_oldest_comes_first() {
        let mut names = ["a.log.1", "a.log.10.gz", "a.log-20261101", "a.log.2.gz", "a.log-20261030.gz"];
        names.sort_by_key(|name| rank(b"a.log", name.as_bytes()));
        assert_eq!(names, ["a.log-20261030.gz", "a.log-20261101", "a.log.10.gz", "a.log.2.gz", "a.log.1"]);
    }
}
