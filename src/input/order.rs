//! Puts what was found in the order of time, as far as names tell it: a log and what it was rotated to stand together, the
//! oldest first.
//!
//! Looks at names only, so the order is the same however often the files are touched or copied. What is no family of rotated
//! files stays where it was named or found.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::find::{InputSource, SourceKind};
use super::rotation_names::{RotationRank, bases, file_name_bytes, parent_folder, rank};

/// A number behind a name that is larger names a port or a process, no rotation.
const MOST_ROTATIONS: u32 = 999;

/// A file and the log that it belongs to.
struct RotationMember {
    /// The path of the log, whether that is there or not.
    log: PathBuf,
    /// How old it is; `None` of the log itself, which is the youngest.
    rank: Option<RotationRank>,
}

/// Puts every log behind what it was rotated to, and that in the order of age. A family stands where its first member did.
pub fn sort_by_age(sources: &mut Vec<InputSource>) {
    let members = members(sources);
    let mut first: HashMap<&Path, usize> = HashMap::new();
    for (place, member) in members.iter().enumerate() {
        if let Some(member) = member {
            first.entry(&member.log).or_insert(place);
        }
    }
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_cached_key(|&place| match &members[place] {
        // One that is packed just now lies there twice.
        Some(RotationMember { log, rank }) => {
            (first[log.as_path()], rank.is_none(), rank.clone(), file_name_bytes(&sources[place].path), place)
        }
        None => (place, false, None, Vec::new(), place),
    });
    let mut old: Vec<_> = std::mem::take(sources).into_iter().map(Some).collect();
    sources.extend(order.into_iter().filter_map(|place| old[place].take()));
}

/// Of each source, whether another one is of the same family.
#[must_use]
pub fn has_rotated_siblings(sources: &[InputSource]) -> Vec<bool> {
    let members = members(sources);
    let mut counts: HashMap<&Path, usize> = HashMap::new();
    for member in members.iter().flatten() {
        *counts.entry(&member.log).or_default() += 1;
    }
    members.iter().map(|member| member.as_ref().is_some_and(|member| counts[member.log.as_path()] > 1)).collect()
}

/// The log that each source belongs to; `None` of what is no file.
fn members(sources: &[InputSource]) -> Vec<Option<RotationMember>> {
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut paths = Vec::with_capacity(sources.len());
    for source in sources {
        let name = source.path.file_name().filter(|_| source.kind == SourceKind::File);
        // A folder may be spelt in two ways.
        let folder = folders
            .entry(parent_folder(&source.path))
            .or_insert_with_key(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()));
        paths.push(name.map(|name| folder.join(name)));
    }
    let places: HashMap<&Path, usize> = paths.iter().enumerate().filter_map(|(place, path)| Some((path.as_deref()?, place))).collect();
    paths.iter().map(|path| path.as_ref().map(|path| member(path, &places))).collect()
}

fn member(path: &Path, places: &HashMap<&Path, usize>) -> RotationMember {
    let mut log = path.to_owned();
    let mut step = None;
    while let Some((base, rank)) = listed_base(&log, places) {
        log = base;
        step.get_or_insert(rank);
    }
    // What was rotated may be all that was given.
    if let Some((base, rank)) = possible_bases(&log).into_iter().next() {
        log.set_file_name(OsStr::from_bytes(&base));
        step.get_or_insert(rank);
    }
    let rank = rank(&file_name_bytes(&log), &file_name_bytes(path)).or(step);
    RotationMember { log, rank }
}

/// The log among those in `places` that a file was rotated from. Where `olddir` took the file, it lies in the folder above.
fn listed_base(path: &Path, places: &HashMap<&Path, usize>) -> Option<(PathBuf, RotationRank)> {
    let folders = path.ancestors().skip(1).take(2);
    let there = |folder: &Path| {
        let mut logs = possible_bases(path).into_iter().map(|(base, rank)| (folder.join(OsStr::from_bytes(&base)), rank));
        logs.find(|(log, _)| places.contains_key(log.as_path()))
    };
    folders.into_iter().find_map(there)
}

/// The names that the log of a file may have.
fn possible_bases(path: &Path) -> Vec<(Vec<u8>, RotationRank)> {
    bases(&file_name_bytes(path)).filter(|(_, rank)| rank.index().is_none_or(|index| index <= MOST_ROTATIONS)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sources(paths: &[&str]) -> Vec<InputSource> {
        let kind = |path: &str| if path == "-" { SourceKind::Stdin } else { SourceKind::File };
        paths.iter().map(|path| InputSource { path: path.into(), named: true, literal: true, kind: kind(path), id: None }).collect()
    }

    fn ordered(paths: &[&str]) -> Vec<String> {
        let mut sources = sources(paths);
        sort_by_age(&mut sources);
        sources.iter().map(|source| source.path.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_log_comes_behind_what_it_was_rotated_to() {
        let names = ["access.log", "access.log.1", "access.log.10.gz", "access.log.2.gz", "error.log", "error.log.1"];
        assert_eq!(ordered(&names), ["access.log.10.gz", "access.log.2.gz", "access.log.1", "access.log", "error.log.1", "error.log"]);
        let dated = ["access.log", "access.log-20261101.gz", "access.log-20261030.gz", "access.log-20261102"];
        assert_eq!(ordered(&dated), ["access.log-20261030.gz", "access.log-20261101.gz", "access.log-20261102", "access.log"]);
        let within = ["access-20261101.log", "access-20261030.log.xz", "access.log"];
        assert_eq!(ordered(&within), ["access-20261030.log.xz", "access-20261101.log", "access.log"]);
    }

    #[test]
    fn rotated_files_alone_are_a_family_too() {
        assert_eq!(ordered(&["a.log.1", "a.log.2.gz", "a.log.11.gz"]), ["a.log.11.gz", "a.log.2.gz", "a.log.1"]);
        assert_eq!(ordered(&["a.log-2026-11-30", "a.log-2026-11-02"]), ["a.log-2026-11-02", "a.log-2026-11-30"]);
        assert_eq!(ordered(&["a-20261102.log", "a-20261101.log.gz", "x"]), ["a-20261101.log.gz", "a-20261102.log", "x"]);
        assert_eq!(ordered(&["a.log.1.gz", "a.log.1", "a.log.2"]), ["a.log.2", "a.log.1", "a.log.1.gz"]);
    }

    #[test]
    fn a_family_stands_where_its_first_member_did_and_others_stay() {
        assert_eq!(ordered(&["b.log", "x.log", "-", "a.log", "b.log.1"]), ["b.log.1", "b.log", "x.log", "-", "a.log"]);
        let none = ["z.log", "y-2.log", "y-1.log", "y.8080.log", "y.log.8080", "b/a.log", "a/a.log.1"];
        assert_eq!(ordered(&none), none);
    }

    #[test]
    fn what_olddir_took_away_belongs_to_the_log_above() {
        assert_eq!(
            ordered(&["l/a.log", "l/b.log", "l/old/a.log.1", "l/old/a.log.2"]),
            ["l/old/a.log.2", "l/old/a.log.1", "l/a.log", "l/b.log"]
        );
        let own = ["l/a.log", "l/b.log", "l/old/a.log", "l/old/a.log.1"];
        assert_eq!(ordered(&own), ["l/a.log", "l/b.log", "l/old/a.log.1", "l/old/a.log"]);
    }

    #[test]
    fn kin_are_those_of_one_log() {
        assert_eq!(has_rotated_siblings(&sources(&["a.log", "./a.log.1", "b.log", "-", "-"])), [true, true, false, false, false]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_the_order_is_a_fixed_point(
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
}
