//! A file that changes while it is read: no signal ends the process, and no line is committed that
//! was not in the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Length of every line, so that an offset determines the line.
const LINE: u64 = 16;
const LINES: u64 = 16_384;
const LEN: u64 = LINE * LINES;
/// Ranges start and end within lines and pages.
const SIZES: WorkSizes = WorkSizes {
    range: 10_007,
    block: 4_001,
};

fn line(number: u64) -> Vec<u8> {
    format!("line {number:010}\n").into_bytes()
}

fn content() -> Vec<u8> {
    (0..LINES).flat_map(line).collect()
}

/// Reads a file that `change` modifies while the third chunk is processed; returns the committed
/// lines.
fn read_changed(
    folder: &str,
    mmap: Mmap,
    change: &(dyn Fn(&File) + Sync),
) -> (Vec<DeliveredLine>, ReadSummary) {
    let file = tempfile::Builder::new().tempfile_in(folder).unwrap();
    file.as_file().write_all_at(&content(), 0).unwrap();
    let processed = AtomicU64::new(0);
    let kept = Mutex::new(Vec::new());
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = ReadOptions {
        mmap,
        max_line: MAX_LINE,
        stop: &stop,
        progress: &progress,
        range: None,
    };
    let process = |chunk: Chunk<'_>| {
        if processed.fetch_add(1, Ordering::Relaxed) == 2 {
            change(file.as_file());
        }
        split(chunk, MAX_LINE)
    };
    let commit = |lines| kept.lock().unwrap().extend(lines);
    let context = ReadContext {
        options: &options,
        sizes: SIZES,
        observer: &|_| {},
        process: &process,
        commit: &commit,
    };
    let summary = pool()
        .install(|| read_by(&source(file.path()), &context))
        .unwrap();
    let mut lines: Vec<DeliveredLine> = kept.into_inner().unwrap();
    lines.sort();
    (lines, summary)
}

/// Asserts that every committed line is in the file at its offset, and was committed once.
fn assert_genuine(lines: &[DeliveredLine]) {
    for kept in lines {
        assert_eq!(
            kept.body,
            DeliveredBody::Held(line(kept.offset / LINE)),
            "{}",
            kept.offset
        );
    }
    assert!(lines.windows(2).all(|pair| pair[0].offset < pair[1].offset));
}

/// Runs `check` on disk and in memory, with and without a map.
fn everywhere(times: u32, check: impl Fn(&str, Mmap)) {
    for folder in [std::env::temp_dir().to_str().unwrap(), "/dev/shm"] {
        for mmap in [Mmap::Always, Mmap::Never] {
            (0..times).for_each(|_| check(folder, mmap));
        }
    }
}

#[test]
fn truncated_to_nothing() {
    everywhere(100, |folder, mmap| {
        let (lines, summary) = read_changed(folder, mmap, &|file| file.set_len(0).unwrap());
        assert_genuine(&lines);
        let kept = lines.len() as u64 * LINE;
        // On a busy system the other thread may have read the whole file by then, and nothing is
        // lost.
        if kept < LEN || summary.damage.is_some() {
            assert_eq!(
                summary.damage,
                Some(format!(
                    "truncated during the scan: {kept} of {LEN} bytes were read"
                ))
            );
        }
        assert_eq!(summary.bytes, kept);
    });
}

#[test]
fn truncated_within_a_page() {
    // Within the head, after it, and far after it; always within a line.
    for len in [1000, 5000, 100_001] {
        everywhere(30, |folder, mmap| {
            let (lines, summary) = read_changed(folder, mmap, &|file| file.set_len(len).unwrap());
            assert_genuine(&lines);
            assert!(
                summary
                    .damage
                    .unwrap()
                    .starts_with("truncated during the scan")
            );
            // All remaining lines are read.
            let left: Vec<_> = lines
                .iter()
                .map(|line| line.offset / LINE)
                .take_while(|&number| number < len / LINE)
                .collect();
            assert_eq!(left, (0..len / LINE).collect::<Vec<_>>());
        });
    }
}

#[test]
fn truncated_and_rewritten() {
    let other: Vec<u8> = (0..2 * LINES)
        .flat_map(|number| format!("OTHER{number:010}\n").into_bytes())
        .collect();
    everywhere(100, |folder, mmap| {
        let (lines, summary) = read_changed(folder, mmap, &|file| {
            file.set_len(0).unwrap();
            file.write_all_at(&other, 0).unwrap();
        });
        assert_genuine(&lines);
        assert!(
            summary
                .damage
                .unwrap()
                .starts_with("replaced during the scan")
        );
    });
}

#[test]
fn truncated_before_the_first_chunk() {
    // No chunk was processed yet when the last byte is removed, after the snapshot.
    let file = temporary(&content());
    let snapshot = crate::input::file_snapshot::FileSnapshot::take(file.as_file()).unwrap();
    file.as_file().set_len(LEN - 1).unwrap();
    for mmap in [Mmap::Always, Mmap::Never] {
        let how = ReadMethod {
            sizes: SIZES,
            ..ReadMethod::usual(mmap)
        };
        let (lines, summary) = collect(how, |context| {
            crate::input::regular_file::read_regular(file.as_file(), &snapshot, context)
        });
        assert_genuine(&lines);
        assert_eq!(lines.len() as u64, LINES - 1);
        assert_eq!(
            summary.damage,
            Some(format!(
                "truncated during the scan: {} of {LEN} bytes were read",
                LEN - LINE
            ))
        );
    }
}

#[test]
fn a_hole_punched_in_the_middle() {
    let (start, len) = (40_000, 80_000);
    everywhere(30, |folder, mmap| {
        let (lines, summary) = read_changed(folder, mmap, &|file| {
            let flags =
                rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            rustix::fs::fallocate(file, flags, start, len).unwrap();
        });
        // The NULs were in the file, so lines with NULs are delivered; the others are unchanged.
        // Ranges processed before and after may disagree on where such a line starts, which is then
        // reported.
        let after_nuls = after_nuls(&lines);
        let (torn, whole): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| {
            after_nuls.contains(&line.offset)
                || matches!(&line.body, DeliveredBody::Nuls(_))
                || matches!(&line.body, DeliveredBody::Held(bytes) if bytes.contains(&0))
        });
        assert_genuine(&whole);
        assert!(
            torn.iter()
                .all(|line| (start - LINE..=start + len).contains(&line.offset))
        );
        let untouched = whole
            .iter()
            .filter(|line| !(start..start + len).contains(&(line.offset + LINE)));
        assert!(untouched.count() as u64 >= LINES - len / LINE - 2);
        assert!(
            summary
                .damage
                .is_none_or(|damage| damage.starts_with("rewritten during the scan"))
        );
    });
}

#[test]
fn appended_to_or_unlinked_is_no_change() {
    everywhere(5, |folder, mmap| {
        let (lines, summary) = read_changed(folder, mmap, &|file| {
            file.write_all_at(b"more\n", LEN).unwrap();
        });
        assert_genuine(&lines);
        assert_eq!(
            (lines.len() as u64, summary.damage, summary.bytes),
            (LINES, None, LEN)
        );
    });
    let (file, unlinked) = (temporary(&content()), AtomicBool::new(false));
    let how = ReadMethod {
        sizes: SIZES,
        ..ReadMethod::usual(Mmap::Always)
    };
    let (lines, summary) = collect(how, |context| {
        let process = |chunk: Chunk<'_>| {
            if !unlinked.swap(true, Ordering::Relaxed) {
                std::fs::remove_file(file.path()).unwrap();
            }
            (context.process)(chunk)
        };
        read_by(
            &source(file.path()),
            &ReadContext {
                process: &process,
                ..*context
            },
        )
    });
    assert_eq!((lines.len() as u64, summary.damage), (LINES, None));
}

#[test]
fn a_rewrite_further_down_is_reported() {
    everywhere(5, |folder, mmap| {
        let (_, summary) = read_changed(folder, mmap, &|file| {
            file.write_all_at(b"LINE", LEN - LINE).unwrap();
        });
        assert_eq!(
            summary.damage,
            Some(format!(
                "rewritten during the scan: {LEN} of {LEN} bytes were read"
            ))
        );
    });
}

#[test]
fn shrinks_and_grows_while_it_is_opened() {
    let file = temporary(&content());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                file.as_file().set_len(0).unwrap();
                file.as_file().write_all_at(&content(), 0).unwrap();
            }
        });
        for round in 0..1000 {
            let mmap = if round % 2 == 0 {
                Mmap::Always
            } else {
                Mmap::Never
            };
            read_path(
                file.path(),
                ReadMethod {
                    sizes: SIZES,
                    ..ReadMethod::usual(mmap)
                },
            );
        }
        done.store(true, Ordering::Relaxed);
    });
}
