//! The house keeps its floors: a room knows only rooms below it. And what else every source file is held to.
//!
//! Reads the table of floors from the library's own page, so there is one place to change. Looks at text, not at
//! meaning: what stands in a comment does not count, nor what is there for tests only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The highest floor: `cli` and `config`, who may know each other.
const DOOR: u32 = 6;

/// Lines of a file that are not for tests.
const MOST_LINES: usize = 1_000;

struct File {
    /// Below the folder of the package.
    name: String,
    /// The room it belongs to.
    room: String,
    /// All of it.
    text: String,
    /// What is not for tests only, without comments; line for line.
    code: Vec<String>,
}

/// A room, the room it uses, and where.
struct Use {
    from: String,
    to: String,
    place: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file that is not there for tests only.
fn files() -> Vec<File> {
    let mut paths = Vec::new();
    walk(&root().join("src"), &mut paths);
    paths.sort();
    assert!(paths.len() > 50, "the sources are not here: {paths:?}");
    paths.iter().map(|path| file(path)).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs" && name != "fixture.rs" {
            paths.push(path);
        }
    }
}

fn file(path: &Path) -> File {
    let text = fs::read_to_string(path).unwrap();
    let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
    let room = name.split('/').nth(1).unwrap().trim_end_matches(".rs").to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| pair[0] == "#[cfg(test)]" && is_module(pair[1]));
    let code = lines[..tests.unwrap_or(lines.len())].iter().map(|line| without_comment(line).to_owned()).collect();
    File { name, room, text, code }
}

fn is_module(line: &str) -> bool {
    line.trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ").starts_with("mod ")
}

fn without_comment(line: &str) -> &str {
    let comment = line.match_indices("//").map(|(at, _)| at).find(|at| line[..*at].matches('"').count().is_multiple_of(2));
    &line[..comment.unwrap_or(line.len())]
}

/// The floor of each room, from the table on the library's page.
fn floors() -> BTreeMap<String, u32> {
    let page = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut floors = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("//! | ")) {
        let (floor, rooms) = line.split_once(" | ").unwrap();
        let floor = if floor == "door" { Some(DOOR) } else { floor.parse().ok() };
        for room in rooms.split("[`").skip(1).map(|rest| rest.split('`').next().unwrap()) {
            floors.insert(room.to_owned(), floor.unwrap());
        }
    }
    floors
}

/// Every path that begins with the crate.
fn uses(files: &[File]) -> Vec<Use> {
    let mut uses = Vec::new();
    for file in files {
        for (number, line) in file.code.iter().enumerate() {
            for (_, rest) in line.match_indices("crate::").map(|(at, found)| line.split_at(at + found.len())) {
                let place = format!("{}:{}", file.name, number + 1);
                assert!(!rest.starts_with(['{', '*']), "{place}: name the room first, so that its floor can be seen");
                let to: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                uses.push(Use { from: file.room.clone(), to, place });
            }
        }
    }
    uses
}

/// Whether a room may use another, apart from cycles.
fn may(from: u32, to: u32) -> bool {
    to < from || (from, to) == (0, 0) || (from, to) == (DOOR, DOOR)
}

#[test]
fn a_room_knows_only_rooms_on_lower_floors() {
    let (files, floors) = (files(), floors());
    let uses = uses(&files);
    assert!(uses.len() > 100, "the uses are not seen");
    let wrong: Vec<_> = uses
        .iter()
        .filter(|used| used.from != used.to && !["lib", "main", "build"].contains(&used.from.as_str()))
        .filter(|used| {
            let floor = |room: &str| *floors.get(room).unwrap_or_else(|| panic!("{}: {room} is on no floor of src/lib.rs", used.place));
            !may(floor(&used.from), floor(&used.to))
        })
        .map(|used| format!("{}: {} uses {}", used.place, used.from, used.to))
        .collect();
    assert!(wrong.is_empty(), "not on a lower floor:\n{}", wrong.join("\n"));
}

#[test]
fn every_room_is_on_a_floor() {
    let rooms: BTreeSet<_> =
        files().into_iter().map(|file| file.room).filter(|room| !["lib", "main", "build"].contains(&room.as_str())).collect();
    assert_eq!(rooms, floors().into_keys().collect());
}

#[test]
fn the_lowest_floor_has_no_cycle() {
    let floors = floors();
    let mut known: BTreeMap<String, BTreeSet<String>> =
        floors.iter().filter(|(_, floor)| **floor == 0).map(|(room, _)| (room.clone(), BTreeSet::new())).collect();
    for used in uses(&files()).into_iter().filter(|used| used.from != used.to) {
        if let Some(rooms) = known.get_mut(&used.from) {
            rooms.insert(used.to);
        }
    }
    // Again and again takes away the rooms that know none of those that are left.
    while !known.is_empty() {
        let free: Vec<_> =
            known.iter().filter(|(_, rooms)| rooms.iter().all(|room| !known.contains_key(room))).map(|(room, _)| room.clone()).collect();
        assert!(!free.is_empty(), "these know each other in a circle: {known:?}");
        known.retain(|room, _| !free.contains(room));
    }
}

/// Where this word stands in the code.
fn places(word: &str) -> Vec<String> {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut places = Vec::new();
    for file in files() {
        for (number, line) in file.code.iter().enumerate() {
            let alone = |at: usize| !is_letter(line[..at].chars().next_back()) && !is_letter(line[at + word.len()..].chars().next());
            if line.match_indices(word).any(|(at, _)| alone(at)) {
                places.push(format!("{}:{}", file.name, number + 1));
            }
        }
    }
    places
}

#[test]
fn unsafe_code_is_in_six_files() {
    let places = places("unsafe");
    let rooms = [
        "src/input/map.rs:",
        "src/engine/newline_index/simd.rs:",
        "src/prefetch.rs:",
        "src/fingerprint/simd_hash.rs:",
        "src/allocator.rs:",
        "src/system.rs:",
    ];
    assert!(!places.is_empty() && places.iter().all(|place| rooms.iter().any(|room| place.starts_with(room))), "{places:?}");
}

#[test]
fn nothing_is_printed_past_the_sinks() {
    let mut printed = ["println!", "eprintln!", "print!", "eprint!", "dbg!"].map(places).concat();
    // A build script talks to Cargo in this way, and to nobody else.
    printed.retain(|place| !place.starts_with("src/build.rs:"));
    assert!(printed.is_empty(), "{printed:?}");
}

#[test]
fn every_file_says_what_it_is_for() {
    for file in files() {
        assert!(file.text.starts_with("//! "), "{}: opens with no `//!`", file.name);
        assert!(file.code.len() <= MOST_LINES, "{}: {} lines", file.name, file.code.len());
    }
}
