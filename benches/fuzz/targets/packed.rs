//! Packed logs, through the reader of files.
//!
//! The first byte says what is done with the others: they are read as a file as they are, or packed
//! in one of four ways, changed in one place, and read then.
#![no_main]

use std::io::{Read as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};

use libfuzzer_sys::fuzz_target;
use probewatch::internals::input::Mmap;
use probewatch::internals::input::find::{SourceKind, InputSource};
use probewatch::internals::input::read::{Body, Chunk, MAX_LINE, OpenError, ReadOptions, ReadSummary, read};
use tempfile::NamedTempFile;

/// The most text that a run of the fuzzer reads: packed zeros take a thousandth of their text.
const MOST_TEXT: u64 = 4 << 20;

fuzz_target!(|input: &[u8]| {
    let [way, rest @ ..] = input else { return };
    match way % 5 {
        0 => check_file(rest),
        way => check_packed(way, rest),
    }
});

/// What was read of a file: its lines, and what was said of it.
struct Seen {
    text: Vec<u8>,
    reading: ReadSummary,
}

/// Whatever a file holds, its text is the one that an independent reader finds, or the damage is
/// named.
fn check_file(bytes: &[u8]) {
    let expected = unpacked(bytes);
    if matches!(&expected, Some(text) if text.len() as u64 >= MOST_TEXT || is_packed(text)) {
        return;
    }
    match seen(bytes) {
        Err(unread) => assert!(!unread.to_string().is_empty(), "a refusal without a word"),
        Ok(Seen { text, reading: ReadSummary { damage: None, bytes: length, .. } }) => {
            let Some(expected) = expected else { return };
            assert_eq!(length, expected.len() as u64, "bytes were not counted");
            let Ok(plain) = seen(&expected) else { panic!("a text is read packed and refused plain") };
            assert!(text == plain.text, "another text than an independent reader's, and no word of damage");
        }
        Ok(Seen { reading: ReadSummary { damage: Some(damage), .. }, .. }) => assert!(!damage.is_empty(), "damage without a word"),
    }
}

/// What was packed is read as it is read plain; where one byte of it is changed, that is so or the
/// damage is named.
fn check_packed(way: u8, rest: &[u8]) {
    let [first, second, change, text @ ..] = rest else { return };
    if text.is_empty() || is_packed(text) {
        return;
    }
    let mut bytes = pack(way, text);
    let at = usize::from(u16::from_be_bytes([*first, *second])) % bytes.len();
    bytes[at] ^= change;
    // What is refused plain may be packed twice, which is not looked for.
    let Ok(plain) = seen(text) else { return };
    match seen(&bytes) {
        Ok(Seen { text: read, reading }) if *change == 0 => {
            assert_eq!(reading.damage, None);
            assert_eq!(reading.bytes, plain.reading.bytes, "bytes were not counted");
            assert!(read == plain.text, "a text was changed");
        }
        Ok(Seen { text: read, reading }) if reading.damage.is_none() && is_still(way, &bytes) => {
            assert!(read == plain.text, "byte {at} of a packed text was changed, and no damage is named");
        }
        Ok(_) => {}
        Err(unread) => assert!(*change != 0, "a packed text is refused: {unread}"),
    }
}

fn is_packed(text: &[u8]) -> bool {
    (1..5).any(|way| is_still(way, text)) || matches!(text, [0x1f, 0x8b, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Whether a changed file is still known as packed in this way: without its first bytes it is plain
/// text.
fn is_still(way: u8, bytes: &[u8]) -> bool {
    match way {
        1 => bytes.starts_with(b"\x1f\x8b"),
        2 => bytes.starts_with(b"\x28\xb5\x2f\xfd"),
        // Many a text begins with the first three of these ten.
        3 => matches!(bytes, [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y', ..]),
        _ => bytes.starts_with(b"\xfd7zXZ\0"),
    }
}

fn pack(way: u8, text: &[u8]) -> Vec<u8> {
    let fails = "writing to memory does not fail";
    match way {
        1 => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text).and_then(|()| packer.finish()).expect(fails)
        }
        2 => {
            let mut packer = zstd::stream::Encoder::new(Vec::new(), 1).expect(fails);
            packer.include_checksum(true).expect(fails);
            packer.write_all(text).and_then(|()| packer.finish()).expect(fails)
        }
        3 => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(text).and_then(|()| packer.finish()).expect(fails)
        }
        _ => {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 0);
            packer.write_all(text).and_then(|()| packer.finish()).expect(fails)
        }
    }
}

/// The text of a packed file as other readers see it; `None` where those find damage, or it is not
/// packed.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let read = if bytes.starts_with(b"\x1f\x8b") {
        flate2::read::MultiGzDecoder::new(bytes).take(MOST_TEXT).read_to_end(&mut text)
    } else if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        zstd::stream::Decoder::new(bytes).ok()?.take(MOST_TEXT).read_to_end(&mut text)
    } else if bytes.starts_with(b"BZh") {
        bzip2::read::MultiBzDecoder::new(bytes).take(MOST_TEXT).read_to_end(&mut text)
    } else if bytes.starts_with(b"\xfd7zXZ\0") {
        liblzma::read::XzDecoder::new_multi_decoder(bytes).take(MOST_TEXT).read_to_end(&mut text)
    } else {
        return None;
    };
    read.ok().map(|_| text)
}

/// Reads a file of these bytes, and checks that its chunks are runs of whole lines that follow each
/// other.
fn seen(bytes: &[u8]) -> Result<Seen, OpenError> {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a file");
    let path = file.path().to_owned();
    let source = InputSource { path, origin: InputOrigin::Name, kind: SourceKind::File, id: None };
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = ReadOptions { mmap: Mmap::Never, max_line: MAX_LINE, stop: &stop, progress: &progress, range: None };
    let chunks = Mutex::new(Vec::new());
    let scan_chunk = |chunk: Chunk<'_>| match chunk.body {
        Body::Lines(lines) => (chunk.offset, lines.to_vec(), false),
        Body::Skipped(skipped) => {
            let is_line = skipped.lines() > 0;
            let byte = if is_line { b'?' } else { 0 };
            (chunk.offset, vec![byte; usize::try_from(skipped.bytes).expect("64 bits")], is_line)
        }
    };
    let reading = read(&source, &options, &scan_chunk, &|chunk| chunks.lock().expect("no panic holds it").push(chunk))?;
    Ok(Seen { text: text_of(chunks.into_inner().expect("no panic holds it"), &reading), reading })
}

/// The text of chunks, in their order.
fn text_of(mut chunks: Vec<(u64, Vec<u8>, bool)>, reading: &ReadSummary) -> Vec<u8> {
    chunks.sort_unstable_by_key(|(offset, ..)| *offset);
    let mut text = Vec::new();
    let mut end = 0;
    for (offset, lines, is_oversized) in chunks {
        assert!(offset >= end, "two chunks of the same bytes");
        assert!(!lines.is_empty(), "a chunk of nothing");
        end = offset + lines.len() as u64;
        assert!(end <= reading.bytes, "a chunk beyond the text");
        text.extend_from_slice(&lines);
        if is_oversized {
            text.push(b'\n');
        }
    }
    text
}
