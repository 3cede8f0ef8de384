//! Packed texts for the tests.

use std::io::Write;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use zstd_safe::{CCtx, CParameter};

use crate::input::magic::Compression;

/// All that can be unpacked.
pub(in crate::input) const COMPRESSIONS: [Compression; 4] = [Compression::Gzip, Compression::Zstd, Compression::Bzip2, Compression::Xz];

/// A file with a member, frame or stream for each part.
pub(in crate::input) fn pack<'a>(compression: Compression, parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    parts.into_iter().flat_map(|part| pack_one(compression, part)).collect()
}

fn pack_one(compression: Compression, part: &[u8]) -> Vec<u8> {
    match compression {
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd(part, true),
        Compression::Bzip2 => {
            // The smallest blocks, so that there are many.
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
    context.set_parameter(CParameter::ChecksumFlag(checksum)).unwrap();
    let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(part.len()));
    context.compress2(&mut compressed, part).unwrap();
    compressed
}

/// A skippable zstd frame of so many bytes.
pub(in crate::input) fn skippable(len: usize) -> Vec<u8> {
    let len_bytes = (len as u32).to_le_bytes();
    [&b"\x53\x2a\x4d\x18"[..], &len_bytes, &vec![b'x'; len]].concat()
}
