//! Damaged compressed files and files that are not text: all readable lines are delivered, and the
//! rest is reported.

use flate2::GzBuilder;

use super::equivalence::gzip;
use super::*;
use crate::input::decompress::fixture::{COMPRESSIONS, compress};
use crate::input::magic::Compression;

/// Text that compresses badly, so that every compressed byte matters.
fn content(lines: u64) -> Vec<u8> {
    let line =
        |number: u64| format!("{:016x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes();
    (0..lines).flat_map(line).collect()
}

fn read_bytes(compressed: &[u8]) -> (Vec<DeliveredLine>, ReadSummary) {
    read_path(temporary(compressed).path(), ReadMethod::usual(Mmap::Auto))
}

/// Asserts that the delivered lines are the first lines of the text.
fn assert_start(lines: &[DeliveredLine], text: &[u8]) {
    let expected = reference(text, MAX_LINE);
    assert_eq!(lines, &expected[..lines.len()]);
}

#[test]
fn truncated_anywhere() {
    let text = content(20_000);
    for compression in COMPRESSIONS {
        let compressed = compress(compression, [&text[..]]);
        for len in [
            10,
            20,
            100,
            compressed.len() / 2,
            compressed.len() - 9,
            compressed.len() - 1,
        ] {
            let (lines, summary) = read_bytes(&compressed[..len]);
            assert_start(&lines, &text);
            let damage = summary.damage.unwrap();
            assert_eq!(
                damage,
                format!(
                    "{} stream ends early, after {} bytes of text",
                    compression.name(),
                    summary.bytes
                )
            );
            // No decompressed whole line is lost.
            assert_eq!(lines.len() as u64, summary.bytes / 17);
        }
        assert!(read_bytes(&compressed[..compressed.len() - 1]).1.bytes == text.len() as u64);
    }
}

#[test]
fn corrupt_in_the_middle() {
    let text = content(20_000);
    // Stored blocks, followed by a block of an invalid type (RFC 1951, section 3.2.3).
    let mut compressed = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    for part in text.chunks(60_000) {
        let len = part.len() as u16;
        compressed.extend([&[0][..], &len.to_le_bytes(), &(!len).to_le_bytes(), part].concat());
    }
    compressed.extend([0b111; 100]);
    let (lines, summary) = read_bytes(&compressed);
    assert_eq!(
        summary.damage.unwrap(),
        format!("gzip data is corrupt after {} bytes of text", text.len())
    );
    // Up to the damage, not only up to the last full buffer before it.
    assert_eq!(lines, reference(&text, MAX_LINE));
}

#[test]
fn overwritten_in_the_middle() {
    let text = content(200_000);
    for compression in COMPRESSIONS {
        let mut compressed = compress(compression, [&text[..]]);
        let middle = compressed.len() / 2;
        compressed[middle..middle + 200].fill(0xff);
        let (lines, summary) = read_bytes(&compressed);
        assert!(
            summary
                .damage
                .unwrap()
                .starts_with(&format!("{} ", compression.name()))
        );
        assert_start(&lines[..80_000], &text);
    }
}

#[test]
fn a_checksum_or_length_mismatch_does_not_end_the_text() {
    let (one, two) = (content(100), content(50));
    for from_end in [1, 8] {
        let mut first = gzip([&one[..]]);
        let at = first.len() - from_end;
        first[at] ^= 1;
        let (lines, summary) = read_bytes(&[first, gzip([&two[..]])].concat());
        assert_eq!(
            summary.damage.unwrap(),
            "gzip checksum mismatch in member 1: its text may be wrong"
        );
        assert_eq!(lines.len(), 150);
    }
}

#[test]
fn data_after_the_last_member() {
    let compressed = gzip([&b"one\n"[..], b"two\nthr", b"ee\n", b""]);
    let (lines, summary) = read_bytes(&compressed);
    assert_eq!(
        (lines.len(), &summary.damage, summary.notes.len()),
        (3, &None, 0)
    );
    let (padded, note) = read_bytes(&[&compressed[..], &vec![0; 100_000]].concat());
    assert_eq!(
        (padded, note.damage, &note.notes[..]),
        (
            lines.clone(),
            None,
            &["100000 zero bytes follow the gzip stream".to_owned()][..]
        )
    );
    for garbage in [
        &b"garbage"[..],
        b"\0\0garbage",
        b"\x1f\x8b\x07 and more of it",
        b"\x1fgarbage, and more",
    ] {
        let (delivered, summary) = read_bytes(&[&compressed[..], garbage].concat());
        assert_eq!(delivered, lines);
        assert_eq!(
            summary.damage.unwrap(),
            "data after the gzip stream is not gzip data"
        );
    }
}

#[test]
fn headers_with_all_optional_fields() {
    let mut encoder = GzBuilder::new()
        .filename("a.log")
        .comment("c")
        .extra(*b"ex")
        .mtime(1)
        .write(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"one\n").unwrap();
    let mut compressed = encoder.finish().unwrap();
    assert_eq!(read_bytes(&compressed).0.len(), 1);
    let name = compressed.iter().position(|&byte| byte == b'a').unwrap();
    assert!(
        read_bytes(&compressed[..name + 2])
            .1
            .damage
            .unwrap()
            .starts_with("gzip stream ends early")
    );
    compressed[3] |= 0x80;
    assert_eq!(
        read_bytes(&compressed).1.damage.unwrap(),
        "gzip header is damaged"
    );
}

#[test]
fn a_decompression_bomb_is_one_long_line_and_a_note() {
    let block = vec![b'A'; 8 << 20];
    for compression in COMPRESSIONS {
        let compressed = compress(compression, (0..8).map(|_| &block[..]));
        let (lines, summary) = read_bytes(&compressed);
        assert_eq!(
            lines,
            [DeliveredLine {
                offset: 0,
                body: DeliveredBody::Oversized(SkippedText {
                    bytes: 64 << 20,
                    nuls: 0
                })
            }]
        );
        assert_eq!((summary.damage, summary.notes.len()), (None, 1));
        assert!(
            summary.notes[0].starts_with("decompresses to ")
                && summary.notes[0].ends_with(" times its size")
        );
    }
}

#[test]
fn files_that_are_not_text_are_refused() {
    let utf_16: Vec<u8> = "\u{feff}1.2.3.4 - -\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    let cases = [
        (b"\x04\x22\x4d\x18....".to_vec(), "lz4"),
        (picture, "is a PNG picture, not a log"),
        (utf_16.clone(), "UTF-16"),
        (compress(Compression::Xz, [&utf_16[..]]), "UTF-16"),
    ];
    let (stop, progress) = (AtomicBool::new(false), AtomicU64::new(0));
    let options = ReadOptions {
        mmap: Mmap::Auto,
        max_line: MAX_LINE,
        stop: &stop,
        progress: &progress,
        range: None,
    };
    let refused = |path: &Path| {
        read::read(&source(path), &options, &|_| panic!("processed"), &|()| {}).unwrap_err()
    };
    for (content, name) in cases {
        let error = refused(temporary(&content).path());
        assert!(!matches!(error, OpenError::Unreadable(_)) && error.to_string().contains(name));
    }
    assert!(matches!(
        refused("/nowhere".as_ref()),
        OpenError::Unreadable(_)
    ));
    assert!(matches!(refused("/tmp".as_ref()), OpenError::Unreadable(_)));
}
