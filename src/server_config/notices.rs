//! What is said of a configuration: each thing once, with the first place where it holds.
//!
//! A server with a hundred sites says `access_log off` a hundred times; nobody reads a hundred lines about it.

use super::place::Place;

/// Things said, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Notices {
    said: Vec<Notice>,
}

#[derive(Debug)]
struct Notice {
    place: String,
    what: String,
    more: usize,
}

impl Notices {
    /// Notes something of a place.
    pub(super) fn say(&mut self, place: Place<'_>, what: impl Into<String>) {
        let what = what.into();
        match self.said.iter_mut().find(|notice| notice.what == what) {
            Some(notice) => notice.more += 1,
            None => self.said.push(Notice { place: place.to_string(), what, more: 0 }),
        }
    }

    /// The sentences.
    pub(super) fn sentences(self) -> Vec<String> {
        let sentence = |Notice { place, what, more }| match more {
            0 => format!("{place}: {what}"),
            1 => format!("{place}: {what} (and in 1 more place)"),
            more => format!("{place}: {what} (and in {more} more places)"),
        };
        self.said.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::server_config::notices::*;
    use std::path::Path;

    #[test]
    fn the_same_is_said_once() {
        let mut notices = Notices::default();
        for (line, what) in [(1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, "c"), (6, "c")] {
            notices.say(Place { file: Path::new("f"), line }, what);
        }
        assert_eq!(notices.sentences(), ["f:1: a (and in 1 more place)", "f:2: b", "f:4: c (and in 2 more places)"]);
    }
}
