//! Which folders have been kept long enough, and their end.
//!
//! Removes only what has a name of ours, is a folder, and holds a report of ours; never what `latest` leads to, and
//! never through a link.

use std::time::SystemTime;

use super::name::Name;
use super::publish::GONE;
use super::{Archive, ArchiveError, Keep, LATEST};

impl Archive {
    /// Removes the folders that need not be kept. Returns how many. By names and the given time alone: what was copied
    /// or touched is as old as before.
    ///
    /// # Errors
    ///
    /// A folder cannot be read or removed; those before it are gone.
    pub fn prune(&self, keep: Keep, now: SystemTime) -> Result<usize, ArchiveError> {
        let mut ours = self.ours()?;
        ours.sort_unstable_by(|(_, a), (_, b)| b.cmp(a));
        let latest = self.folder.target(LATEST);
        // Kind by kind, and of each the latest first.
        let (mut before, mut rank, mut removed): (Option<Name>, usize, usize) = (None, 0, 0);
        for (name, parsed) in ours {
            if !self.is_ours(&name)? {
                continue;
            }
            rank = if before.replace(parsed).is_some_and(|other| other.is_like(parsed)) { rank + 1 } else { 0 };
            let is_kept = keep.runs.is_none_or(|runs| rank < runs) && keep.age.is_none_or(|age| parsed.age(now) < age);
            if is_kept || latest.as_deref() == Some(&name) {
                continue;
            }
            self.retire(&name)?;
            removed += 1;
        }
        Ok(removed)
    }

    /// In one step for whoever looks: there, or not.
    fn retire(&self, name: &str) -> Result<(), ArchiveError> {
        let gone = format!("{GONE}{name}");
        self.folder.remove(&gone)?;
        self.folder.rename(name, &self.folder, &gone)?;
        self.discard(&gone)
    }
}
