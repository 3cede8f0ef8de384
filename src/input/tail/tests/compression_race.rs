//! Starts during a compression: the plain and the compressed file are one log, at every stage.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::read_once::OneShotRuns;
use super::{TailHarness, append, lines, number_of, record};
use crate::input::decompress::fixture::{COMPRESSIONS, compress};
use crate::input::magic::Compression;
use crate::input::tail::StartPosition;

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

fn ending(compression: Compression) -> &'static str {
    match compression {
        Compression::Gzip => "gz",
        Compression::Zstd => "zst",
        Compression::Bzip2 => "bz2",
        Compression::Xz => "xz",
    }
}

/// Creates `access.log.1` with `text` at a stage of its compression.
fn put(folder: &Path, compression: Compression, text: &str, (packed_at, plain): (CompressionStage, bool)) {
    let compressed = compress(compression, [text.as_bytes()]);
    let out = folder.join(format!("access.log.1.{}", ending(compression)));
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
                        put(folder, compression, &text, *step);
                    });
                    for step in &STAGES[first..] {
                        put(harness.folder.path(), compression, &text, *step);
                        harness.wait(1);
                    }
                    harness.wait(20);
                    let mut emitted: Vec<_> = harness.lines().iter().map(|text| number_of(text).unwrap()).collect();
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
                        let mut harness = TailHarness::new(names, true, |folder| append(&folder.join("access.log"), &lines(0..before)));
                        append(&harness.path("access.log"), &lines(before..length));
                        harness.rename("access.log", "access.log.1");
                        append(&harness.path("access.log"), &lines(length..length + 10));
                        let mut state = harness.tail.checkpoints();
                        for (_, step) in STAGES.iter().enumerate().filter(|(number, _)| steps & 1 << number != 0) {
                            put(harness.folder.path(), compression, &text, *step);
                            harness.restart(state);
                            state = harness.tail.checkpoints();
                        }
                        put(harness.folder.path(), compression, &text, (CompressionStage::Whole, false));
                        harness.restart(state);
                        harness.wait(5);
                        let mut emitted: Vec<_> = harness.lines().iter().map(|text| number_of(text).unwrap()).collect();
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
                        for (_, step) in STAGES.iter().enumerate().filter(|(number, _)| steps & 1 << number != 0) {
                            put(runs.folder.path(), compression, &text, *step);
                            emitted.extend(runs.run(names));
                        }
                        put(runs.folder.path(), compression, &text, (CompressionStage::Whole, false));
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
fn compress_concurrently(path: PathBuf, compression: Compression, pause: Duration) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        use std::io::Write;
        let text = fs::read(&path).unwrap();
        let compressed = compress(compression, [&text[..]]);
        thread::sleep(pause);
        let mut out = File::create(format!("{}.{}", path.display(), ending(compression))).unwrap();
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
    let trials: u64 = std::env::var("PROBEWATCH_MODEL_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
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
            let begin = if trial / 64 % 2 == 0 { StartPosition::ExplicitInputs } else { StartPosition::Start };
            emitted.extend(runs.run_with(&[name], begin));
            compressor.join().unwrap();
            emitted.extend(runs.run_with(&[name], begin));
        } else {
            let mut followed = Vec::new();
            let mut tail = runs.tail(&[name], StartPosition::Start);
            let mut now = Instant::now();
            for _ in 0..3 {
                tail.poll(now, None);
                while tail.read(now, &mut |piece| record(&mut followed, piece)) {}
                now += Duration::from_millis(250);
            }
            compressor.join().unwrap();
            for _ in 0..100 {
                tail.poll(now, None);
                while tail.read(now, &mut |piece| record(&mut followed, piece)) {}
                now += Duration::from_millis(500);
            }
            emitted.extend(followed.iter().map(|emitted| emitted.text.as_deref().and_then(number_of)));
        }
        let count = emitted.len();
        let mut emitted: Vec<_> = emitted.into_iter().map(Option::unwrap).collect();
        emitted.sort_unstable();
        if emitted != (0..length + 10).collect::<Vec<_>>() {
            wrong.push(format!("{trial} {compression:?} {length} once {once} {name:?}: {count} of {}; {:?}", length + 10, runs.notices));
        }
    }
    assert!(wrong.is_empty(), "{} of {trials}: {wrong:#?}", wrong.len());
}
