//! One path that is followed: the log it leads to, those it led to before, and what is known of older ones.
//!
//! Looks and never reads lines. The path may lead anywhere at any time; what counts is the file that was opened, and its
//! text.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::content::Text;
use super::content_index::{Elsewhere, Others};
use super::file_stat::{Id, Stamp};
use super::generation::{Log, Role};
use super::generation_reader::Reader;
use super::inspected_file::{Probe, open};
use super::listing::Listings;
use super::mounted;
use super::notice::Notice;
use super::numbers::Numbers;
use super::recognize::is_cut;
use super::start::Begin;
use super::{Given, moved_files};
use crate::input::permission::denied;
use crate::input::rotation_names::{Rank, base_of, folder_of, rank};
use crate::source::Checkpoint;

/// A log that was quiet for so long rests.
const RESTING: Duration = Duration::from_secs(10);
/// A path that leads nowhere for so long is worth a word.
const MISSING: Duration = Duration::from_secs(3);

/// What a look needs from outside.
pub(super) struct Surroundings<'a> {
    pub(super) now: Instant,
    pub(super) numbers: &'a mut Numbers,
    pub(super) notices: &'a mut Vec<Notice>,
    /// Which place holds which file.
    pub(super) held: &'a HashMap<Id, usize>,
    pub(super) listings: &'a mut Listings,
    /// Texts of a state that no place has claimed.
    pub(super) strays: &'a mut Vec<Past>,
    /// The number of the place that looks.
    pub(super) place: usize,
    /// All is read once, and no more.
    pub(super) once: bool,
    /// The files that were given.
    pub(super) given: &'a Given,
    /// What other places know, once all of them looked.
    pub(super) others: Option<&'a mut Others>,
    /// There are no others.
    pub(super) is_alone: bool,
}

impl Surroundings<'_> {
    /// Asks the other places about the text of a file; `None` where they are to be asked when all of them looked.
    pub(super) fn elsewhere(&mut self, path: &Path, ids: [Option<Id>; 2], probe: &mut Probe) -> io::Result<Option<Elsewhere>> {
        match &mut self.others {
            _ if self.is_alone => Ok(Some(Elsewhere::Nobody)),
            Some(others) => others.ask(self.place, path, ids, probe).map(Some),
            None => Ok(None),
        }
    }

    /// Whether another place holds this file.
    pub(super) fn held_elsewhere(&self, id: Id) -> bool {
        self.held.get(&id).is_some_and(|place| *place != self.place)
    }

    pub(super) fn notice(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice { path: path.to_owned(), what: what.into(), problem: false });
    }

    pub(super) fn problem(&mut self, path: &Path, what: impl Into<String>) {
        self.notices.push(Notice { path: path.to_owned(), what: what.into(), problem: true });
    }
}

/// A generation that is not read any more.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) text: Text,
    pub(super) id: Id,
    pub(super) path: PathBuf,
    /// The scan that last met its file.
    pub(super) met: u64,
}

/// Whether a state knows a log or one that it was rotated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    Yes,
    Not,
    /// And at the first look only those siblings are read that were given.
    NotAndOnlyGiven,
}

/// What the path of a place leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leads {
    /// The log.
    Log,
    /// A packed file, which is read as siblings are.
    Packed,
    /// It is not asked for: only files were given that its log was rotated to.
    Nowhere,
}

/// A followed path.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all combinations occur")]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The same from the root on.
    pub(super) absolute: PathBuf,
    pub(super) named: bool,
    /// A pattern or a folder led to it.
    pub(super) is_open: bool,
    /// Where its siblings are, and what their names begin with.
    pub(super) folder: PathBuf,
    pub(super) base: Vec<u8>,
    /// Oldest first; the live one, where there is one, is the last.
    pub(super) logs: Vec<Log>,
    pub(super) past: Vec<Past>,
    /// What to do with text that nobody knows.
    pub(super) begin: Begin,
    /// Siblings in which there is nothing more to find, as they were then.
    pub(super) settled: HashMap<Id, (u64, (i64, i64))>,
    /// Subfolders in which a text of this family was met.
    pub(super) old_folders: BTreeSet<PathBuf>,
    /// The number of the next scan for siblings, and when it is due.
    pub(super) scans: u64,
    pub(super) scan_at: Option<Instant>,
    /// The last of them that looks for what was read under any name.
    pub(super) search_until: u64,
    /// Scans that follow the next one soon: while names are passed on, a list of them may miss one.
    pub(super) rescans: u32,
    /// It met a text that another place may know: the size of its file.
    pub(super) undecided: Option<u64>,
    /// Files that are held changed.
    pub(super) moved: bool,
    /// Another place holds the file that the path leads to.
    pub(super) alias: Option<Id>,
    /// Siblings that another place holds.
    pub(super) wanted: Vec<(Id, PathBuf)>,
    /// Whether a state knows it.
    pub(super) known: Known,
    /// What the path itself is to it.
    pub(super) leads: Leads,
    /// Siblings whose texts the present scan knew.
    pub(super) known_siblings: Vec<(Rank, Stamp)>,
    /// Since when the path leads nowhere, and whether that was said.
    pub(super) missing: Option<(Instant, bool)>,
    /// Whether it was looked at whether the file is mounted by itself.
    told_mount: bool,
    /// What was last said to be wrong with the path.
    trouble: Option<String>,
}

impl Place {
    /// A place at `path`. `begin`: what to do with text that is there at the first look and that nobody knows.
    pub(super) fn new(path: PathBuf, named: bool, begin: Begin) -> Self {
        let (folder, base) = (folder_of(&path), base_of(&path));
        Self {
            absolute: std::path::absolute(&path).unwrap_or_else(|_| path.clone()),
            path,
            named,
            is_open: false,
            folder,
            base,
            logs: Vec::new(),
            past: Vec::new(),
            begin,
            settled: HashMap::new(),
            old_folders: BTreeSet::new(),
            scans: 0,
            scan_at: None,
            search_until: moved_files::SCANS,
            rescans: 0,
            undecided: None,
            moved: false,
            alias: None,
            wanted: Vec::new(),
            known: Known::Not,
            leads: Leads::Log,
            known_siblings: Vec::new(),
            missing: None,
            told_mount: false,
            trouble: None,
        }
    }

    /// Whether a path may be this one, or one that its log was rotated to.
    pub(super) fn is_family(&self, path: &Path) -> bool {
        path == self.path || path == self.absolute || self.is_sibling(path)
    }

    /// Whether a path may be one that its log was rotated to.
    pub(super) fn is_sibling(&self, path: &Path) -> bool {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let near = |folder: &Path| folder == self.folder || Some(folder) == self.absolute.parent();
        (near(folder) || folder.parent().is_some_and(near)) && rank(&self.base, name.as_bytes()).is_some()
    }

    /// The files that are held here.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id> {
        self.logs.iter().filter(|log| !matches!(log.role, Role::Lost { .. })).map(|log| log.stamp.id)
    }

    /// Adds how far everything here was read. A path without any text has a checkpoint too: it says that the path was
    /// followed, so that what comes there is new.
    pub(super) fn checkpoints(&self, checkpoints: &mut Vec<Checkpoint>) {
        for past in &self.past {
            checkpoints.push(past.text.checkpoint_at(&past.path, past.id));
        }
        for log in &self.logs {
            let id = if matches!(log.role, Role::Lost { .. }) || log.stamp.links == 0 { (0, 0) } else { log.stamp.id };
            checkpoints.extend(log.text.as_ref().map(|text| text.checkpoint_at(&log.path, id)));
        }
        if self.leads != Leads::Nowhere && !self.logs.iter().any(|log| log.role == Role::Live && log.text.is_some()) {
            let nothing = Text::new(0, b"", 0, 0, b"");
            checkpoints.push(nothing.checkpoint_at(&self.path, (0, 0)));
        }
    }

    /// Whether nothing has come for a while, and nothing is to be finished: a thousand such logs would cost more than the
    /// one that is written to.
    pub(super) fn is_resting(&self, now: Instant) -> bool {
        let [log] = self.logs.as_slice() else { return false };
        let rests = log.role == Role::Live && log.text.is_some() && !log.suspect && self.rescans == 0;
        rests && now.saturating_duration_since(log.quiet_since) >= RESTING
    }

    /// The log that the path leads to.
    fn live(&mut self) -> Option<&mut Log> {
        self.logs.last_mut().filter(|log| log.role == Role::Live)
    }

    /// Looks at the path and at the logs it led to before. Reads nothing but heads.
    pub(super) fn look(&mut self, around: &mut Surroundings<'_>) {
        match fs::metadata(&self.path) {
            _ if self.leads != Leads::Log => {}
            Ok(found) if found.is_file() => self.found(Stamp::of(&found), around),
            Ok(_) => self.not_a_log(around, "is not a file; only files are followed"),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => self.missing(around),
            Err(error) => self.not_a_log(around, &self.reason(&error)),
        }
        self.look_at_old(around);
    }

    /// Looks through the siblings if it is time, and closes what is done with. Behind the look at all paths, so that
    /// what is listed then is no older than what was seen of them.
    pub(super) fn settle(&mut self, around: &mut Surroundings<'_>) {
        if self.scan_at.is_none_or(|at| at <= around.now) {
            self.scan(around);
        }
        self.close_old(around);
        if self.trouble.is_none() {
            self.begin = Begin::Start;
        }
    }

    fn found(&mut self, stamp: Stamp, around: &mut Surroundings<'_>) {
        if self.live().is_some_and(|live| live.stamp.id == stamp.id) {
            self.same_file(stamp, around);
        } else if self.alias != Some(stamp.id) || !around.held_elsewhere(stamp.id) {
            self.other_file(around);
        }
    }

    /// The path leads where it led before.
    fn same_file(&mut self, stamp: Stamp, around: &mut Surroundings<'_>) {
        let Some(live) = self.live() else { return };
        if live.stamp == stamp && !live.suspect && !stamp.is_young() && around.others.is_none() {
            return;
        }
        if live.stamp.size != stamp.size {
            live.quiet_since = around.now;
        }
        let changed = live.stamp != stamp;
        live.stamp = stamp;
        if live.text.is_none() {
            // It may have held a text that was copied and truncated since.
            if changed {
                self.scan_soon();
            }
            if stamp.size > 0 {
                self.begin_live(around);
            }
        } else if stamp.size < live.offset() || matches!(live.holds(), Ok(false)) {
            self.truncated(around);
        } else {
            live.suspect = false;
        }
    }

    /// The live file was truncated.
    fn truncated(&mut self, around: &mut Surroundings<'_>) {
        let Some(live) = self.logs.len().checked_sub(1) else { return };
        let cut = self.split(live, around);
        let start = std::mem::replace(&mut self.begin, if cut { Begin::End } else { Begin::Start });
        self.begin_live(around);
        self.begin = start;
        around.notice(&self.path, "was truncated");
    }

    /// A file holds another text than the one that was read: what was not read of that must be elsewhere, if it is
    /// anywhere, and the file is another log's. Whether the new text is what is left of the old one.
    pub(super) fn split(&mut self, index: usize, around: &mut Surroundings<'_>) -> bool {
        let old = &mut self.logs[index];
        let Some(file) = old.file().map(Arc::clone) else { return false };
        let mut new = Log::new(old.path.clone(), Reader::Plain(Arc::clone(&file)), old.stamp, None, around.now);
        new.role = if old.role == Role::Live { Role::Live } else { Role::Draining };
        new.unlinked_since = old.unlinked_since;
        new.is_rewritten = true;
        let cut = is_cut(old, &file);
        old.lose(around.now);
        self.logs.insert(index + 1, new);
        self.scan_soon();
        cut
    }

    /// The path leads to a file that is not the live one.
    fn other_file(&mut self, around: &mut Surroundings<'_>) {
        let (file, stamp) = match open(&self.path) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.missing(around),
            Err(error) => return self.not_a_log(around, &self.reason(&error)),
        };
        if self.live().is_some_and(|live| live.stamp.id == stamp.id) {
            return self.same_file(stamp, around);
        }
        self.there_again(around);
        self.retire(around.now);
        self.alias = None;
        if let Some(again) = self.logs.iter().position(|log| log.stamp.id == stamp.id && log.file().is_some()) {
            let mut log = self.logs.remove(again);
            log.role = Role::Live;
            log.unlinked_since = None;
            self.logs.push(log);
            return self.same_file(stamp, around);
        }
        self.moved = true;
        if around.held_elsewhere(stamp.id) {
            self.alias = Some(stamp.id);
            return;
        }
        self.logs.push(Log::new(self.path.clone(), Reader::Plain(file), stamp, None, around.now));
        if !std::mem::replace(&mut self.told_mount, true) && mounted::is_alone(&self.path) {
            around.notice(&self.path, "is a mounted file: a rotation outside cannot be seen here; mount its folder");
        }
        self.begin_live(around);
    }

    /// Gives the live file its text, if it has any by now.
    fn begin_live(&mut self, around: &mut Surroundings<'_>) {
        let Some(live) = self.live() else { return };
        let (Some(file), stamp) = (live.file().map(Arc::clone), live.stamp) else { return };
        match self.text_of(&file, stamp, around) {
            Ok(text) => {
                let number = text.is_some().then(|| around.numbers.next());
                if let (Some(live), Some(text), Some(number)) = (self.live(), text, number) {
                    live.set_text(text, number);
                }
            }
            Err(error) => self.trouble(around, &format!("cannot be read: {error}")),
        }
        if self.leads == Leads::Packed {
            self.logs.pop();
            self.moved = true;
        }
    }

    /// The path leads elsewhere from now on: what it led to is read until nothing comes any more.
    fn retire(&mut self, now: Instant) {
        if let Some(live) = self.live() {
            live.role = Role::Draining;
            live.caught_up = false;
            live.quiet_since = now;
            live.count_links();
        }
        self.scan_soon();
    }

    fn missing(&mut self, around: &mut Surroundings<'_>) {
        if self.live().is_some() {
            self.retire(around.now);
        }
        let (since, told) = self.missing.get_or_insert((around.now, false));
        let never = self.logs.is_empty() && self.past.is_empty();
        if self.named && !around.once && !*told && (never || around.now.duration_since(*since) >= MISSING) {
            *told = true;
            let what = if never { "is not there yet; waiting for it" } else { "is gone; waiting for it to come back" };
            around.notice(&self.path, what);
        }
    }

    fn there_again(&mut self, around: &mut Surroundings<'_>) {
        self.trouble = None;
        if self.missing.take().is_some_and(|(_, told)| told) {
            around.notice(&self.path, "is there now");
        }
    }

    /// Why the path cannot be opened, and which group may read it.
    fn reason(&self, error: &io::Error) -> String {
        if error.kind() == io::ErrorKind::PermissionDenied { denied(&self.path) } else { error.to_string() }
    }

    /// The path leads to something that cannot be read now; what was opened before is read on.
    fn not_a_log(&mut self, around: &mut Surroundings<'_>, what: &str) {
        self.trouble(around, what);
    }

    /// Says what is wrong, once.
    pub(super) fn trouble(&mut self, around: &mut Surroundings<'_>, what: &str) {
        if self.trouble.as_deref() != Some(what) {
            self.trouble = Some(what.to_owned());
            around.problem(&self.path, what);
        }
    }
}
