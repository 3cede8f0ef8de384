//! Decompresses gzip, zstd, bzip2 and xz files, including concatenated members, and describes
//! damage exactly.
//!
//! Text before the damage is returned first. The rest of a damaged file is not searched for further
//! members. At most [`MAX_WINDOW`] bytes of a text are kept in memory, whatever window the file
//! requests.

mod decoders;

use std::io::{BufRead, Read};
use std::{fmt, io};

use self::decoders::{Bzip2Decoder, GzipDecoder, XzDecoder, ZstdDecoder};
use super::magic::Compression;

/// Maximum window in bytes: what `zstd --long` and `xz -9` need, and twice that.
const MAX_WINDOW: u64 = 128 << 20;

/// Reads the text of a compressed file.
#[derive(Debug)]
pub(super) struct Decompressor<R> {
    source: R,
    compression: Compression,
    codec: Codec,
    state: DecompressorState,
    /// The input started with valid data of this compression.
    seen_stream: bool,
    members: u64,
    /// Zero bytes since the last member.
    zeros: u64,
    text_bytes: u64,
    damage: Option<String>,
    note: Option<String>,
}

#[derive(Debug)]
enum DecompressorState {
    /// Before a member or the end.
    Between,
    /// Within a member.
    Within,
    /// At the end of the text; the error, if the file did not end there.
    Over(Option<io::Error>),
}

enum Codec {
    Gzip(GzipDecoder),
    Zstd(ZstdDecoder),
    Bzip2(Bzip2Decoder),
    Xz(XzDecoder),
}

impl<R: BufRead> Decompressor<R> {
    /// Decompresses `source`, which starts with the magic bytes of `compression`.
    pub(super) fn new(source: R, compression: Compression) -> Self {
        let codec = match compression {
            Compression::Gzip => Codec::Gzip(GzipDecoder::new()),
            Compression::Zstd => Codec::Zstd(ZstdDecoder::new()),
            Compression::Bzip2 => Codec::Bzip2(Bzip2Decoder::new()),
            Compression::Xz => Codec::Xz(XzDecoder::new()),
        };
        let state = DecompressorState::Between;
        Self {
            source,
            compression,
            codec,
            state,
            seen_stream: false,
            members: 0,
            zeros: 0,
            text_bytes: 0,
            damage: None,
            note: None,
        }
    }

    /// Damage that did not end the text, as a sentence.
    pub(super) fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Something worth knowing that is not an error, as a sentence.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The compressed source, at its current position.
    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Starts the next member, if there is one. Zeros after the last member are padding, as on
    /// tapes.
    fn begin(&mut self) -> io::Result<DecompressorState> {
        if self.seen_stream {
            self.zeros += skip_zeros(&mut self.source)?;
        }
        let name = self.compression.name();
        // Stream padding of xz comes in multiples of four bytes and needs no note (section 2.2).
        let is_usual = self.compression == Compression::Xz && self.zeros.is_multiple_of(4);
        if self.source.fill_buf()?.is_empty() {
            self.note = (self.zeros > 0 && !is_usual)
                .then(|| format!("{} zero bytes follow the {name} stream", self.zeros));
            return Ok(DecompressorState::Over(None));
        }
        let may_begin = self.zeros == 0 || is_usual;
        let seen_stream = if may_begin {
            self.codec.begin(&mut self.source)?
        } else {
            StreamStart::None
        };
        self.zeros = 0;
        match seen_stream {
            StreamStart::None if self.seen_stream => Err(invalid(format!(
                "data after the {name} stream is not {name} data"
            ))),
            StreamStart::None => Err(invalid(format!("{name} header is damaged"))),
            StreamStart::Skipped => {
                self.seen_stream = true;
                Ok(DecompressorState::Between)
            }
            StreamStart::Stream => {
                self.seen_stream = true;
                self.members += 1;
                Ok(DecompressorState::Within)
            }
        }
    }

    /// Decompresses part of a member into `out`; returns the number of bytes and the next state.
    /// Bytes may precede an error.
    fn step(&mut self, out: &mut [u8]) -> (usize, io::Result<DecompressorState>) {
        let compressed = match self.source.fill_buf() {
            Ok(compressed) => compressed,
            Err(error) => return (0, Err(error)),
        };
        let at_end = compressed.is_empty();
        let DecodeStep {
            consumed,
            produced,
            progress,
        } = self.codec.step(compressed, out);
        self.source.consume(consumed);
        self.text_bytes += produced as u64;
        let next = match progress {
            Ok(DecodeProgress::End) => self.check(),
            Ok(DecodeProgress::More) if at_end && produced == 0 => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Ok(DecodeProgress::More) => Ok(DecompressorState::Within),
            Err(fault) => Err(self.describe(fault)),
        };
        (produced, next)
    }

    /// Verifies the checksum after a member. A mismatch does not end the text.
    fn check(&mut self) -> io::Result<DecompressorState> {
        let is_right = self.codec.check(&mut self.source)?;
        if !is_right && self.damage.is_none() {
            let (name, unit) = (self.compression.name(), self.compression.unit());
            self.damage = Some(format!(
                "{name} checksum mismatch in {unit} {}: its text may be wrong",
                self.members
            ));
        }
        Ok(DecompressorState::Between)
    }

    fn describe(&self, fault: DecodeError) -> io::Error {
        let (name, bytes) = (self.compression.name(), self.text_bytes);
        invalid(match fault {
            DecodeError::Corrupt => format!("{name} data is corrupt after {bytes} bytes of text"),
            DecodeError::CorruptOrOther => {
                format!(
                    "{name} data is corrupt or fails its checksum, after {bytes} bytes of text: the last of them may be wrong"
                )
            }
            DecodeError::Refused(what) => what,
        })
    }

    /// Describes an unexpected end of the source.
    fn describe_early_end(&self, error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            let what = format!(
                "{} stream ends early, after {} bytes of text",
                self.compression.name(),
                self.text_bytes
            );
            return io::Error::new(io::ErrorKind::UnexpectedEof, what);
        }
        error
    }
}

impl<R: BufRead> Read for Decompressor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let (produced, next) = match &mut self.state {
                DecompressorState::Between => (0, self.begin()),
                DecompressorState::Within => self.step(out),
                DecompressorState::Over(why) => return why.take().map_or(Ok(0), Err),
            };
            match next {
                Ok(state) => self.state = state,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.state = DecompressorState::Over(Some(self.describe_early_end(error)));
                }
            }
            if produced > 0 {
                return Ok(produced);
            }
        }
    }
}

impl Codec {
    fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        match self {
            Self::Gzip(gzip) => gzip.begin(source),
            Self::Zstd(zstd) => zstd.begin(source),
            Self::Bzip2(bzip2) => bzip2.begin(source),
            Self::Xz(xz) => xz.begin(source),
        }
    }

    fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        match self {
            Self::Gzip(gzip) => gzip.step(compressed, out),
            Self::Zstd(zstd) => zstd.step(compressed, out),
            Self::Bzip2(bzip2) => bzip2.step(compressed, out),
            Self::Xz(xz) => xz.step(compressed, out),
        }
    }

    /// Whether the text matches the checksum after it. The libraries for bzip2 and xz check that
    /// themselves.
    fn check(&mut self, source: &mut impl BufRead) -> io::Result<bool> {
        match self {
            Self::Gzip(gzip) => gzip.check(source),
            Self::Zstd(zstd) => zstd.check(source),
            Self::Bzip2(_) | Self::Xz(_) => Ok(true),
        }
    }
}

/// The state of the decoder libraries cannot be printed.
impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Skips zero bytes; returns their number.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = match source.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let zeros = super::sparse::leading_nuls(bytes);
        let more = zeros > 0 && zeros == bytes.len();
        source.consume(zeros);
        skipped += zeros as u64;
        if !more {
            return Ok(skipped);
        }
    }
}

/// What was found where a member may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamStart {
    /// A member; its header was read.
    Stream,
    /// Data without text, such as a skippable frame, which was skipped.
    Skipped,
    /// Nothing valid.
    None,
}

impl StreamStart {
    /// A member, if the library takes its header.
    fn after_header(step: &DecodeStep) -> Self {
        if step.progress.is_ok() {
            Self::Stream
        } else {
            Self::None
        }
    }
}

/// The result of one decoding step.
#[derive(Debug)]
struct DecodeStep {
    /// Compressed bytes consumed.
    consumed: usize,
    /// Bytes of text produced, including those before an error.
    produced: usize,
    progress: Result<DecodeProgress, DecodeError>,
}

/// Whether a member continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DecodeProgress {
    /// There is more, unless the file ends here.
    More,
    /// The member's text is complete.
    End,
}

/// Why a member cannot be decompressed further.
#[derive(Debug)]
enum DecodeError {
    /// Invalid data.
    Corrupt,
    /// Invalid data or a checksum mismatch: the library does not report which.
    CorruptOrOther,
    /// The data needs more memory than allowed, or an unsupported feature; the message.
    Refused(String),
}

/// Reads the next byte; `None` at the end.
fn next_byte(source: &mut impl BufRead) -> io::Result<Option<u8>> {
    source.bytes().next().transpose()
}

/// Skips `magic`; `false` at the first byte that differs.
///
/// # Errors
///
/// The source fails, or ends within it.
fn skip_magic(source: &mut impl BufRead, magic: &[u8]) -> io::Result<bool> {
    for expected in magic {
        match next_byte(source)? {
            Some(byte) if byte == *expected => {}
            Some(_) => return Ok(false),
            None => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
    Ok(true)
}

/// Skips `len` bytes, which must exist.
fn skip(source: &mut impl BufRead, len: u64) -> io::Result<()> {
    let skipped = io::copy(&mut source.by_ref().take(len), &mut io::sink())?;
    if skipped < len {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod fixture {
    //! Compressed texts for tests.

    use std::io::Write;

    use bzip2::write::BzEncoder;
    use flate2::write::GzEncoder;
    use liblzma::write::XzEncoder;
    use zstd_safe::{CCtx, CParameter};

    use crate::input::magic::Compression;

    /// All supported compressions.
    pub(in crate::input) const COMPRESSIONS: [Compression; 4] = [
        Compression::Gzip,
        Compression::Zstd,
        Compression::Bzip2,
        Compression::Xz,
    ];

    /// A file with a member, frame or stream for each part.
    pub(in crate::input) fn compress<'a>(
        compression: Compression,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<u8> {
        parts
            .into_iter()
            .flat_map(|part| compress_one(compression, part))
            .collect()
    }

    fn compress_one(compression: Compression, part: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => zstd(part, true),
            Compression::Bzip2 => {
                // The smallest block size, so that there are many blocks.
                let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Xz => {
                let mut encoder = XzEncoder::new(Vec::new(), 1);
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    /// One zstd frame, with a checksum or without.
    pub(in crate::input) fn zstd(part: &[u8], checksum: bool) -> Vec<u8> {
        let mut context = CCtx::create();
        context
            .set_parameter(CParameter::ChecksumFlag(checksum))
            .unwrap();
        let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(part.len()));
        context.compress2(&mut compressed, part).unwrap();
        compressed
    }

    /// A skippable zstd frame of `len` bytes.
    pub(in crate::input) fn skippable(len: usize) -> Vec<u8> {
        let len_bytes = (len as u32).to_le_bytes();
        [&b"\x53\x2a\x4d\x18"[..], &len_bytes, &vec![b'x'; len]].concat()
    }
}

#[cfg(test)]
mod tests {
    //! Invariants: compressing and decompressing gives the same text, truncation is reported, and
    //! no changed byte is unnoticed.

    use std::io::{BufReader, Cursor, Read};

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    use super::fixture::{COMPRESSIONS, compress, skippable, zstd};
    use super::*;

    /// The result of decompressing a file.
    #[derive(Debug, PartialEq, Eq, Default)]
    struct DecompressedOutput {
        text: Vec<u8>,
        /// The error that ended it, if any.
        error: Option<String>,
        damage: Option<String>,
        note: Option<String>,
    }

    impl DecompressedOutput {
        fn text(text: &[u8]) -> Self {
            Self {
                text: text.to_vec(),
                ..Self::default()
            }
        }
    }

    /// Decompresses with buffers of these sizes.
    fn decompress_with(
        compressed: &[u8],
        compression: Compression,
        (input, output): (usize, usize),
    ) -> DecompressedOutput {
        let mut decompressor = Decompressor::new(
            BufReader::with_capacity(input, Cursor::new(compressed)),
            compression,
        );
        let mut out = DecompressedOutput::default();
        let mut block = vec![0; output];
        loop {
            match decompressor.read(&mut block) {
                Ok(0) => break,
                Ok(read) => out.text.extend_from_slice(&block[..read]),
                Err(error) => {
                    out.error = Some(error.to_string());
                    break;
                }
            }
        }
        out.damage = decompressor.damage().map(str::to_owned);
        out.note = decompressor.note().map(str::to_owned);
        out
    }

    fn decompress(compressed: &[u8], compression: Compression) -> DecompressedOutput {
        decompress_with(compressed, compression, (64 << 10, 256 << 10))
    }

    /// Lines that compress somewhat, sometimes more than a block of zstd or bzip2 holds.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let lines = |(seed, count): (u64, u64)| -> Vec<u8> {
            let line = |number: u64| {
                format!(
                    "{:x} - GET /{}\n",
                    (seed ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40,
                    number % 7
                )
                .into_bytes()
            };
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

    /// Data without text that may be between two members.
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
        fn decompressing_restores_the_text(compression in compression(), parts in vec((text(), 0..30_usize), 1..5), sizes in sizes()) {
            let mut compressed = Vec::new();
            for (part, len) in &parts {
                compressed.extend(compress(compression, [&part[..]]));
                compressed.extend(between(compression, *len));
            }
            let text: Vec<u8> = parts.into_iter().flat_map(|(part, _)| part).collect();
            prop_assert_eq!(decompress_with(&compressed, compression, sizes), DecompressedOutput::text(&text));
        }

        #[test]
        fn truncation_is_reported(compression in compression(), parts in vec(text(), 1..4), cut in any::<Index>(), sizes in sizes()) {
            let compressed: Vec<_> = parts.iter().map(|part| compress(compression, [&part[..]])).collect();
            let (whole, text) = (compressed.concat(), parts.concat());
            let cut = 1 + cut.index(whole.len());
            let out = decompress_with(&whole[..cut], compression, sizes);
            prop_assert!(text.starts_with(&out.text));
            // All complete members are returned.
            let ends: Vec<usize> = compressed.iter().scan(0, |end, member| { *end += member.len(); Some(*end) }).collect();
            let whole_ones = ends.iter().take_while(|end| **end <= cut).count();
            let least: usize = parts[..whole_ones].iter().map(Vec::len).sum();
            prop_assert!(out.text.len() >= least);
            let expected = format!("{} stream ends early, after {} bytes of text", compression.name(), out.text.len());
            prop_assert_eq!(out.error, (!ends.contains(&cut)).then_some(expected));
            prop_assert_eq!((out.damage, out.note), (None, None));
        }

        #[test]
        fn every_changed_byte_is_noticed(compression in compression(), parts in vec(text(), 1..3), at in any::<Index>(), by in 1..=255_u8, sizes in sizes()) {
            let text = parts.concat();
            let mut compressed = compress(compression, parts.iter().map(Vec::as_slice));
            let at = at.index(compressed.len());
            compressed[at] ^= by;
            let out = decompress_with(&compressed, compression, sizes);
            prop_assert!(out.text == text || out.error.is_some() || out.damage.is_some(), "byte {} ^ {}", at, by);
        }

        #[test]
        fn random_bytes_end(compression in compression(), junk in vec(any::<u8>(), 0..500), good in text(), sizes in sizes()) {
            let start = compress(compression, [&good[..]]);
            for compressed in [junk.clone(), [start.clone(), junk.clone()].concat(), [&start[..start.len() / 2], &junk[..]].concat()] {
                let out = decompress_with(&compressed, compression, sizes);
                prop_assert!(out.error.is_none_or(|error| !error.is_empty()));
            }
        }
    }

    #[test]
    fn trailing_zeros_are_padding_and_other_bytes_are_not() {
        for compression in COMPRESSIONS {
            let (name, compressed) = (compression.name(), compress(compression, [&b"one\n"[..]]));
            let note = |zeros: usize| Some(format!("{zeros} zero bytes follow the {name} stream"));
            assert_eq!(
                decompress(&[&compressed[..], &[0; 515]].concat(), compression),
                DecompressedOutput {
                    note: note(515),
                    ..DecompressedOutput::text(b"one\n")
                }
            );
            let usual = (compression != Compression::Xz)
                .then(|| note(512))
                .flatten();
            assert_eq!(
                decompress(&[&compressed[..], &[0; 512]].concat(), compression),
                DecompressedOutput {
                    note: usual,
                    ..DecompressedOutput::text(b"one\n")
                }
            );
            for junk in [&b"junk"[..], b"\0junk", b"\0\0\0\0junk", b"\n"] {
                let error = Some(format!("data after the {name} stream is not {name} data"));
                assert_eq!(
                    decompress(&[&compressed[..], junk].concat(), compression),
                    DecompressedOutput {
                        error,
                        ..DecompressedOutput::text(b"one\n")
                    }
                );
            }
        }
    }

    #[test]
    fn an_invalid_header_is_reported() {
        for (compression, head) in [
            (Compression::Gzip, &b"\x1f\x8b\x07 and more of it"[..]),
            (Compression::Zstd, b"\x28\xb5\x2f\xfd\x08 reserved"),
            (Compression::Bzip2, b"BZh0 and more of it"),
            (Compression::Xz, b"\xfd7zXY and more of it"),
        ] {
            assert_eq!(
                decompress(head, compression).error.unwrap(),
                format!("{} header is damaged", compression.name())
            );
        }
    }

    #[test]
    fn a_checksum_mismatch_does_not_end_the_text() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let mut first = compress(compression, [&b"one\n"[..]]);
            *first.last_mut().unwrap() ^= 1;
            let damage = format!(
                "{} checksum mismatch in {} 1: its text may be wrong",
                compression.name(),
                compression.unit()
            );
            let out = decompress(
                &[first, compress(compression, [&b"two\n"[..]])].concat(),
                compression,
            );
            assert_eq!(
                out,
                DecompressedOutput {
                    damage: Some(damage),
                    ..DecompressedOutput::text(b"one\ntwo\n")
                }
            );
        }
    }

    #[test]
    fn a_block_before_an_invalid_one_is_kept() {
        // A whole frame of three raw blocks (section 3.1.1.2.2), the second of an invalid type.
        let block = |last: u32, kind: u32, text: &[u8]| {
            [
                &((text.len() as u32) << 3 | kind << 1 | last).to_le_bytes()[..3],
                text,
            ]
            .concat()
        };
        let header = b"\x28\xb5\x2f\xfd\xa0\x0c\0\0\0";
        for (kind, text, error) in [
            (0, &b"one\ntwo\nend\n"[..], None),
            (
                3,
                b"one\n",
                Some("zstd data is corrupt after 4 bytes of text".to_owned()),
            ),
        ] {
            let compressed = [
                header.to_vec(),
                block(0, 0, b"one\n"),
                block(0, kind, b"two\n"),
                block(1, 0, b"end\n"),
            ]
            .concat();
            for sizes in [(64 << 10, 256 << 10), (1, 1), (7, 3)] {
                assert_eq!(
                    decompress_with(&compressed, Compression::Zstd, sizes),
                    DecompressedOutput {
                        error: error.clone(),
                        ..DecompressedOutput::text(text)
                    }
                );
            }
        }
    }

    #[test]
    fn a_file_may_start_with_or_consist_of_skippable_frames() {
        let compressed = [
            skippable(9),
            compress(Compression::Zstd, [&b"one\n"[..]]),
            skippable(0),
            zstd(b"two\n", false),
        ]
        .concat();
        assert_eq!(
            decompress(&compressed, Compression::Zstd),
            DecompressedOutput::text(b"one\ntwo\n")
        );
        assert_eq!(
            decompress(&skippable(100_000), Compression::Zstd),
            DecompressedOutput::default()
        );
        let error = Some("zstd stream ends early, after 0 bytes of text".to_owned());
        assert_eq!(
            decompress(&skippable(9)[..12], Compression::Zstd),
            DecompressedOutput {
                error,
                ..DecompressedOutput::default()
            }
        );
    }

    /// A zstd frame with this descriptor and the rest of its header, and one raw block.
    fn frame(header: &[u8]) -> Vec<u8> {
        [b"\x28\xb5\x2f\xfd", header, &[4 << 3 | 1, 0, 0], b"one\n"].concat()
    }

    #[test]
    fn a_window_over_the_limit_is_refused() {
        // Exponent 17 over 1 KiB are 128 MiB; the lowest three bits add eighths of that.
        assert_eq!(
            decompress(&frame(&[0, 17 << 3]), Compression::Zstd),
            DecompressedOutput::text(b"one\n")
        );
        let huge = [&[0xe0][..], &(5_u64 << 30).to_le_bytes()].concat();
        for (header, needed) in [
            (&[0, 17 << 3 | 1][..], 144),
            (&[0, 0xff], 3_932_160),
            (&huge, 5120),
        ] {
            let error = decompress(&frame(header), Compression::Zstd).error.unwrap();
            assert!(
                error.starts_with(&format!(
                    "needs a zstd window of {needed} MiB, and 128 MiB is the limit"
                )),
                "{error}"
            );
            assert!(
                error.ends_with("zstd -dc --long=31 FILE | probewatch scan -"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_zstd_dictionary_is_refused_with_its_id() {
        for (header, id) in [
            (&[1, 0, 7][..], 7),
            (&[2, 0, 1, 2], 513),
            (&[3, 0, 0, 0, 0, 1], 1 << 24),
        ] {
            let error = decompress(&frame(header), Compression::Zstd).error.unwrap();
            assert!(
                error.starts_with(&format!(
                    "is compressed with zstd and dictionary {id}, which"
                )),
                "{error}"
            );
        }
        assert_eq!(
            decompress(&frame(&[1, 0, 0]), Compression::Zstd),
            DecompressedOutput::text(b"one\n")
        );
    }

    #[test]
    fn an_xz_dictionary_over_the_limit_is_refused() {
        let good = compress(Compression::Xz, [&b"one\n"[..]]);
        // A block's header (section 3.1): its size, its flags, the filter, the size of the filter's
        // properties, and the properties.
        let header_len = (usize::from(good[12]) + 1) * 4;
        let with = |dictionary: u8| {
            let mut compressed = good.clone();
            assert_eq!(compressed[14..16], [0x21, 1]);
            compressed[16] = dictionary;
            let mut crc = flate2::Crc::new();
            crc.update(&compressed[12..12 + header_len - 4]);
            compressed[12 + header_len - 4..12 + header_len]
                .copy_from_slice(&crc.sum().to_le_bytes());
            decompress(&compressed, Compression::Xz)
        };
        // 128 and 192 MiB (section 5.3.1).
        assert_eq!(with(30), DecompressedOutput::text(b"one\n"));
        let error = with(31).error.unwrap();
        assert!(
            error.starts_with("needs an xz dictionary of more than 128 MiB"),
            "{error}"
        );
        assert!(
            error.ends_with("xz -dc FILE | probewatch scan -"),
            "{error}"
        );
        assert!(with(63).error.unwrap().contains("not supported"));
    }
}
