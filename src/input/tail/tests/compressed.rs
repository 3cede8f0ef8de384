//! Rotated logs in every packing: each line once, whoever packs them, whenever, and into however many parts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::read_once::{OneShotRuns, some};
use super::{TailHarness, append, lines, number_of};
use crate::input::decompress::fixture::{COMPRESSIONS, pack};
use crate::input::magic::Compression;

/// The ending that goes with a packing.
fn ending(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gz",
        Compression::Zstd => "zst",
        Compression::Bzip2 => "bz2",
        Compression::Xz => "xz",
    }
}

/// Packs a file in two parts: the packed one beside it, and then it is gone.
fn pack_file(path: &Path, compression: Compression) {
    let text = fs::read(path).unwrap();
    let parts: [&[u8]; 2] = text.split_at(text.len() / 2).into();
    fs::write(format!("{}.{}", path.display(), ending(compression)), pack(compression, parts)).unwrap();
    fs::remove_file(path).unwrap();
}

/// Moves the packed logs on by one number, and packs the one that was the live one.
fn rotate(path: impl Fn(&str) -> std::path::PathBuf, compression: Compression) {
    let end = ending(compression);
    for old in (1..9).rev() {
        let _ = fs::rename(path(&format!("access.log.{old}.{end}")), path(&format!("access.log.{}.{end}", old + 1)));
    }
    fs::rename(path("access.log"), path("access.log.1")).unwrap();
    pack_file(&path("access.log.1"), compression);
}

#[test]
fn every_line_of_packed_siblings_is_read_once() {
    for compression in COMPRESSIONS {
        let first = format!("access.log.1.{}", ending(compression));
        for names in [&["access.log", &first][..], &["access.log*"], &[""], &["access.log"]] {
            let mut runs = OneShotRuns::new();
            append(&runs.path("access.log.1"), &lines(0..300));
            pack_file(&runs.path("access.log.1"), compression);
            append(&runs.path("access.log"), &lines(300..310));
            let from = if names.len() == 1 && names[0] == "access.log" { 300 } else { 0 };
            assert_eq!(runs.run(names), some(from..310), "{compression:?} {names:?}");
            assert_eq!(runs.run(names), [], "{compression:?} {names:?}");
            append(&runs.path("access.log"), &lines(310..320));
            rotate(|name| runs.path(name), compression);
            append(&runs.path("access.log"), &lines(320..330));
            assert_eq!(runs.run(names), some(310..330), "{compression:?} {names:?}");
            rotate(|name| runs.path(name), compression);
            append(&runs.path("access.log"), &lines(330..340));
            assert_eq!(runs.run(names), some(330..340), "{compression:?} {names:?}");
            assert!(runs.notices.is_empty(), "{:?}", runs.notices);
        }
    }
}

#[test]
fn a_log_that_is_packed_anew_is_the_same() {
    for (from, to) in COMPRESSIONS.iter().zip(COMPRESSIONS.iter().cycle().skip(1)) {
        let mut runs = OneShotRuns::new();
        append(&runs.path("access.log.1"), &lines(0..300));
        pack_file(&runs.path("access.log.1"), *from);
        let name = |compression| format!("access.log.1.{}", ending(compression));
        assert_eq!(runs.run(&[&name(*from)]), some(0..300));
        fs::remove_file(runs.path(&name(*from))).unwrap();
        append(&runs.path("access.log.1"), &lines(0..300));
        pack_file(&runs.path("access.log.1"), *to);
        assert_eq!(runs.run(&[&name(*to)]), [], "{to:?}");
        assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    }
}

/// C11, C12.
#[test]
fn a_packed_log_that_grows_is_read_part_by_part() {
    for compression in COMPRESSIONS {
        let mut runs = OneShotRuns::new();
        let name = format!("access.log.1.{}", ending(compression));
        let parts = [lines(0..100), lines(100..200), lines(200..300)].map(|text| pack(compression, [text.as_bytes()]));
        fs::write(runs.path(&name), &parts[0]).unwrap();
        assert_eq!(runs.run(&[&name]), some(0..100), "{compression:?}");
        // Half a part is nobody's yet.
        fs::write(runs.path(&name), [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat()).unwrap();
        assert_eq!(runs.run(&[&name]), [], "{compression:?}");
        fs::write(runs.path(&name), parts.concat()).unwrap();
        assert_eq!(runs.run(&[&name]), some(100..300), "{compression:?}");
        assert_eq!(runs.run(&[&name]), [], "{compression:?}");
        assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    }
}

#[test]
fn damage_is_told_once_and_what_was_before_it_is_read() {
    let mut all = COMPRESSIONS.map(|compression| {
        let runs = OneShotRuns::new();
        let name = format!("access.log.1.{}", ending(compression));
        // More than the blocks that are unpacked at once.
        let compressed = pack(compression, [lines(0..8000).as_bytes()]);
        fs::write(runs.path(&name), &compressed[..compressed.len() / 2]).unwrap();
        (runs, name, compression)
    });
    // What changed just now may still be being written.
    std::thread::sleep(Duration::from_millis(2100));
    for (runs, name, compression) in &mut all {
        let read = runs.run(&[name]);
        assert!(read.len() > 500 && read.len() < 8000 && read == some(0..read.len()), "{compression:?} {}", read.len());
        assert_eq!(runs.problems().len(), 1, "{compression:?} {:?}", runs.notices);
        assert!(runs.problems()[0].contains(&format!("{} stream ends early", compression.name())), "{:?}", runs.notices);
        assert_eq!(runs.run(&[name]), []);
        assert!(runs.notices.is_empty(), "{compression:?} {:?}", runs.notices);
    }
}

/// C10. What was not read when the log was packed is read from there, whatever it was rotated to meanwhile.
#[test]
fn rotations_that_were_missed_are_followed() {
    for compression in COMPRESSIONS {
        let mut rig = TailHarness::whole();
        append(&rig.path("access.log"), &lines(0..10));
        rig.go();
        append(&rig.path("access.log"), &lines(10..20));
        for rotation in 0..3 {
            rotate(|name| rig.path(name), compression);
            append(&rig.path("access.log"), &lines(20 + rotation * 10..30 + rotation * 10));
        }
        rig.wait(100);
        rig.assert_numbers(50);
    }
}

#[test]
fn packed_siblings_are_followed_from_the_start_and_left_alone_otherwise() {
    for compression in COMPRESSIONS {
        let prepare = |folder: &Path| {
            for (name, numbers) in [("access.log.2", 0..300), ("access.log.1", 300..600)] {
                append(&folder.join(name), &lines(numbers));
                pack_file(&folder.join(name), compression);
            }
        };
        let mut whole = TailHarness::new(&["."], true, prepare);
        whole.assert_numbers(600);
        append(&whole.path("access.log"), &lines(600..610));
        whole.wait(2);
        whole.assert_numbers(610);
        let mut end = TailHarness::new(&["access.log"], false, prepare);
        append(&end.path("access.log"), &lines(900..905));
        end.wait(2);
        let state = end.tail.checkpoints();
        rotate(|name| end.path(name), compression);
        append(&end.path("access.log"), &lines(905..910));
        end.restart(state);
        end.wait(20);
        let told: Vec<_> = end.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(told, some(900..910), "{compression:?} {:?}", end.notices);
    }
}

#[test]
fn what_asks_for_too_much_is_refused_once_by_name() {
    let mut runs = OneShotRuns::new();
    append(&runs.path("access.log"), &lines(0..3));
    runs.run(&["access.log"]);
    // A zstd frame with a window of 256 MiB.
    fs::write(runs.path("access.log.1.zst"), b"\x28\xb5\x2f\xfd\x00\x90\x21\0\0one\n").unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    runs.run(&["access.log"]);
    assert_eq!(runs.problems().len(), 1, "{:?}", runs.notices);
    assert!(runs.problems()[0].contains("needs a zstd window of 256 MiB"), "{:?}", runs.notices);
    fs::rename(runs.path("access.log.1.zst"), runs.path("access.log.2.zst")).unwrap();
    runs.run(&["access.log"]);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}
