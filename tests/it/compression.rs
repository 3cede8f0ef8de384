//! Compresses with gzip, zstd, bzip2 and xz.

use std::io::Write as _;

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
}

pub(crate) const COMPRESSIONS: [Compression; 4] = [
    Compression::Gzip,
    Compression::Zstd,
    Compression::Bzip2,
    Compression::Xz,
];

impl Compression {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// Its file extension.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
            Self::Bzip2 => "bz2",
            Self::Xz => "xz",
        }
    }

    /// One member, frame or stream, with a checksum.
    pub(crate) fn pack(self, text: &[u8]) -> Vec<u8> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Self::Zstd => {
                let mut context = zstd_safe::CCtx::create();
                context
                    .set_parameter(zstd_safe::CParameter::ChecksumFlag(true))
                    .unwrap();
                let mut compressed = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
                context.compress2(&mut compressed, text).unwrap();
                compressed
            }
            Self::Bzip2 => {
                let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Self::Xz => {
                let mut encoder = XzEncoder::new(Vec::new(), 1);
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
        }
    }
}
