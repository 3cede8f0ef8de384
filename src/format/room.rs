//! Room that a reader keeps from line to line, so that none has to be made for each.

use super::json::Keys;

/// Buffers for what has to be put together or rewritten, and what a reader remembers to be faster. Nothing in it changes an answer.
#[derive(Debug, Default)]
pub struct Room {
    /// A request line or a target.
    pub(super) request: Vec<u8>,
    /// A query.
    pub(super) query: Vec<u8>,
    /// The `Referer` header.
    pub(super) referer: Vec<u8>,
    /// The `User-Agent` header.
    pub(super) user_agent: Vec<u8>,
    /// A short text that is looked at once: a time, a protocol.
    pub(super) short: Vec<u8>,
    /// The names of the JSON line before.
    pub(super) keys: Keys,
}
