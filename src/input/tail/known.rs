//! Knows a text again that was read before: in another file, by another name, before a restart.
//!
//! Goes by what the text is; a text that nobody knows is left to others.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::begin::{Begin, begin, begin_behind, is_too_little};
use super::elsewhere::Elsewhere;
use super::family::{base_of, is_variant};
use super::log::{Log, Role};
use super::place::{Leads, Place, Surroundings};
use super::probe::Probe;
use super::stamp::{Id, Stamp};
use super::text::{Likeness, Text};
use crate::input::magic;
use crate::source::TAIL;

impl Place {
    /// The text of the live file: one that is known, or a new one.
    pub(super) fn text_of(&mut self, file: &Arc<File>, stamp: Stamp, around: &mut Surroundings<'_>) -> io::Result<Option<Text>> {
        let mut probe = Probe::new(file)?;
        if probe.packed() || !matches!(magic::packing(probe.head()), Ok(None)) {
            if around.once {
                self.leads = Leads::Packed;
            } else if self.named {
                self.trouble(around, "is packed; only plain logs are followed");
            }
            return Ok(None);
        }
        if is_too_little(probe.head()) {
            return Ok(None);
        }
        if let Some(known) = self.recognize(&mut probe, stamp.id, around)? {
            return Ok(Some(known));
        }
        // Where nothing of it is told, it does not matter whose it is.
        if self.begin == Begin::Start {
            match around.elsewhere(&self.path, [Some(stamp.id), None], &mut probe)? {
                None => {
                    self.undecided = Some(stamp.size);
                    return Ok(None);
                }
                Some(Elsewhere::Moved(text)) => return Ok(Some(text)),
                Some(Elsewhere::Copy(len)) => return begin_behind(file, len, around.numbers).map(Some),
                Some(Elsewhere::Nobody) => {}
            }
        }
        if around.once && self.is_older_copy(&mut probe)? {
            around.notice(&self.path, "begins like a log that was read further: perhaps an older copy; read again from its start");
        }
        begin(file, self.begin, around.numbers)
    }

    /// Another place goes on with this text.
    pub(super) fn forget_text(&mut self, generation: u64) {
        self.past.retain(|past| past.text.generation != generation);
        let is_it = |log: &Log| log.text.as_ref().is_some_and(|text| text.generation == generation);
        self.logs.retain(|log| !is_it(log) || log.file().is_some());
        self.logs.iter_mut().filter(|log| is_it(log)).for_each(Log::forget);
        self.moved = true;
    }

    /// Whether a file begins like what was read before, and ends sooner.
    fn is_older_copy(&mut self, probe: &mut Probe) -> io::Result<bool> {
        for past in &mut self.past {
            if past.text.likeness(probe)? == Likeness::Shorter {
                past.id = (0, 0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Claims the text of a file that was followed by a name of another family before a restart.
    pub(super) fn claim(&mut self, probe: &mut Probe, (id, path): (Id, &Path), around: &mut Surroundings<'_>) -> io::Result<()> {
        for index in 0..around.strays.len() {
            let stray = &around.strays[index];
            // Where nothing was read of it, its beginning alone proves little.
            let likely =
                stray.text.offset > 0 || stray.id == id || is_variant(&base_of(&stray.path), &base_of(path)) || !stray.path.exists();
            if likely && stray.text.likeness(probe)? == Likeness::Same {
                self.past.push(around.strays.remove(index));
                break;
            }
        }
        Ok(())
    }

    /// Takes the text of a file from those that are not read any more, or that lost their file.
    fn recognize(&mut self, probe: &mut Probe, id: Id, around: &mut Surroundings<'_>) -> io::Result<Option<Text>> {
        let path = self.path.clone();
        self.claim(probe, (id, &path), around)?;
        let mut found = None;
        for (index, past) in self.past.iter().enumerate() {
            let same_inode = past.id == id;
            if (found.is_none() || same_inode) && past.text.likeness(probe)? == Likeness::Same {
                found = Some(index);
            }
        }
        if let Some(index) = found {
            return Ok(Some(self.past.remove(index).text));
        }
        for index in 0..self.logs.len() {
            let log = &self.logs[index];
            let gone = matches!(log.role, Role::Lost { .. }) || log.role == Role::Draining && log.stamp.links == 0;
            if let Some(text) = log.text.as_ref().filter(|text| gone && text.offset > 0)
                && text.likeness(probe)? == Likeness::Same
            {
                self.moved = true;
                return Ok(self.logs.remove(index).text);
            }
        }
        Ok(None)
    }

    /// The files that lie where this place looks and that another one has.
    pub(super) fn wanted(&mut self) -> Vec<(Id, PathBuf)> {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.extend(self.alias.map(|id| (id, self.path.clone())));
        wanted
    }

    /// Hands on a log that lies at `path` now, if that is none of this place's.
    pub(super) fn give_up(&mut self, id: Id, path: &Path) -> Option<Log> {
        let is_given = |log: &Log| log.stamp.id == id && log.role == Role::Draining && !log.is_packed();
        let index = self.logs.iter().position(is_given).filter(|_| !self.is_family(path))?;
        self.moved = true;
        Some(self.logs.remove(index))
    }

    /// Takes on a log that lies at `path` now.
    pub(super) fn take_over(&mut self, mut log: Log, path: PathBuf) {
        self.moved = true;
        if path == self.path {
            self.alias = None;
            log.role = Role::Live;
            log.unlinked_since = None;
            log.path = path;
            self.logs.push(log);
        } else {
            log.path = path;
            self.logs.insert(0, log);
        }
    }
}

/// Whether `file` holds nothing but the beginning of what `log` read: the rest was cut off, and no new text begun.
pub(super) fn is_cut(log: &Log, file: &Arc<File>) -> bool {
    let likeness = |text: &Text| {
        let mut probe = Probe::new(file)?;
        let enough = probe.likely_len() >= TAIL as u64;
        Ok::<_, io::Error>(enough && text.likeness(&mut probe)? == Likeness::Shorter)
    };
    log.text.as_ref().is_some_and(|text| likeness(text).unwrap_or(false))
}
