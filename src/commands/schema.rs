//! `probewatch schema`: what each column and key of the outputs means, on standard output.

use super::{Exit, stdout};
use crate::render::schema::{self, Topic};

/// Describes one output, all of them where `topic` is `None`.
#[must_use]
pub fn run(topic: Option<Topic>) -> Exit {
    let mut text = Vec::new();
    match schema::write(topic, &mut text) {
        Ok(()) => stdout::print(&text),
        Err(error) => stdout::failed(&error),
    }
}
