//! Many clients that ask for the same unusual paths within minutes, as a botnet does that was given a new list.
//!
//! A path is unusual where nobody had asked for it in the hour before, as far as the log was seen: `/.env` and
//! `/wp-login.php`, for which somebody asks all day, are noise on every site and no campaign. It stays unusual for as long
//! as a campaign may take to show. What was first asked for within an hour of the log's beginning may be noise or not, and
//! is taken for noise.
//!
//! There is a campaign where five unusual paths were asked for by five networks each. It is not asked whether they are the
//! same five: botnets share their lists out.

use super::span::{Limit, Mark, Span, Sum};
use crate::lru::LruMap;

/// Networks that ask for one path. Two or three strangers may have read the same news; our own machines are fewer.
const PARTIES: usize = 5;

/// Such paths. A new hole has one path or two, and the report names those; a list has more.
pub(super) const PATHS: usize = 5;

/// Ten minutes: a list is worked through in that, and ordinary noise does not meet by chance.
const WITHIN: u32 = 600;

/// An hour without a request makes a path unusual. Noise of the internet comes more often to a site that matters, and to one
/// where it comes less often it does not come from five networks at once.
const REST: i64 = 3_600;

const ASKED_BY: Limit = Limit { count: PARTIES, within: WITHIN };
const SOUGHT: Limit = Limit { count: PATHS, within: WITHIN };

/// Who asks for what.
#[derive(Debug)]
pub(super) struct Campaigns {
    /// The earliest time of all.
    start: i64,
    paths: LruMap<u64, Path>,
    /// The unusual paths that enough networks asked for.
    sought: Span,
}

/// Who asked for a path.
#[derive(Debug, Default)]
struct Path {
    bout: Option<Bout>,
    /// By network.
    parties: Span,
}

/// Requests for a path without an hour between two of them.
#[derive(Debug, Clone, Copy)]
struct Bout {
    /// The earliest request; where it may have gone on before the log was seen, the beginning of time.
    since: i64,
    /// The latest request.
    last: i64,
}

impl Campaigns {
    /// Remembers at most so many paths.
    pub(super) fn new(keys: usize) -> Self {
        Self { start: i64::MAX, paths: LruMap::new(keys), sought: Span::default() }
    }

    /// Takes in a request for a path, a hash, with the mark of the client's network; the latest time of the campaign that
    /// there is then, if there is one.
    pub(super) fn see(&mut self, path: u64, mark: Mark) -> Option<i64> {
        self.start = self.start.min(mark.utc);
        let known = self.paths.value(path, Path::default);
        let bout = Bout::with(known.bout, mark.utc, self.start);
        known.bout = Some(bout);
        if !known.parties.take(mark, ASKED_BY) || !bout.is_unusual() {
            return None;
        }
        let sought = Mark { utc: bout.last, other: path, ..mark };
        if self.sought.take(sought, SOUGHT) { self.sought.latest() } else { None }
    }

    /// What the campaign comes to: its paths are [`PATHS`], its requests one of each network for each path.
    pub(super) fn sum(&self) -> Sum {
        Sum::of(self.sought.marks().filter_map(|mark| self.paths.peek(&mark.other)).map(|path| &path.parties))
    }

    /// Bytes it has room for, but for the table itself, and the paths it knows.
    #[cfg(test)]
    pub(super) fn room(&self) -> (usize, usize) {
        (self.paths.values().map(|path| path.parties.room()).sum(), self.paths.values().count())
    }
}

impl Bout {
    fn with(known: Option<Self>, utc: i64, start: i64) -> Self {
        match known {
            None if utc < start.saturating_add(REST) => Self { since: i64::MIN, last: utc },
            Some(Self { since, last }) if utc < last.saturating_add(REST) => Self { since: since.min(utc), last: last.max(utc) },
            _ => Self { since: utc, last: utc },
        }
    }

    fn is_unusual(self) -> bool {
        self.last < self.since.saturating_add(i64::from(WITHIN))
    }
}
