//! The output of every reader: chunks of whole lines, and a summary of the read.

/// A run of whole lines of one input. The chunks of an input are ordered by `offset` and do not overlap.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Offset in the input's text, after decompression.
    pub offset: u64,
    /// The lines.
    pub body: Body<'a>,
}

/// The content of a chunk.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Lines, each with its newline; the last line of the input may lack it.
    Lines(&'a [u8]),
    /// One line over the length limit. Its text was skipped.
    Oversized {
        /// Length without the newline.
        bytes: u64,
    },
}

/// The result of reading one input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Bytes of log text read, after decompression, with holes and a byte-order mark.
    pub bytes: u64,
    /// XXH3 of the first 1,024 bytes of the text, or of all if there are fewer, with a byte-order mark if there is
    /// one. Identifies the generation of a log, whether plain, compressed or piped.
    pub generation: u64,
    /// Bytes of holes and NUL runs that were skipped at the start and the end of the text. A writer leaves them when
    /// it keeps its old offset after `copytruncate`, or when it preallocates space.
    pub hole_bytes: u64,
    /// What went wrong, as a sentence. The lines that were read still count.
    pub damage: Option<String>,
    /// Things worth knowing that are no errors, such as a fallback or trailing zeros, as sentences.
    pub notes: Vec<String>,
    /// The caller stopped the read before the end. The lines that were read still count.
    pub stopped: bool,
}
