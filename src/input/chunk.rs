//! What every way of reading hands on: runs of whole lines.
//!
//! Plain data. How the bytes were come by, and whether they may be believed, is settled before anyone keeps a result.

/// A run of whole lines of one input. Chunks of an input are ordered by `offset`; none overlap.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Bytes before it in the input's text (after decompression).
    pub offset: u64,
    /// The lines.
    pub body: Body<'a>,
}

/// The inside of a chunk.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// Lines, each with its newline but perhaps the last one of the input.
    Lines(&'a [u8]),
    /// One line over the length limit, streamed past and not held.
    Oversized {
        /// Its length without the newline.
        bytes: u64,
    },
}

/// What reading one input came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// Bytes of log text seen, after decompression, holes and a byte-order mark included.
    pub bytes: u64,
    /// XXH3 of the first 1,024 bytes of the text, or of all where there are fewer, with a byte-order mark where there is
    /// one: names the generation of a log, whether plain, packed or piped.
    pub generation: u64,
    /// Bytes of holes and NUL runs at the start and at the end of the text that were passed over: what a writer leaves
    /// that goes on at its old offset after `copytruncate`, and what is allocated ahead. The lines between are whole.
    pub hole_bytes: u64,
    /// What went wrong, in a sentence; the lines that were read count all the same.
    pub damage: Option<String>,
    /// What a reader may want to know though nothing is wrong (a fallback, trailing zeros), in a sentence.
    pub notes: Vec<String>,
    /// The caller asked to stop before the end; the lines that were read count all the same.
    pub stopped: bool,
}
