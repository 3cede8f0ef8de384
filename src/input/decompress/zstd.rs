//! One frame of a zstd file (RFC 8878).
//!
//! Its header is read here, so that what it asks for is known before it is granted; the blocks are handed to the library
//! one by one, because what it has unpacked in a call that fails is lost. A dictionary is never looked for.

use std::io::{self, BufRead};

use xxhash_rust::xxh64::Xxh64;
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::MAX_WINDOW;
use super::step::{DecodeError, DecodeProgress, DecodeStep, StreamStart, next_byte, skip, skip_magic};

/// Of a frame (section 3.1.1).
const MAGIC: [u8; 4] = *b"\x28\xb5\x2f\xfd";
/// Of a skippable frame: the first byte may be any from 0x50 to 0x5f (section 3.1.2).
const SKIPPABLE: [u8; 3] = *b"\x2a\x4d\x18";
/// The bits of a frame header's descriptor (section 3.1.1.1.1).
const SINGLE_SEGMENT: u8 = 1 << 5;
const RESERVED: u8 = 1 << 3;
const CHECKSUM: u8 = 1 << 2;
/// Bytes of a block's header, and the type of a block that repeats one byte (section 3.1.1.2).
const BLOCK_HEADER: usize = 3;
const RLE: u32 = 1;

/// Unpacks frames.
pub(super) struct ZstdDecoder {
    library: DCtx<'static>,
    /// Of the present frame's text, where it has a checksum.
    hash: Option<Xxh64>,
    /// What is there of the header of the next block.
    header: Vec<u8>,
    /// Bytes of the present block that are still to come.
    left: usize,
    /// The library may hold text of the blocks it was given.
    full: bool,
}

impl ZstdDecoder {
    pub(super) fn new() -> Self {
        let mut library = DCtx::create();
        // Refused here before the library sees it; this is a second lock on the same door.
        let _ = library.set_parameter(DParameter::WindowLogMax(MAX_WINDOW.ilog2()));
        Self { library, hash: None, header: Vec::with_capacity(BLOCK_HEADER), left: 0, full: false }
    }

    /// Reads a frame's header, or passes over a skippable frame.
    pub(super) fn begin(&mut self, source: &mut impl BufRead) -> io::Result<StreamStart> {
        let Some(first) = next_byte(source)? else { return Ok(StreamStart::None) };
        if matches!(first, 0x50..=0x5f) {
            return skip_skippable_frame(source);
        }
        if first != MAGIC[0] || !skip_magic(source, &MAGIC[1..])? {
            return Ok(StreamStart::None);
        }
        let mut descriptor = [0];
        source.read_exact(&mut descriptor)?;
        let [descriptor] = descriptor;
        if descriptor & RESERVED != 0 {
            return Ok(StreamStart::None);
        }
        let mut rest = [0; 13];
        let rest = &mut rest[..rest_len(descriptor)];
        source.read_exact(rest)?;
        check_limits(descriptor, rest)?;
        self.hash = (descriptor & CHECKSUM != 0).then(|| Xxh64::new(0));
        self.header.clear();
        (self.left, self.full) = (0, false);
        // The library would end a text whose checksum is wrong; it need not know of it.
        let header = [&MAGIC[..], &[descriptor & !CHECKSUM], rest].concat();
        let step = self.feed(&header, &mut []);
        Ok(if step.progress.is_ok() { StreamStart::Stream } else { StreamStart::None })
    }

    /// Unpacks some of a block, or reads the header of the next one.
    pub(super) fn step(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let wanted = match self.left {
            _ if self.full => 0,
            0 => BLOCK_HEADER - self.header.len(),
            left => left,
        };
        let compressed = &compressed[..wanted.min(compressed.len())];
        let step = self.feed(compressed, out);
        if self.left > 0 {
            self.left -= step.consumed;
        } else {
            self.header.extend_from_slice(&compressed[..step.consumed]);
            self.left = self.block_len();
        }
        self.full = step.produced == out.len();
        if let Some(hash) = &mut self.hash {
            hash.update(&out[..step.produced]);
        }
        step
    }

    /// Compares the four lowest bytes of the text's hash (section 3.1.1).
    pub(super) fn check(&self, source: &mut impl BufRead) -> io::Result<bool> {
        let Some(hash) = &self.hash else { return Ok(true) };
        let mut checksum = [0; 4];
        source.read_exact(&mut checksum)?;
        Ok(u32::from_le_bytes(checksum) == hash.digest() as u32)
    }

    /// The bytes behind a block's header, once that is whole.
    fn block_len(&mut self) -> usize {
        let [low, middle, high] = self.header[..] else { return 0 };
        self.header.clear();
        let header = u32::from_le_bytes([low, middle, high, 0]);
        if header >> 1 & 0b11 == RLE { 1 } else { (header >> 3) as usize }
    }

    fn feed(&mut self, compressed: &[u8], out: &mut [u8]) -> DecodeStep {
        let mut source = InBuffer::around(compressed);
        let mut target = OutBuffer::around(out);
        let progress = match self.library.decompress_stream(&mut target, &mut source) {
            Ok(0) => Ok(DecodeProgress::End),
            Ok(_) => Ok(DecodeProgress::More),
            Err(_) => Err(DecodeError::Corrupt),
        };
        DecodeStep { consumed: source.pos(), produced: target.pos(), progress }
    }
}

fn skip_skippable_frame(source: &mut impl BufRead) -> io::Result<StreamStart> {
    if !skip_magic(source, &SKIPPABLE)? {
        return Ok(StreamStart::None);
    }
    let mut len = [0; 4];
    source.read_exact(&mut len)?;
    skip(source, u64::from(u32::from_le_bytes(len)))?;
    Ok(StreamStart::Skipped)
}

/// The bytes of a frame's header behind its descriptor: window, dictionary, and size of the text (section 3.1.1.1).
fn rest_len(descriptor: u8) -> usize {
    let is_single = descriptor & SINGLE_SEGMENT != 0;
    usize::from(!is_single) + dictionary_len(descriptor) + size_len(descriptor)
}

fn dictionary_len(descriptor: u8) -> usize {
    [0, 1, 2, 4][usize::from(descriptor & 0b11)]
}

fn size_len(descriptor: u8) -> usize {
    match descriptor >> 6 {
        0 => usize::from(descriptor & SINGLE_SEGMENT != 0),
        flag => 1 << flag,
    }
}

/// Refuses a frame that asks for more than there is.
fn check_limits(descriptor: u8, rest: &[u8]) -> io::Result<()> {
    let (before, size) = rest.split_at(rest.len() - size_len(descriptor));
    let (window, dictionary) = before.split_at(before.len() - dictionary_len(descriptor));
    let window = match window {
        // Without one all of the text is the window. Two bytes count from 256, which is no matter here.
        [] => number(size),
        window => window_len(window[0]),
    };
    if window > MAX_WINDOW {
        let (needed, most) = (window.div_ceil(1 << 20), MAX_WINDOW >> 20);
        return Err(super::invalid(format!(
            "needs a zstd window of {needed} MiB, and {most} MiB are the most that is held; unpack it and give the text: \
             zstd -dc --long=31 FILE | probewatch scan -"
        )));
    }
    match number(dictionary) {
        0 => Ok(()),
        id => Err(super::invalid(format!(
            "is packed with zstd and dictionary {id}, which is not known here; unpack it and give the text: \
             zstd -dc -D DICTIONARY FILE | probewatch scan -"
        ))),
    }
}

/// The window that a frame asks for, in bytes (section 3.1.1.1.2).
fn window_len(descriptor: u8) -> u64 {
    let base = 1 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 0b111)
}

/// Little-endian, of up to eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
