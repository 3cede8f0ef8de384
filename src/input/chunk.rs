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
pub struct Reading {
    /// Bytes of log text seen, after decompression, holes included.
    pub bytes: u64,
    /// Hash of the first 1,024 bytes of the text, or of all where there are fewer: names the generation of a log.
    pub generation: u64,
    /// Bytes of holes and NUL runs at the start of a chunk that the reader passed over; lines behind them are whole.
    pub hole_bytes: u64,
    /// What went wrong, in a sentence; the lines that were read count all the same.
    pub damage: Option<String>,
    /// What a reader may want to know though nothing is wrong (a fallback, trailing zeros), in a sentence.
    pub notes: Vec<String>,
}
