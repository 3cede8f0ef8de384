//! Detects which field is the client in the lines of one log that have two addresses before the time.
//!
//! Detected once, from the first lines of the log, and only if the log has such lines; no other log is read twice.

use std::path::Path;
use std::sync::Mutex;

use super::log_detection::HEAD_BYTES;
use super::worker::lock;
use crate::formats::{ClientPosition, client_position};
use crate::input::lines::read_head;
use crate::input::read::{Body, Chunk};

/// The detected position for one log.
#[derive(Debug, Default)]
pub(super) struct ClientPositionCache(Mutex<KnownPosition>);

#[derive(Debug, Default)]
struct KnownPosition {
    /// The first lines of a log that cannot be read again.
    head: Option<Vec<u8>>,
    position: Option<ClientPosition>,
}

impl ClientPositionCache {
    /// Observes a chunk of a log that is read in order. Keeps the start of the first one.
    pub(super) fn observe(&self, chunk: Chunk<'_>) {
        let mut known = lock(&self.0);
        if known.head.is_none() {
            let Body::Lines(lines) = chunk.body else { return };
            let end =
                if lines.len() < HEAD_BYTES { lines.len() } else { memchr::memrchr(b'\n', &lines[..HEAD_BYTES]).map_or(0, |at| at + 1) };
            known.head = Some(lines[..end].to_vec());
        }
    }

    /// The position that is known so far.
    pub(super) fn current(&self) -> ClientPosition {
        lock(&self.0).position.unwrap_or_default()
    }

    /// Detects the position after lines were scanned without a client; `None` if it cannot be detected. The first
    /// lines are those of the log at `path`. The position in a growing log is detected again until it has enough
    /// lines.
    pub(super) fn detect(&self, without_client: u64, path: &Path, may_grow: bool) -> Option<ClientPosition> {
        if without_client == 0 {
            return None;
        }
        let mut known = lock(&self.0);
        if let Some(position) = known.position {
            // Another worker may have detected it in the meantime.
            return Some(position).filter(|position| *position != ClientPosition::Unknown);
        }
        let head = known.head.take().or_else(|| read_head(path, HEAD_BYTES)).unwrap_or_default();
        let position = client_position(&head);
        // The head is not extended by another line, so half of it is enough.
        let is_whole = head.len() >= HEAD_BYTES / 2;
        if position != ClientPosition::Unknown || is_whole || !may_grow {
            known.position = Some(position);
        }
        Some(position).filter(|position| *position != ClientPosition::Unknown)
    }
}
