//! A start that meets compression under way: the log that is being packed is one log, at every step of it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::read_once::OneShotRuns;
use super::{TailHarness, append, lines, note, number_of};
use crate::input::decompress::fixture::{COMPRESSIONS, pack};
use crate::input::magic::Compression;
use crate::input::tail::StartPosition;

/// What lies there at a start.
#[derive(Debug, Clone, Copy)]
enum CompressionStage {
    Absent,
    Empty,
    Half,
    Whole,
}

const STEPS: [(CompressionStage, bool); 5] = [
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

/// `access.log.1` with so many lines, as far as its packing is.
fn put(folder: &Path, compression: Compression, text: &str, (packed_at, plain): (CompressionStage, bool)) {
    let compressed = pack(compression, [text.as_bytes()]);
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

/// The texts that are packed: of one line, of less than what a text is known by, and of more than a block.
const LENGTHS: [usize; 4] = [1, 5, 100, 3000];

#[test]
fn a_follow_from_the_start_reads_a_log_that_is_being_packed_once() {
    for compression in COMPRESSIONS {
        for length in LENGTHS {
            for (first, step) in STEPS.iter().enumerate() {
                for names in [&["."][..], &["access.log"]] {
                    let text = lines(0..length);
                    let mut rig = TailHarness::new(names, true, |folder| {
                        append(&folder.join("access.log"), &lines(length..length + 10));
                        put(folder, compression, &text, *step);
                    });
                    for step in &STEPS[first..] {
                        put(rig.folder.path(), compression, &text, *step);
                        rig.wait(1);
                    }
                    rig.wait(20);
                    let mut told: Vec<_> = rig.lines().iter().map(|text| number_of(text).unwrap()).collect();
                    told.sort_unstable();
                    assert_eq!(told, (0..length + 10).collect::<Vec<_>>(), "{compression:?} {length} {step:?} {names:?} {:?}", rig.notices);
                }
            }
        }
    }
}

/// At each step a run ends, and the next one starts at another.
#[test]
fn starts_at_any_steps_of_a_packing_read_its_log_once() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for length in [1, 100] {
            for before in [0, 1, length / 2] {
                for steps in 1u32..1 << STEPS.len() {
                    for names in [&["."][..], &["access.log"]] {
                        let text = lines(0..length);
                        let mut rig = TailHarness::new(names, true, |folder| append(&folder.join("access.log"), &lines(0..before)));
                        append(&rig.path("access.log"), &lines(before..length));
                        rig.rename("access.log", "access.log.1");
                        append(&rig.path("access.log"), &lines(length..length + 10));
                        let mut state = rig.tail.checkpoints();
                        for (_, step) in STEPS.iter().enumerate().filter(|(number, _)| steps & 1 << number != 0) {
                            put(rig.folder.path(), compression, &text, *step);
                            rig.restart(state);
                            state = rig.tail.checkpoints();
                        }
                        put(rig.folder.path(), compression, &text, (CompressionStage::Whole, false));
                        rig.restart(state);
                        rig.wait(5);
                        let mut told: Vec<_> = rig.lines().iter().map(|text| number_of(text).unwrap()).collect();
                        told.sort_unstable();
                        assert_eq!(
                            told,
                            (0..length + 10).collect::<Vec<_>>(),
                            "{compression:?} {length} {before} {steps:b} {names:?} {:?}",
                            rig.notices
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn runs_at_any_steps_of_a_packing_read_its_log_once() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        for length in [1, 100] {
            for before in [None, Some(0), Some(1), Some(length / 2)] {
                for steps in 1u32..1 << STEPS.len() {
                    for names in [&[""][..], &["access.log"], &["access.log*"]] {
                        if before.is_none() && names[0] == "access.log" {
                            continue;
                        }
                        let text = lines(0..length);
                        let mut runs = OneShotRuns::new();
                        let mut told = Vec::new();
                        if let Some(before) = before {
                            append(&runs.path("access.log"), &lines(0..before));
                            told.extend(runs.run(names));
                        }
                        fs::write(runs.path("access.log.1"), &text).unwrap();
                        fs::write(runs.path("access.log"), lines(length..length + 10)).unwrap();
                        for (_, step) in STEPS.iter().enumerate().filter(|(number, _)| steps & 1 << number != 0) {
                            put(runs.folder.path(), compression, &text, *step);
                            told.extend(runs.run(names));
                        }
                        put(runs.folder.path(), compression, &text, (CompressionStage::Whole, false));
                        told.extend(runs.run(names));
                        let mut told: Vec<_> = told.into_iter().map(Option::unwrap).collect();
                        told.sort_unstable();
                        assert_eq!(
                            told,
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

/// Packs a file as a program does it: block by block, and then it is gone. Waits for nobody.
fn pack_beside(path: PathBuf, compression: Compression, pause: Duration) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        use std::io::Write;
        let text = fs::read(&path).unwrap();
        let compressed = pack(compression, [&text[..]]);
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
fn a_packing_that_does_not_wait_is_read_once() {
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
        let packer = pack_beside(runs.path("access.log.1"), compression, pause);
        let mut told = Vec::new();
        if once {
            let begin = if trial / 64 % 2 == 0 { StartPosition::ExplicitInputs } else { StartPosition::Start };
            told.extend(runs.run_with(&[name], begin));
            packer.join().unwrap();
            told.extend(runs.run_with(&[name], begin));
        } else {
            let mut heard = Vec::new();
            let mut tail = runs.tail(&[name], StartPosition::Start);
            let mut now = Instant::now();
            for _ in 0..3 {
                tail.poll(now, None);
                while tail.read(now, &mut |piece| note(&mut heard, piece)) {}
                now += Duration::from_millis(250);
            }
            packer.join().unwrap();
            for _ in 0..100 {
                tail.poll(now, None);
                while tail.read(now, &mut |piece| note(&mut heard, piece)) {}
                now += Duration::from_millis(500);
            }
            told.extend(heard.iter().map(|told| told.text.as_deref().and_then(number_of)));
        }
        let count = told.len();
        let mut told: Vec<_> = told.into_iter().map(Option::unwrap).collect();
        told.sort_unstable();
        if told != (0..length + 10).collect::<Vec<_>>() {
            wrong.push(format!("{trial} {compression:?} {length} once {once} {name:?}: {count} of {}; {:?}", length + 10, runs.notices));
        }
    }
    assert!(wrong.is_empty(), "{} of {trials}: {wrong:#?}", wrong.len());
}
