//! The state files of `follow` and of `report`.
//!
//! The first byte says of which of them, and whether the others are the whole file or what stands
//! between the braces of its checksum, which is made right then: else no fuzzer would get past it.
#![no_main]

use std::cell::LazyCell;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use probewatch::internals::state::{PersistedState, ReportState, StateFolder, TailState};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64_with_seed;

thread_local! {
    static FOLDER: LazyCell<TempDir> = LazyCell::new(|| tempfile::tempdir().expect("a temporary folder"));
}

fuzz_target!(|input: &[u8]| {
    let [kind, bytes @ ..] = input else { return };
    FOLDER.with(|folder| match kind % 4 {
        0 => check::<TailState>(folder.path(), bytes),
        1 => check::<TailState>(folder.path(), &signed::<TailState>(bytes)),
        2 => check::<ReportState>(folder.path(), bytes),
        _ => check::<ReportState>(folder.path(), &signed::<ReportState>(bytes)),
    });
});

/// A state file around what a state says.
fn signed<T: PersistedState>(body: &[u8]) -> Vec<u8> {
    let (version, checksum) = (T::VERSION, xxh3_64_with_seed(body, T::VERSION.into()));
    let head = format!("{{\"probewatch-state\":{version},\"checksum\":\"{checksum:016x}\",\"state\":");
    [head.as_bytes(), body, b"}\n"].concat()
}

/// A file is refused with a message that names it and stays where it is, or is a state that reads
/// back as it was written.
fn check<T: PersistedState + PartialEq + std::fmt::Debug>(dir: &Path, bytes: &[u8]) {
    let file = dir.join("fuzz.json");
    fs::write(&file, bytes).expect("room for a file");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("the file is ours");
    let folder = StateFolder::open(dir, "fuzz", false).expect("the folder is ours");
    match folder.load::<T>() {
        Err(error) => {
            assert!(error.to_string().contains("fuzz.json"), "an error that names no file: {error}");
            assert_eq!(fs::read(&file).ok().as_deref(), Some(bytes), "a state that was refused was changed");
        }
        Ok(None) => panic!("a state that is there was not seen"),
        Ok(Some(state)) => check_kept(&folder, &state),
    }
}

fn check_kept<T: PersistedState + PartialEq + std::fmt::Debug>(folder: &StateFolder, state: &T) {
    folder.save(state).expect("room for a file");
    let kept = folder.load::<T>().expect("what was written is read");
    assert_eq!(kept.as_ref(), Some(state), "a state is read otherwise than it was written");
}
