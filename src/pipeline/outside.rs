//! Which logs lie outside `--since` and `--until` as a whole, so that reading them would find nothing.
//!
//! In case of doubt a log is read; nothing is lost by that but time. A log is skipped
//!
//! * before `--since`: where its file was last written to more than [`CLOCKS`] before. A server writes a line when its request
//!   is over or later, so no line is later than the last write to the file; copying and packing only make that time later, or
//!   keep it (gzip and logrotate do).
//! * after `--until`: where it is one of a family of rotated files, and begins more than [`LATE`] after. Such files are in
//!   the order of time but for requests that took long: Apache writes the time a request began, and nginx with `buffer=` writes
//!   late. A single file may be many logs put together, and is read.
//!
//! And only where lines of it can be read and all that were looked at agree: a log whose lines are later than its file was made
//! by other clocks, and one that cannot be read is to be heard of.

use std::os::unix::fs::MetadataExt;

use crate::engine::Scope;
use crate::format::Frame;
use crate::input::ends::{Ends, ends};
use crate::input::find::{Kind, Source};
use crate::input::order::has_kin;
use crate::report::model::Skipped;
use crate::time::{Bound, LogTime};

/// By how much the time of a file and that of a line in it may differ, in seconds: no zone is more than 14 hours from UTC, for
/// dates and lines without an offset; and an hour for clocks that go wrong.
const CLOCKS: i64 = 15 * 3_600;

/// By how much a line may be earlier than one before it, in seconds.
const LATE: i64 = 24 * 3_600;

/// No web server wrote before 1990: archives and images that are built to be the same each time give files such a time.
const MADE_UP: i64 = 631_152_000;

/// Bytes at each end of a log that are looked at.
const LOOK: usize = 64 << 10;

/// What there is to know to say which logs are skipped.
pub(super) struct Outside<'a> {
    scope: &'a Scope,
    /// Of each source, whether it is one of a family; empty where that does not matter.
    kin: Vec<bool>,
}

impl<'a> Outside<'a> {
    pub(super) fn of(sources: &[Source], scope: &'a Scope) -> Self {
        let kin = if scope.until.is_some() { has_kin(sources) } else { Vec::new() };
        Self { scope, kin }
    }

    /// Whether the source of this number is not to be read, and why.
    pub(super) fn skips(&self, number: usize, source: &Source) -> Option<Skipped> {
        if source.kind != Kind::File {
            return None;
        }
        let early = self.scope.since.filter(|since| is_old(*since, source));
        let late = self.scope.until.filter(|_| self.kin.get(number) == Some(&true));
        if early.is_none() && late.is_none() {
            return None;
        }
        let times = self.times(&ends(&source.path, LOOK)?);
        if times.is_empty() {
            return None;
        }
        let latest = modified(source)?.saturating_add(CLOCKS);
        if early.is_some_and(|since| times.iter().all(|time| since.is_after(*time) && time.utc <= latest)) {
            return Some(Skipped::BeforeSince);
        }
        let is_late = |until: Bound| times.iter().all(|time| !until.is_after(LogTime { utc: time.utc - LATE, ..*time }));
        late.is_some_and(is_late).then_some(Skipped::AfterUntil)
    }

    /// The times of the lines at both ends.
    fn times(&self, ends: &Ends) -> Vec<LogTime> {
        let lines = [&ends.first, &ends.last].into_iter().flat_map(|lines| lines.split(|&byte| byte == b'\n'));
        lines.filter_map(|line| LogTime::parse_clf(Frame::locate(line, self.scope.format)?.time)).collect()
    }
}

/// Whether a file was last written to so long before that no line of it is as late, whatever offset they were written in.
fn is_old(since: Bound, source: &Source) -> bool {
    let (Bound::Local(since) | Bound::Instant(since)) = since;
    modified(source).is_some_and(|modified| modified >= MADE_UP && modified.saturating_add(CLOCKS) < since)
}

/// When a file was last written to, in seconds since 1970-01-01T00:00:00Z.
fn modified(source: &Source) -> Option<i64> {
    source.path.metadata().ok().map(|metadata| metadata.mtime())
}
