//! Rotated logs in every compression: each line is read once, whatever compresses them, at any time, in any number of
//! parts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::read_once::{OneShotRuns, some};
use super::{TailHarness, append, lines, number_of};
use crate::input::decompress::fixture::{COMPRESSIONS, compress};
use crate::input::magic::Compression;

/// The file name suffix of a compression.
fn ending(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gz",
        Compression::Zstd => "zst",
        Compression::Bzip2 => "bz2",
        Compression::Xz => "xz",
    }
}

/// Compresses a file in two parts, beside the original, and then removes the original.
fn compress_file(path: &Path, compression: Compression) {
    let text = fs::read(path).unwrap();
    let parts: [&[u8]; 2] = text.split_at(text.len() / 2).into();
    fs::write(format!("{}.{}", path.display(), ending(compression)), compress(compression, parts)).unwrap();
    fs::remove_file(path).unwrap();
}

/// Increments the numbers of the compressed logs, and compresses the live one.
fn rotate(path: impl Fn(&str) -> std::path::PathBuf, compression: Compression) {
    let end = ending(compression);
    for old in (1..9).rev() {
        let _ = fs::rename(path(&format!("access.log.{old}.{end}")), path(&format!("access.log.{}.{end}", old + 1)));
    }
    fs::rename(path("access.log"), path("access.log.1")).unwrap();
    compress_file(&path("access.log.1"), compression);
}

#[test]
fn lines_of_compressed_siblings_are_read_once() {
    for compression in COMPRESSIONS {
        let first = format!("access.log.1.{}", ending(compression));
        for names in [&["access.log", &first][..], &["access.log*"], &[""], &["access.log"]] {
            let mut runs = OneShotRuns::new();
            append(&runs.path("access.log.1"), &lines(0..300));
            compress_file(&runs.path("access.log.1"), compression);
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
fn a_recompressed_log_is_recognized() {
    for (from, to) in COMPRESSIONS.iter().zip(COMPRESSIONS.iter().cycle().skip(1)) {
        let mut runs = OneShotRuns::new();
        append(&runs.path("access.log.1"), &lines(0..300));
        compress_file(&runs.path("access.log.1"), *from);
        let name = |compression| format!("access.log.1.{}", ending(compression));
        assert_eq!(runs.run(&[&name(*from)]), some(0..300));
        fs::remove_file(runs.path(&name(*from))).unwrap();
        append(&runs.path("access.log.1"), &lines(0..300));
        compress_file(&runs.path("access.log.1"), *to);
        assert_eq!(runs.run(&[&name(*to)]), [], "{to:?}");
        assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    }
}

/// C11, C12.
#[test]
fn a_growing_compressed_log_is_read_part_by_part() {
    for compression in COMPRESSIONS {
        let mut runs = OneShotRuns::new();
        let name = format!("access.log.1.{}", ending(compression));
        let parts = [lines(0..100), lines(100..200), lines(200..300)].map(|text| compress(compression, [text.as_bytes()]));
        fs::write(runs.path(&name), &parts[0]).unwrap();
        assert_eq!(runs.run(&[&name]), some(0..100), "{compression:?}");
        // An incomplete part is not read.
        fs::write(runs.path(&name), [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat()).unwrap();
        assert_eq!(runs.run(&[&name]), [], "{compression:?}");
        fs::write(runs.path(&name), parts.concat()).unwrap();
        assert_eq!(runs.run(&[&name]), some(100..300), "{compression:?}");
        assert_eq!(runs.run(&[&name]), [], "{compression:?}");
        assert!(runs.notices.is_empty(), "{:?}", runs.notices);
    }
}

#[test]
fn damage_is_reported_once_and_the_text_before_it_is_read() {
    let mut all = COMPRESSIONS.map(|compression| {
        let runs = OneShotRuns::new();
        let name = format!("access.log.1.{}", ending(compression));
        // More than the blocks that are decompressed at a time.
        let compressed = compress(compression, [lines(0..8000).as_bytes()]);
        fs::write(runs.path(&name), &compressed[..compressed.len() / 2]).unwrap();
        (runs, name, compression)
    });
    // A file that changed just now may still be written to.
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

/// C10. The part that was not read when the log was compressed is read afterwards, whatever its name by then.
#[test]
fn missed_rotations_are_followed() {
    for compression in COMPRESSIONS {
        let mut harness = TailHarness::from_start();
        append(&harness.path("access.log"), &lines(0..10));
        harness.poll_and_read();
        append(&harness.path("access.log"), &lines(10..20));
        for rotation in 0..3 {
            rotate(|name| harness.path(name), compression);
            append(&harness.path("access.log"), &lines(20 + rotation * 10..30 + rotation * 10));
        }
        harness.wait(100);
        harness.assert_numbers(50);
    }
}

#[test]
fn compressed_siblings_are_read_only_from_the_start() {
    for compression in COMPRESSIONS {
        let prepare = |folder: &Path| {
            for (name, numbers) in [("access.log.2", 0..300), ("access.log.1", 300..600)] {
                append(&folder.join(name), &lines(numbers));
                compress_file(&folder.join(name), compression);
            }
        };
        let mut from_start = TailHarness::new(&["."], true, prepare);
        from_start.assert_numbers(600);
        append(&from_start.path("access.log"), &lines(600..610));
        from_start.wait(2);
        from_start.assert_numbers(610);
        let mut end = TailHarness::new(&["access.log"], false, prepare);
        append(&end.path("access.log"), &lines(900..905));
        end.wait(2);
        let state = end.tail.checkpoints();
        rotate(|name| end.path(name), compression);
        append(&end.path("access.log"), &lines(905..910));
        end.restart(state);
        end.wait(20);
        let emitted: Vec<_> = end.lines().iter().map(|text| number_of(text)).collect();
        assert_eq!(emitted, some(900..910), "{compression:?} {:?}", end.notices);
    }
}

#[test]
fn a_window_over_the_limit_is_reported_once() {
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
