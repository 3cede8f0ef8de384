//! What is said of a configuration: each thing once, with the first place where it holds.
//!
//! A server with a hundred sites says `access_log off` a hundred times; nobody reads a hundred lines about it.

use super::location::ConfigLocation;

/// Things said, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct ConfigNotices {
    notices: Vec<ConfigNotice>,
}

#[derive(Debug)]
struct ConfigNotice {
    location: String,
    what: String,
    more: usize,
}

impl ConfigNotices {
    /// Notes something of a place.
    pub(super) fn add(&mut self, location: ConfigLocation<'_>, what: impl Into<String>) {
        let what = what.into();
        match self.notices.iter_mut().find(|notice| notice.what == what) {
            Some(notice) => notice.more += 1,
            None => self.notices.push(ConfigNotice { location: location.to_string(), what, more: 0 }),
        }
    }

    /// The sentences.
    pub(super) fn into_sentences(self) -> Vec<String> {
        let sentence = |ConfigNotice { location, what, more }| match more {
            0 => format!("{location}: {what}"),
            1 => format!("{location}: {what} (and in 1 more place)"),
            more => format!("{location}: {what} (and in {more} more places)"),
        };
        self.notices.into_iter().map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::server_config::notices::*;
    use std::path::Path;

    #[test]
    fn the_same_is_said_once() {
        let mut notices = ConfigNotices::default();
        for (line, what) in [(1, "a"), (2, "b"), (3, "a"), (4, "c"), (5, "c"), (6, "c")] {
            notices.add(ConfigLocation { file: Path::new("f"), line }, what);
        }
        assert_eq!(notices.into_sentences(), ["f:1: a (and in 1 more place)", "f:2: b", "f:4: c (and in 2 more places)"]);
    }
}
