//! Invariants of this module: all ways of reading deliver the same lines, and none delivers bytes
//! that were not in the file.

mod damage;
mod equivalence;
mod truncation;

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, OnceLock};

use tempfile::NamedTempFile;

use super::find::{InputOrigin, InputSource, SourceKind};
use super::read::{
    Body, Chunk, MAX_LINE, OpenError, ReadOptions, ReadSummary, SkippedText, read_by,
};
use super::read_context::{ReadContext, WorkSizes};
use super::{ByteRange, Mmap, read};

/// A line as it was delivered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct DeliveredLine {
    offset: u64,
    body: DeliveredBody,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum DeliveredBody {
    /// With its newline.
    Held(Vec<u8>),
    Oversized(SkippedText),
    /// NULs before a line.
    Nuls(u64),
}

/// How a test reads.
#[derive(Debug, Clone, Copy)]
struct ReadMethod {
    mmap: Mmap,
    max_line: usize,
    sizes: WorkSizes,
}

impl ReadMethod {
    fn usual(mmap: Mmap) -> Self {
        Self {
            mmap,
            max_line: MAX_LINE,
            sizes: WorkSizes {
                range: 4 << 20,
                block: 256 << 10,
            },
        }
    }
}

fn pool() -> &'static rayon::ThreadPool {
    static POOL: OnceLock<rayon::ThreadPool> = OnceLock::new();
    POOL.get_or_init(|| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(4)
            .build()
            .unwrap()
    })
}

fn source(path: &Path) -> InputSource {
    InputSource {
        path: path.to_owned(),
        origin: InputOrigin::Name,
        kind: SourceKind::File,
        id: None,
    }
}

fn temporary(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

/// The lines of a chunk.
fn split(chunk: Chunk<'_>, max_line: usize) -> Vec<DeliveredLine> {
    let mut offset = chunk.offset;
    let lines = match chunk.body {
        Body::Lines(lines) => lines,
        Body::Skipped(text) if text.lines() == 0 => {
            let body = DeliveredBody::Nuls(text.bytes);
            return vec![DeliveredLine { offset, body }];
        }
        Body::Skipped(line) => {
            let body = DeliveredBody::Oversized(line);
            return vec![DeliveredLine { offset, body }];
        }
    };
    assert!(!lines.is_empty());
    let mut delivered = Vec::new();
    let mut push = |body, bytes: usize| {
        if bytes > 0 {
            delivered.push(DeliveredLine { offset, body });
        }
        offset += bytes as u64;
    };
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let nuls = line.iter().take_while(|&&byte| byte == 0).count();
        push(DeliveredBody::Nuls(nuls as u64), nuls);
        let line = &line[nuls..];
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let body = if text.len() > max_line {
            let mut skipped = SkippedText::default();
            skipped.add(text);
            DeliveredBody::Oversized(skipped)
        } else {
            DeliveredBody::Held(line.to_vec())
        };
        push(body, line.len());
    }
    delivered
}

/// Where the lines after NULs start.
fn after_nuls(lines: &[DeliveredLine]) -> HashSet<u64> {
    let end = |line: &DeliveredLine| match line.body {
        DeliveredBody::Nuls(nuls) => Some(line.offset + nuls),
        _ => None,
    };
    lines.iter().filter_map(end).collect()
}

/// Reads with `read` and returns the committed lines in order.
fn collect(
    how: ReadMethod,
    read: impl Fn(&ReadContext<'_, Vec<DeliveredLine>>) -> Result<ReadSummary, OpenError> + Sync,
) -> (Vec<DeliveredLine>, ReadSummary) {
    collect_range(how, None, read)
}

/// Collects the lines of a range.
fn collect_range(
    how: ReadMethod,
    range: Option<ByteRange>,
    read: impl Fn(&ReadContext<'_, Vec<DeliveredLine>>) -> Result<ReadSummary, OpenError> + Sync,
) -> (Vec<DeliveredLine>, ReadSummary) {
    let kept = Mutex::new(Vec::new());
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = ReadOptions {
        mmap: how.mmap,
        max_line: how.max_line,
        stop: &stop,
        progress: &progress,
        range,
    };
    let context = ReadContext {
        options: &options,
        sizes: how.sizes,
        observer: &|_| {},
        process: &|chunk| split(chunk, how.max_line),
        commit: &|lines| kept.lock().unwrap().extend(lines),
    };
    let summary = pool().install(|| read(&context)).unwrap();
    let mut lines = kept.into_inner().unwrap();
    lines.sort();
    (lines, summary)
}

fn read_path(path: &Path, how: ReadMethod) -> (Vec<DeliveredLine>, ReadSummary) {
    collect(how, |context| read_by(&source(path), context))
}

/// The lines of a text by the simplest method: all between leading and trailing NULs, after a
/// byte-order mark.
fn reference(text: &[u8], max_line: usize) -> Vec<DeliveredLine> {
    let bom = if text.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let Some(start) = text[bom..].iter().position(|&byte| byte != 0) else {
        return Vec::new();
    };
    let start = bom + start;
    let end = text.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    if start >= end {
        return Vec::new();
    }
    split(
        Chunk {
            offset: start as u64,
            body: Body::Lines(&text[start..end]),
        },
        max_line,
    )
}

#[test]
fn the_public_function_reads_and_counts() {
    let file = temporary(b"one\ntwo\nthree");
    let (stop, progress, lines) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let options = ReadOptions {
        mmap: Mmap::Auto,
        max_line: MAX_LINE,
        stop: &stop,
        progress: &progress,
        range: None,
    };
    let process = |chunk: Chunk<'_>| split(chunk, MAX_LINE).len() as u64;
    let commit = |count| {
        lines.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    let summary = read::read(&source(file.path()), &options, &process, &commit).unwrap();
    assert_eq!(
        (summary.bytes, lines.into_inner(), progress.into_inner()),
        (13, 3, 13)
    );
    assert_eq!(
        summary.generation,
        xxhash_rust::xxh3::xxh3_64(b"one\ntwo\nthree")
    );
    assert_eq!(
        (summary.damage, summary.notes.len(), summary.stopped),
        (None, 0, false)
    );
}

/// Runs another test in a separate process, where the pause is requested and may continue at once.
#[cfg(feature = "failpoints")]
#[test]
fn a_pause_is_reached_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pause.go"), "").unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "input::tests::the_public_function_reads_and_counts",
    ]);
    child
        .env("PROBEWATCH_PAUSE_AT", "chunk:1")
        .env("PROBEWATCH_PAUSE_FILE", folder.path().join("pause"));
    assert!(child.output().unwrap().status.success());
    assert!(folder.path().join("pause.reached").exists());
}
