//! Reads on in the logs that a path led to before, and closes them when nothing comes any more.
//!
//! A writer may hold a rotated file for long, so quiet is what counts; but a deleted file takes up its disk as long as
//! it is open, so there is an end to it.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::begin::{Begin, begin, begin_behind, is_too_little};
use super::log::{Log, Role, Turn};
use super::place::{Known, Past, Place, Surroundings};
use super::probe::Probe;
use super::sibling::is_copy;
use super::stamp::Stamp;
use super::text::Likeness;
use super::{Options, Piece, away};
use crate::input::chunk::Chunk;
use crate::source::HEAD;

/// A file without a name is closed when it was quiet for so long; a lost text is given up.
const QUIET: Duration = Duration::from_secs(5);
/// A file that still has a name is.
const QUIET_LINKED: Duration = Duration::from_secs(60);
/// A file without a name is closed after so long in any case.
const UNLINKED: Duration = Duration::from_secs(60);
/// Logs of one path that are open beside the live one.
const OPEN: usize = 64;

impl Place {
    /// Looks whether anything came to the logs that the path does not lead to any more.
    pub(super) fn look_at_old(&mut self, around: &mut Surroundings<'_>) {
        let mut changed = false;
        for log in self.logs.iter_mut().filter(|log| log.role != Role::Live) {
            let Some(Ok(metadata)) = log.file().map(|file| file.metadata()) else { continue };
            let stamp = Stamp::of(&metadata);
            if stamp.links == 0 {
                log.unlinked_since.get_or_insert(around.now);
            }
            if stamp == log.stamp && !log.suspect {
                continue;
            }
            if stamp.size != log.stamp.size {
                log.quiet_since = around.now;
            }
            log.stamp = stamp;
            log.suspect = log.text.is_some() && (stamp.size < log.offset() || matches!(log.holds(), Ok(false)));
            changed |= log.suspect || log.text.is_none();
        }
        if changed {
            self.sort_out_old(around);
        }
    }

    /// Gives a text to the files of old logs that hold a new one.
    fn sort_out_old(&mut self, around: &mut Surroundings<'_>) {
        while let Some(index) = self.logs.iter().position(|log| log.suspect && log.role != Role::Live) {
            self.split(index, around);
        }
        let empty = |log: &&Log| log.role == Role::Draining && log.text.is_none() && log.stamp.size > 0;
        let born: Vec<_> = self.logs.iter().filter(empty).map(|log| log.stamp).collect();
        for stamp in born {
            self.begin_old(stamp, around);
        }
    }

    /// A file that was empty when it was rotated away, or was truncated since, holds text now.
    fn begin_old(&mut self, stamp: Stamp, around: &mut Surroundings<'_>) {
        let Some(log) = self.logs.iter().find(|log| log.stamp.id == stamp.id && log.text.is_none()) else { return };
        let Some(file) = log.file().map(Arc::clone) else { return };
        let is_rewritten = log.is_rewritten;
        let copied = match Probe::new(&file) {
            Ok(probe) if is_too_little(probe.head()) => return,
            Ok(mut probe) => {
                if self.is_copy_of_live(is_rewritten, &mut probe) {
                    self.look_again_at(stamp);
                    return;
                }
                self.copied_from_another(is_rewritten, stamp, &mut probe)
            }
            Err(_) => None,
        };
        let begun = match copied {
            Some(len) => begin_behind(&file, len, around.numbers).map(Some),
            None => begin(&file, Begin::Start, around.numbers),
        };
        let Ok(Some(text)) = begun else { return };
        let number = around.numbers.next();
        if let Some(log) = self.logs.iter_mut().find(|log| log.stamp.id == stamp.id && log.text.is_none()) {
            log.set_text(text, number);
        }
    }

    /// Whether a file is a copy of the live one, which has no text yet: where that one begins is to be decided first.
    fn is_copy_of_live(&self, is_rewritten: bool, probe: &mut Probe) -> bool {
        let Some(live) = self.logs.last().filter(|log| log.role == Role::Live && log.text.is_none()) else { return false };
        (is_rewritten || proves_copy(probe)) && is_copy(live, probe).unwrap_or(false)
    }

    /// Has the next look take a file without a text for one that changed.
    fn look_again_at(&mut self, stamp: Stamp) {
        if let Some(log) = self.logs.iter_mut().find(|log| log.stamp.id == stamp.id && log.text.is_none()) {
            log.stamp.size = 0;
        }
    }

    /// The bytes at the beginning of a file that are known from another log: all of them where the log's own file holds the same,
    /// and else as many as were read of that. A few lines in a file that was empty may be others like those, unless their own file lost
    /// them.
    fn copied_from_another(&self, is_rewritten: bool, stamp: Stamp, probe: &mut Probe) -> Option<u64> {
        let is_proof = is_rewritten || proves_copy(probe);
        let others = self.logs.iter().filter(|log| log.stamp.id != stamp.id || matches!(log.role, Role::Lost { .. }));
        let mut copied = None;
        for log in others.filter(|log| is_proof || matches!(log.role, Role::Lost { .. })) {
            let Some(text) = &log.text else { continue };
            if log.file().is_some() && is_copy(log, probe).unwrap_or(false) {
                copied = copied.max(Some(probe.likely_len()));
            } else if matches!(text.likeness(probe), Ok(Likeness::Same)) {
                copied = copied.max(Some(text.offset));
            }
        }
        copied
    }

    /// Closes what is done with.
    pub(super) fn close_old(&mut self, around: &mut Surroundings<'_>) {
        let logs = mem::take(&mut self.logs);
        for mut log in logs {
            let is_over = if around.once { Self::is_finished(&mut log) } else { is_over(&mut log, around) };
            if is_over && !tell_last(&mut log, around) {
                self.moved = true;
                self.bury(log, around);
            } else {
                self.logs.push(log);
            }
        }
        let open = self.logs.iter().filter(|log| log.role == Role::Draining && log.caught_up).count();
        for _ in OPEN..open {
            let closable = self.logs.iter_mut().filter(|log| log.role == Role::Draining && log.caught_up);
            if let Some(log) = closable.min_by_key(|log| log.quiet_since) {
                log.role = Role::Closing;
            }
        }
    }

    /// Keeps of a log only what its text is known by.
    fn bury(&mut self, log: Log, around: &mut Surroundings<'_>) {
        if let Some(damage) = log.damage().filter(|_| !log.is_told_again()) {
            around.problem(&log.path, format!("is damaged: {damage}"));
        }
        let id = if log.stamp.links == 0 { (0, 0) } else { log.stamp.id };
        self.search_until = self.scans + away::SCANS;
        if let Some(text) = log.text {
            self.past.push(Past { text, id, path: log.path, met: self.scans });
        }
    }

    /// Gives at most one block of each log that has something new, the older logs first; whether there is more at once.
    pub(super) fn read(&mut self, options: &Options, buffer: &mut Vec<u8>, each: &mut dyn FnMut(Piece<'_>)) -> bool {
        let mut more = false;
        for log in &mut self.logs {
            let waited = Self::is_blocking(log);
            if log.has_more() {
                more |= read_log(log, (self.named, self.is_open, self.known != Known::Yes), options, buffer, each);
            }
            if Self::is_blocking(log) {
                break;
            }
            // What waited for this log can go on at once.
            more |= waited;
        }
        more
    }
}

/// Whether a file holds so much that another one of the same beginning is a copy.
fn proves_copy(probe: &Probe) -> bool {
    probe.head().len() == HEAD
}

/// Gives a text to a file that never held a whole line, so that what it holds is told before it is closed; whether it
/// has one now.
fn tell_last(log: &mut Log, around: &mut Surroundings<'_>) -> bool {
    let Some(file) = log.file().filter(|_| log.text.is_none()).map(Arc::clone) else { return false };
    let Ok(Some(text)) = begin(&file, Begin::Last, around.numbers) else { return false };
    log.set_text(text, around.numbers.next());
    log.role = Role::Closing;
    true
}

/// Gives one block of a log; whether there is more at once.
fn read_log(
    log: &mut Log,
    (named, is_open, fresh): (bool, bool, bool),
    options: &Options,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(Piece<'_>),
) -> bool {
    let path = mem::take(&mut log.path);
    let (number, generation) = (log.number, log.text.as_ref().map_or(0, |text| text.generation));
    let mut take = |lines_before: u64, chunk: Chunk<'_>| {
        each(Piece { log: number, generation, path: &path, named, is_open, fresh, lines_before, chunk });
    };
    let turn = log.read(options.block, options.max_line, buffer, &mut take);
    log.path = path;
    // What cannot be read now is tried again when something happens to it, and nothing waits for that.
    log.caught_up |= turn.is_err();
    turn.unwrap_or(Turn::End) == Turn::More
}

/// Whether a log is to be closed now. One with an unfinished line has that told first.
fn is_over(log: &mut Log, around: &Surroundings<'_>) -> bool {
    let quiet = around.now.saturating_duration_since(log.quiet_since);
    match log.role {
        Role::Live => false,
        Role::Lost { .. } => quiet >= QUIET,
        Role::Done => true,
        Role::Closing => log.suspect || log.text.is_none(),
        Role::Draining if log.is_packed() => false,
        Role::Draining if log.suspect => true,
        Role::Draining => {
            let unlinked = log.unlinked_since.map(|since| around.now.saturating_duration_since(since));
            let limit = if unlinked.is_some() { QUIET } else { QUIET_LINKED };
            // Too little to be known again by, once it is closed and goes on.
            let weak = log.text.is_none() && log.stamp.size > 0 && unlinked.is_none();
            let read = !weak && (log.text.is_none() || log.caught_up);
            let over = read && (quiet >= limit && log.is_read() || unlinked.is_some_and(|since| since >= UNLINKED));
            if over && (log.is_unfinished() || log.has_more()) {
                log.role = Role::Closing;
                return false;
            }
            over
        }
    }
}
