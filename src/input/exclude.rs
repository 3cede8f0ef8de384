//! Leaves files out that were not written to for long.
//!
//! Asks for the time of the last change of what is in a file, and says how many it left out: nothing is passed over in silence.
//! What that time means for the lines in it is not its business.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::find::{FoundInputs, InputSource, SourceKind};

/// Names that a notice lists before it counts the rest.
const NAMED: usize = 3;

/// From when on a file must have been written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewerThan {
    /// The same as it was typed: `2d`.
    pub as_typed: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    pub since: i64,
}

/// Takes the files out of `found` that were last written to before that, and adds a notice that says so. Pipes and standard
/// input have no such time, and stay.
pub fn exclude_older(found: &mut FoundInputs, newer: &NewerThan) {
    let is_older = |source: &InputSource| source.kind == SourceKind::File && modified(source).is_some_and(|time| time < newer.since);
    let (older, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut found.sources).into_iter().partition(is_older);
    found.sources = kept;
    found.excluded += older.len();
    if older.is_empty() {
        return;
    }
    let files = if older.len() == 1 { "file" } else { "files" };
    let all = if found.sources.is_empty() { "; nothing else was found: to have them read, type a longer time than that" } else { "" };
    found.notices.push(format!("{} {files} older than {} left out: {}{all}", older.len(), newer.as_typed, named(&older)));
}

/// When a file was last written to, rounded up to a second: in case of doubt it is read.
fn modified(source: &InputSource) -> Option<i64> {
    let metadata = fs::metadata(&source.path).ok()?;
    Some(metadata.mtime().saturating_add(i64::from(metadata.mtime_nsec() > 0)))
}

/// The names of the first of them, and how many more there are.
fn named(sources: &[InputSource]) -> String {
    let names: Vec<_> = sources.iter().take(NAMED).map(|source| source.path.display().to_string()).collect();
    match sources.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::find::find;
    use std::fs::File;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn what_is_older_is_left_out_counted_and_named() {
        let folder = tempfile::tempdir().unwrap();
        for (name, seconds) in [("a", 99), ("b", 100), ("c", 101), ("d", 5), ("e", 6), ("f", 7)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        let newer = |since| NewerThan { as_typed: "2d".to_owned(), since };
        let left = |from| {
            let mut found = find(&[folder.path().to_owned(), "-".into()]);
            exclude_older(&mut found, &newer(from));
            (found.sources.len(), found.excluded, found.notices.join("").replace(&format!("{}/", folder.path().display()), ""))
        };
        assert_eq!(left(0), (7, 0, String::new()));
        assert_eq!(left(6), (6, 1, "1 file older than 2d left out: d".to_owned()));
        assert_eq!(left(100), (3, 4, "4 files older than 2d left out: a, d, e and 1 more".to_owned()));
        let mut found = find(&[folder.path().to_owned()]);
        exclude_older(&mut found, &newer(1000));
        assert!(found.sources.is_empty() && found.notices[0].ends_with("type a longer time than that"), "{:?}", found.notices);
    }
}
