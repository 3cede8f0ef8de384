//! Rotated logs in every compression: each line is read once, whatever compresses them, at any
//! time, in any number of parts. While a log is being compressed, the plain and the compressed file
//! are one log, at every stage.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::read_once::{OneShotRuns, some};
use super::{TailHarness, append, lines, number_of, record};
use crate::input::decompress::fixture::{COMPRESSIONS, compress};
use crate::input::magic::Compression;
use crate::input::tail::StartPosition;

/// The file name suffix of a compression.
fn extension(compression: Compression) -> &'static str {
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
    fs::write(
        format!("{}.{}", path.display(), extension(compression)),
        compress(compression, parts),
    )
    .unwrap();
    fs::remove_file(path).unwrap();
}

/// Increments the numbers of the compressed logs, and compresses the live one.
fn rotate(path: impl Fn(&str) -> PathBuf, compression: Compression) {
    let end = extension(compression);
    for old in (1..9).rev() {
        let _ = fs::rename(
            path(&format!("access.log.{old}.{end}")),
            path(&format!("access.log.{}.{end}", old + 1)),
        );
    }
    fs::rename(path("access.log"), path("access.log.1")).unwrap();
    compress_file(&path("access.log.1"), compression);
}

#[test]
fn lines_of_compressed_siblings_are_read_once() {
    for compression in COMPRESSIONS {
        let first = format!("access.log.1.{}", extension(compression));
        for names in [
            &["access.log", &first][..],
            &["access.log*"],
            &[""],
            &["access.log"],
        ] {
            let mut runs = OneShotRuns::new();
            append(&runs.path("access.log.1"), &lines(0..300));
            compress_file(&runs.path("access.log.1"), compression);
            append(&runs.path("access.log"), &lines(300..310));
            let from = if names.len() == 1 && names[0] == "access.log" {
                300
            } else {
                0
            };
            assert_eq!(
                runs.run(names),
                some(from..310),
                "{compression:?} {names:?}"
            );
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
        let name = |compression| format!("access.log.1.{}", extension(compression));
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
        let name = format!("access.log.1.{}", extension(compression));
        let parts = [lines(0..100), lines(100..200), lines(200..300)]
            .map(|text| compress(compression, [text.as_bytes()]));
        fs::write(runs.path(&name), &parts[0]).unwrap();
        assert_eq!(runs.run(&[&name]), some(0..100), "{compression:?}");
        // An incomplete part is not read.
        fs::write(
            runs.path(&name),
            [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat(),
        )
        .unwrap();
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
        let name = format!("access.log.1.{}", extension(compression));
        // More than the blocks that are decompressed at a time.
        let compressed = compress(compression, [lines(0..8000).as_bytes()]);
        fs::write(runs.path(&name), &compressed[..compressed.len() / 2]).unwrap();
        (runs, name, compression)
    });
    // A file that changed just now may still be written to.
    thread::sleep(Duration::from_millis(2100));
    for (runs, name, compression) in &mut all {
        let read = runs.run(&[name]);
        assert!(
            read.len() > 500 && read.len() < 8000 && read == some(0..read.len()),
            "{compression:?} {}",
            read.len()
        );
        assert_eq!(
            runs.problems().len(),
            1,
            "{compression:?} {:?}",
            runs.notices
        );
        assert!(
            runs.problems()[0].contains(&format!("{} stream ends early", compression.name())),
            "{:?}",
            runs.notices
        );
        assert_eq!(runs.run(&[name]), []);
        assert!(
            runs.notices.is_empty(),
            "{compression:?} {:?}",
            runs.notices
        );
    }
}

/// C10. The part that was not read when the log was compressed is read afterwards, whatever its
/// name by then.
#[test]
fn missed_rotations_are_followed() {
    for compression in COMPRESSIONS {
        let mut harness = TailHarness::from_start();
        append(&harness.path("access.log"), &lines(0..10));
        harness.poll_and_read();
        append(&harness.path("access.log"), &lines(10..20));
        for rotation in 0..3 {
            rotate(|name| harness.path(name), compression);
            append(
                &harness.path("access.log"),
                &lines(20 + rotation * 10..30 + rotation * 10),
            );
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
    fs::write(
        runs.path("access.log.1.zst"),
        b"\x28\xb5\x2f\xfd\x00\x90\x21\0\0one\n",
    )
    .unwrap();
    thread::sleep(Duration::from_millis(2100));
    runs.run(&["access.log"]);
    assert_eq!(runs.problems().len(), 1, "{:?}", runs.notices);
    assert!(
        runs.problems()[0].contains("needs a zstd window of 256 MiB"),
        "{:?}",
        runs.notices
    );
    fs::rename(runs.path("access.log.1.zst"), runs.path("access.log.2.zst")).unwrap();
    runs.run(&["access.log"]);
    assert!(runs.notices.is_empty(), "{:?}", runs.notices);
}

/// The state of the compressed file at a start.
#[derive(Debug, Clone, Copy)]
enum CompressionStage {
    Absent,
    Empty,
    Half,
    Whole,
}

const STAGES: [(CompressionStage, bool); 5] = [
    (CompressionStage::Absent, true),
    (CompressionStage::Empty, true),
    (CompressionStage::Half, true),
    (CompressionStage::Whole, true),
    (CompressionStage::Whole, false),
];

/// Creates `access.log.1` with `text` at a stage of its compression.
fn write_stage(
    folder: &Path,
    compression: Compression,
    text: &str,
    (packed_at, plain): (CompressionStage, bool),
) {
    let compressed = compress(compression, [text.as_bytes()]);
    let out = folder.join(format!("access.log.1.{}", extension(compression)));
    match packed_at {
        CompressionStage::Absent => {}
        CompressionStage::Empty => fs::write(out, b"").unwrap(),
        CompressionStage::Half => fs::write(out, &compressed[..compressed.len() / 2]).unwrap(),
        CompressionStage::Whole => fs::write(out, &compressed).unwrap(),
    }
    let path = folder.join("access.log.1");
    if plain {
        if !path.exists() {
            fs::write(path, text).unwrap();
        }
    } else {
        let _ = fs::remove_file(path);
    }
}

/// Lengths of the texts: one line, less than the size of a head, and more than a block.
const LENGTHS: [usize; 4] = [1, 5, 100, 3000];

#[test]
fn follow_reads_a_log_that_is_being_compressed_once() {
    for compression in COMPRESSIONS {
        for length in LENGTHS {
            for (first, step) in STAGES.iter().enumerate() {
                for names in [&["."][..], &["access.log"]] {
                    let text = lines(0..length);
                    let mut harness = TailHarness::new(names, true, |folder| {
                        append(&folder.join("access.log"), &lines(length..length + 10));
                        write_stage(folder, compression, &text, *step);
                    });
                    for step in &STAGES[first..] {
                        write_stage(harness.folder.path(), compression, &text, *step);
                        harness.wait(1);
                    }
                    harness.wait(20);
                    let mut emitted: Vec<_> = harness
                        .lines()
                        .iter()
                        .map(|text| number_of(text).unwrap())
                        .collect();
                    emitted.sort_unstable();
                    assert_eq!(
                        emitted,
                        (0..length + 10).collect::<Vec<_>>(),
                        "{compression:?} {length} {step:?} {names:?} {:?}",
                        harness.notices
                    );
                }
            }
        }
    }
}

/// A run ends at each stage, and the next one starts at another.
#[test]
fn restarts_at_any_stage_of_a_compression_read_the_log_once() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for length in [1, 100] {
            for before in [0, 1, length / 2] {
                for steps in 1u32..1 << STAGES.len() {
                    for names in [&["."][..], &["access.log"]] {
                        let text = lines(0..length);
                        let mut harness = TailHarness::new(names, true, |folder| {
                            append(&folder.join("access.log"), &lines(0..before));
                        });
                        append(&harness.path("access.log"), &lines(before..length));
                        harness.rename("access.log", "access.log.1");
                        append(&harness.path("access.log"), &lines(length..length + 10));
                        let mut state = harness.tail.checkpoints();
                        for (_, step) in STAGES
                            .iter()
                            .enumerate()
                            .filter(|(number, _)| steps & 1 << number != 0)
                        {
                            write_stage(harness.folder.path(), compression, &text, *step);
                            harness.restart(state);
                            state = harness.tail.checkpoints();
                        }
                        write_stage(
                            harness.folder.path(),
                            compression,
                            &text,
                            (CompressionStage::Whole, false),
                        );
                        harness.restart(state);
                        harness.wait(5);
                        let mut emitted: Vec<_> = harness
                            .lines()
                            .iter()
                            .map(|text| number_of(text).unwrap())
                            .collect();
                        emitted.sort_unstable();
                        assert_eq!(
                            emitted,
                            (0..length + 10).collect::<Vec<_>>(),
                            "{compression:?} {length} {before} {steps:b} {names:?} {:?}",
                            harness.notices
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn runs_at_any_stage_of_a_compression_read_the_log_once() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for length in [1, 100] {
            for before in [None, Some(0), Some(1), Some(length / 2)] {
                for steps in 1u32..1 << STAGES.len() {
                    for names in [&[""][..], &["access.log"], &["access.log*"]] {
                        if before.is_none() && names[0] == "access.log" {
                            continue;
                        }
                        let text = lines(0..length);
                        let mut runs = OneShotRuns::new();
                        let mut emitted = Vec::new();
                        if let Some(before) = before {
                            append(&runs.path("access.log"), &lines(0..before));
                            emitted.extend(runs.run(names));
                        }
                        fs::write(runs.path("access.log.1"), &text).unwrap();
                        fs::write(runs.path("access.log"), lines(length..length + 10)).unwrap();
                        for (_, step) in STAGES
                            .iter()
                            .enumerate()
                            .filter(|(number, _)| steps & 1 << number != 0)
                        {
                            write_stage(runs.folder.path(), compression, &text, *step);
                            emitted.extend(runs.run(names));
                        }
                        write_stage(
                            runs.folder.path(),
                            compression,
                            &text,
                            (CompressionStage::Whole, false),
                        );
                        emitted.extend(runs.run(names));
                        let mut emitted: Vec<_> = emitted.into_iter().map(Option::unwrap).collect();
                        emitted.sort_unstable();
                        assert_eq!(
                            emitted,
                            (0..length + 10).collect::<Vec<_>>(),
                            "{compression:?} {length} {before:?} {steps:b} {names:?} {:?}",
                            runs.notices
                        );
                    }
                }
            }
        }
    }
}

/// Compresses a file block by block and then removes it, without waiting for readers.
fn compress_concurrently(
    path: PathBuf,
    compression: Compression,
    pause: Duration,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        use std::io::Write;
        let text = fs::read(&path).unwrap();
        let compressed = compress(compression, [&text[..]]);
        thread::sleep(pause);
        let mut out =
            File::create(format!("{}.{}", path.display(), extension(compression))).unwrap();
        for block in compressed.chunks(compressed.len() / 4 + 1) {
            out.write_all(block).unwrap();
            thread::sleep(pause / 8);
        }
        drop(out);
        fs::remove_file(&path).unwrap();
    })
}

#[test]
fn a_concurrent_compression_is_read_once() {
    let trials: u64 = std::env::var("PROBEWATCH_MODEL_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(60);
    let mut wrong = Vec::new();
    for trial in 0..trials {
        let compression = COMPRESSIONS[trial as usize % COMPRESSIONS.len()];
        let length = LENGTHS[trial as usize / 4 % LENGTHS.len()];
        let pause = Duration::from_micros(trial * 7919 % 900);
        let once = trial / 16 % 2 == 0;
        let whole_folder = trial / 32 % 2 == 0;
        let mut runs = OneShotRuns::new();
        append(&runs.path("access.log.1"), &lines(0..length));
        append(&runs.path("access.log"), &lines(length..length + 10));
        let name = if whole_folder {
            ""
        } else if once {
            "access.log*"
        } else {
            "access.log"
        };
        let compressor = compress_concurrently(runs.path("access.log.1"), compression, pause);
        let mut emitted = Vec::new();
        if once {
            let begin = if trial / 64 % 2 == 0 {
                StartPosition::ExplicitInputs
            } else {
                StartPosition::Start
            };
            emitted.extend(runs.run_with(&[name], begin));
            compressor.join().unwrap();
            emitted.extend(runs.run_with(&[name], begin));
        } else {
            let mut followed = Vec::new();
            let mut tail = runs.tail(&[name], StartPosition::Start);
            let mut now = Instant::now();
            for _ in 0..3 {
                tail.poll(now, None);
                while tail.read(&mut |piece| record(&mut followed, piece)) {}
                now += Duration::from_millis(250);
            }
            compressor.join().unwrap();
            for _ in 0..100 {
                tail.poll(now, None);
                while tail.read(&mut |piece| record(&mut followed, piece)) {}
                now += Duration::from_millis(500);
            }
            emitted.extend(
                followed
                    .iter()
                    .map(|emitted| emitted.text.as_deref().and_then(number_of)),
            );
        }
        let count = emitted.len();
        let mut emitted: Vec<_> = emitted.into_iter().map(Option::unwrap).collect();
        emitted.sort_unstable();
        if emitted != (0..length + 10).collect::<Vec<_>>() {
            wrong.push(format!(
                "{trial} {compression:?} {length} once {once} {name:?}: {count} of {}; {:?}",
                length + 10,
                runs.notices
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {trials}: {wrong:#?}", wrong.len());
}
