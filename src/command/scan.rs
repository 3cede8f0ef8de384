//! PLACEHOLDER, to be replaced: `probewatch scan`.

use crate::cli::{Exit, message};
use crate::config::Settings;

/// Scans the logs.
#[must_use]
pub fn run(_settings: &Settings) -> Exit {
    message::error("scan: not built yet");
    Exit::Usage
}
