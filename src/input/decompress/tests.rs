//! The laws of unpacking: what was packed comes out, what is cut off is named, and no byte is wrong in silence.

use std::io::{BufReader, Cursor, Read};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::fixture::{COMPRESSIONS, pack, skippable, zstd};
use super::*;

/// What came of a packed file.
#[derive(Debug, PartialEq, Eq, Default)]
struct Out {
    text: Vec<u8>,
    /// What ended it, if not its end.
    error: Option<String>,
    damage: Option<String>,
    note: Option<String>,
}

impl Out {
    fn text(text: &[u8]) -> Self {
        Self { text: text.to_vec(), ..Self::default() }
    }
}

/// Unpacks with buffers of these sizes.
fn unpack_by(compressed: &[u8], compression: Compression, (input, output): (usize, usize)) -> Out {
    let mut unpack = Decompressor::new(BufReader::with_capacity(input, Cursor::new(compressed)), compression);
    let mut out = Out::default();
    let mut block = vec![0; output];
    loop {
        match unpack.read(&mut block) {
            Ok(0) => break,
            Ok(read) => out.text.extend_from_slice(&block[..read]),
            Err(error) => {
                out.error = Some(error.to_string());
                break;
            }
        }
    }
    out.damage = unpack.damage().map(str::to_owned);
    out.note = unpack.note().map(str::to_owned);
    out
}

fn unpacked(compressed: &[u8], compression: Compression) -> Out {
    unpack_by(compressed, compression, (64 << 10, 256 << 10))
}

/// Lines that pack somewhat; now and then more of them than a block of zstd or bzip2 holds.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let lines = |(seed, count): (u64, u64)| -> Vec<u8> {
        let line =
            |number: u64| format!("{:x} - GET /{}\n", (seed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40, number % 7).into_bytes();
        (0..count).flat_map(line).collect()
    };
    let count = prop_oneof![4 => 0..3_u64, 8 => 0..200_u64, 1 => 8_000..20_000_u64];
    prop_oneof![9 => (any::<u64>(), count).prop_map(lines), 1 => vec(any::<u8>(), 0..2000)]
}

fn compression() -> impl Strategy<Value = Compression> {
    select(&COMPRESSIONS[..])
}

fn sizes() -> impl Strategy<Value = (usize, usize)> {
    let size = || prop_oneof![1..10_usize, 1..1000_usize, Just(64 << 10)];
    (size(), size())
}

/// What may stand between two members and says nothing.
fn between(compression: Compression, len: usize) -> Vec<u8> {
    match compression {
        Compression::Xz => vec![0; len / 4 * 4],
        Compression::Zstd if len > 0 => skippable(len),
        _ => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_packed_comes_out(compression in compression(), parts in vec((text(), 0..30_usize), 1..5), sizes in sizes()) {
        let mut compressed = Vec::new();
        for (part, len) in &parts {
            compressed.extend(pack(compression, [&part[..]]));
            compressed.extend(between(compression, *len));
        }
        let text: Vec<u8> = parts.into_iter().flat_map(|(part, _)| part).collect();
        prop_assert_eq!(unpack_by(&compressed, compression, sizes), Out::text(&text));
    }

    #[test]
    fn what_is_cut_off_is_named(compression in compression(), parts in vec(text(), 1..4), cut in any::<Index>(), sizes in sizes()) {
        let compressed: Vec<_> = parts.iter().map(|part| pack(compression, [&part[..]])).collect();
        let (whole, text) = (compressed.concat(), parts.concat());
        let cut = 1 + cut.index(whole.len());
        let out = unpack_by(&whole[..cut], compression, sizes);
        prop_assert!(text.starts_with(&out.text));
        // Whatever is whole is there.
        let ends: Vec<usize> = compressed.iter().scan(0, |end, member| { *end += member.len(); Some(*end) }).collect();
        let whole_ones = ends.iter().take_while(|end| **end <= cut).count();
        let least: usize = parts[..whole_ones].iter().map(Vec::len).sum();
        prop_assert!(out.text.len() >= least);
        let expected = format!("{} stream ends early, after {} bytes of text", compression.name(), out.text.len());
        prop_assert_eq!(out.error, (!ends.contains(&cut)).then_some(expected));
        prop_assert_eq!((out.damage, out.note), (None, None));
    }

    #[test]
    fn no_byte_is_wrong_in_silence(compression in compression(), parts in vec(text(), 1..3), at in any::<Index>(), by in 1..=255_u8, sizes in sizes()) {
        let text = parts.concat();
        let mut compressed = pack(compression, parts.iter().map(Vec::as_slice));
        let at = at.index(compressed.len());
        compressed[at] ^= by;
        let out = unpack_by(&compressed, compression, sizes);
        prop_assert!(out.text == text || out.error.is_some() || out.damage.is_some(), "byte {} ^ {}", at, by);
    }

    #[test]
    fn junk_ends(compression in compression(), junk in vec(any::<u8>(), 0..500), good in text(), sizes in sizes()) {
        let start = pack(compression, [&good[..]]);
        for compressed in [junk.clone(), [start.clone(), junk.clone()].concat(), [&start[..start.len() / 2], &junk[..]].concat()] {
            let out = unpack_by(&compressed, compression, sizes);
            prop_assert!(out.error.is_none_or(|error| !error.is_empty()));
        }
    }
}

#[test]
fn zeros_behind_are_padding_and_others_are_not() {
    for compression in COMPRESSIONS {
        let (name, compressed) = (compression.name(), pack(compression, [&b"one\n"[..]]));
        let note = |zeros: usize| Some(format!("{zeros} zero bytes follow the {name} stream"));
        assert_eq!(unpacked(&[&compressed[..], &[0; 515]].concat(), compression), Out { note: note(515), ..Out::text(b"one\n") });
        let usual = (compression != Compression::Xz).then(|| note(512)).flatten();
        assert_eq!(unpacked(&[&compressed[..], &[0; 512]].concat(), compression), Out { note: usual, ..Out::text(b"one\n") });
        for junk in [&b"junk"[..], b"\0junk", b"\0\0\0\0junk", b"\n"] {
            let error = Some(format!("what follows the {name} stream is no {name} data"));
            assert_eq!(unpacked(&[&compressed[..], junk].concat(), compression), Out { error, ..Out::text(b"one\n") });
        }
    }
}

#[test]
fn a_header_that_is_none_is_named() {
    for (compression, head) in [
        (Compression::Gzip, &b"\x1f\x8b\x07 and more of it"[..]),
        (Compression::Zstd, b"\x28\xb5\x2f\xfd\x08 reserved"),
        (Compression::Bzip2, b"BZh0 and more of it"),
        (Compression::Xz, b"\xfd7zXY and more of it"),
    ] {
        assert_eq!(unpacked(head, compression).error.unwrap(), format!("{} header is damaged", compression.name()));
    }
}

#[test]
fn a_wrong_checksum_ends_nothing_where_it_stands_alone() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let mut first = pack(compression, [&b"one\n"[..]]);
        *first.last_mut().unwrap() ^= 1;
        let damage = format!("{} checksum mismatch in {} 1: its text may not be what was packed", compression.name(), compression.unit());
        let out = unpacked(&[first, pack(compression, [&b"two\n"[..]])].concat(), compression);
        assert_eq!(out, Out { damage: Some(damage), ..Out::text(b"one\ntwo\n") });
    }
}

#[test]
fn a_block_before_a_broken_one_is_not_lost() {
    // A whole frame of three raw blocks (section 3.1.1.2.2), the second of a type that there is none of.
    let block = |last: u32, kind: u32, text: &[u8]| [&((text.len() as u32) << 3 | kind << 1 | last).to_le_bytes()[..3], text].concat();
    let header = b"\x28\xb5\x2f\xfd\xa0\x0c\0\0\0";
    for (kind, text, error) in
        [(0, &b"one\ntwo\nend\n"[..], None), (3, b"one\n", Some("zstd data is corrupt behind 4 bytes of text".to_owned()))]
    {
        let compressed = [header.to_vec(), block(0, 0, b"one\n"), block(0, kind, b"two\n"), block(1, 0, b"end\n")].concat();
        for sizes in [(64 << 10, 256 << 10), (1, 1), (7, 3)] {
            assert_eq!(unpack_by(&compressed, Compression::Zstd, sizes), Out { error: error.clone(), ..Out::text(text) });
        }
    }
}

#[test]
fn a_file_may_begin_with_a_skippable_frame_or_hold_nothing_else() {
    let compressed = [skippable(9), pack(Compression::Zstd, [&b"one\n"[..]]), skippable(0), zstd(b"two\n", false)].concat();
    assert_eq!(unpacked(&compressed, Compression::Zstd), Out::text(b"one\ntwo\n"));
    assert_eq!(unpacked(&skippable(100_000), Compression::Zstd), Out::default());
    let error = Some("zstd stream ends early, after 0 bytes of text".to_owned());
    assert_eq!(unpacked(&skippable(9)[..12], Compression::Zstd), Out { error, ..Out::default() });
}

/// A zstd frame with this descriptor and the rest of its header, and one raw block.
fn frame(header: &[u8]) -> Vec<u8> {
    [b"\x28\xb5\x2f\xfd", header, &[4 << 3 | 1, 0, 0], b"one\n"].concat()
}

#[test]
fn a_window_that_is_too_large_is_refused_by_name() {
    // Exponent 17 over 1 KiB are 128 MiB; the lowest three bits add eighths of that.
    assert_eq!(unpacked(&frame(&[0, 17 << 3]), Compression::Zstd), Out::text(b"one\n"));
    let huge = [&[0xe0][..], &(5_u64 << 30).to_le_bytes()].concat();
    for (header, needed) in [(&[0, 17 << 3 | 1][..], 144), (&[0, 0xff], 3_932_160), (&huge, 5120)] {
        let error = unpacked(&frame(header), Compression::Zstd).error.unwrap();
        assert!(error.starts_with(&format!("needs a zstd window of {needed} MiB, and 128 MiB are the most that is held")), "{error}");
        assert!(error.ends_with("zstd -dc --long=31 FILE | probewatch scan -"), "{error}");
    }
}

#[test]
fn a_dictionary_is_refused_by_its_number() {
    for (header, id) in [(&[1, 0, 7][..], 7), (&[2, 0, 1, 2], 513), (&[3, 0, 0, 0, 0, 1], 1 << 24)] {
        let error = unpacked(&frame(header), Compression::Zstd).error.unwrap();
        assert!(error.starts_with(&format!("is packed with zstd and dictionary {id}, which")), "{error}");
    }
    assert_eq!(unpacked(&frame(&[1, 0, 0]), Compression::Zstd), Out::text(b"one\n"));
}

#[test]
fn an_xz_dictionary_that_is_too_large_is_refused_by_name() {
    let good = pack(Compression::Xz, [&b"one\n"[..]]);
    // A block's header (section 3.1): its size, its flags, the filter, the size of that's properties, and these.
    let header_len = (usize::from(good[12]) + 1) * 4;
    let with = |dictionary: u8| {
        let mut compressed = good.clone();
        assert_eq!(compressed[14..16], [0x21, 1]);
        compressed[16] = dictionary;
        let mut crc = flate2::Crc::new();
        crc.update(&compressed[12..12 + header_len - 4]);
        compressed[12 + header_len - 4..12 + header_len].copy_from_slice(&crc.sum().to_le_bytes());
        unpacked(&compressed, Compression::Xz)
    };
    // 128 and 192 MiB (section 5.3.1).
    assert_eq!(with(30), Out::text(b"one\n"));
    let error = with(31).error.unwrap();
    assert!(error.starts_with("needs an xz dictionary of more than 128 MiB"), "{error}");
    assert!(error.ends_with("xz -dc FILE | probewatch scan -"), "{error}");
    assert!(with(63).error.unwrap().contains("cannot be read"));
}
