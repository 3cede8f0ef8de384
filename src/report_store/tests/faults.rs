//! Injects faults at a given system call: either it fails, or the run ends there and makes no
//! further calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;

use rustix::fs::fstat;
use rustix::io::{Errno, Result};

use crate::report_store::disk::Syscall;

/// What happens at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Fails(Errno),
    /// This call and all later ones are not made.
    Dies,
}

#[derive(Debug, Default)]
struct Plan {
    at: Option<(usize, Fault)>,
    calls: usize,
    dead: bool,
    /// What was changed and not synced, by device and inode: by any call, and by moves alone.
    changed: BTreeSet<(u64, u64)>,
    moved: BTreeSet<(u64, u64)>,
    /// Something was removed before a move was synced.
    hasty: bool,
}

thread_local! {
    static PLAN: RefCell<Plan> = RefCell::default();
    static FILE_SYSTEM: Cell<FileSystem> = const { Cell::new(FileSystem { can_exchange: true, can_link: true, order: 0 }) };
}

/// What differs between file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileSystem {
    /// Folders can be swapped.
    pub(super) can_exchange: bool,
    /// There are hard links.
    pub(super) can_link: bool,
    /// The number of the permutation in which the names of a folder are listed; 0 is sorted.
    pub(super) order: usize,
}

/// Sets the file system of this thread.
pub(super) fn set_file_system(file_system: FileSystem) {
    FILE_SYSTEM.set(file_system);
}

/// Permutes the names of a folder.
pub(in crate::report_store) fn in_listing_order(mut names: Vec<OsString>) -> Vec<OsString> {
    names.sort();
    let mut order = FILE_SYSTEM.get().order;
    let mut permuted = Vec::with_capacity(names.len());
    while !names.is_empty() {
        permuted.push(names.remove(order % names.len()));
        order /= names.len() + 1;
    }
    permuted
}

/// Sets a fault at the call with this number, from 1, on this thread.
pub(super) fn plan(at: Option<(usize, Fault)>) {
    PLAN.set(Plan {
        at,
        ..Plan::default()
    });
}

/// Whether the fault happened.
pub(super) fn has_struck() -> bool {
    PLAN.with_borrow(|plan| plan.at.is_some_and(|(at, _)| plan.calls >= at))
}

/// Whether everything that was changed is synced.
pub(super) fn is_durable() -> bool {
    PLAN.with_borrow(|plan| plan.changed.is_empty())
}

/// Whether something was removed before a move was synced.
pub(super) fn removed_too_early() -> bool {
    PLAN.with_borrow(|plan| plan.hasty)
}

/// Forgets the changes so far.
pub(super) fn clear_changes() {
    PLAN.with_borrow_mut(|plan| {
        *plan = Plan {
            at: plan.at,
            calls: plan.calls,
            dead: plan.dead,
            ..Plan::default()
        }
    });
}

/// A step outside the report store: saving the state.
pub(super) fn step() -> Result<()> {
    PLAN.with_borrow_mut(Plan::next)
}

impl Plan {
    fn next(&mut self) -> Result<()> {
        self.calls += 1;
        match self.at {
            _ if self.dead => Err(Errno::IO),
            Some((at, Fault::Fails(error))) if at == self.calls => Err(error),
            Some((at, Fault::Dies)) if at == self.calls => {
                self.dead = true;
                Err(Errno::IO)
            }
            _ => Ok(()),
        }
    }
}

pub(in crate::report_store) fn failpoint(call: Syscall, fd: BorrowedFd<'_>) -> Result<()> {
    let stat = fstat(fd)?;
    let id = (stat.st_dev, stat.st_ino);
    PLAN.with_borrow_mut(|plan| {
        if call == Syscall::Sync {
            // After a failed sync the run ends, except on file systems that cannot sync folders.
            plan.changed.remove(&id);
            plan.moved.remove(&id);
        }
        plan.next()?;
        let FileSystem {
            can_exchange,
            can_link,
            ..
        } = FILE_SYSTEM.get();
        match call {
            Syscall::Exchange if !can_exchange => return Err(Errno::INVAL),
            Syscall::Link if !can_link => return Err(Errno::PERM),
            _ => {}
        }
        match call {
            Syscall::Sync => {}
            Syscall::Move | Syscall::Exchange => {
                plan.moved.insert(id);
                plan.changed.insert(id);
            }
            Syscall::Remove => {
                plan.hasty |= !plan.moved.is_empty();
                plan.changed.insert(id);
            }
            Syscall::Add | Syscall::Link | Syscall::Change => {
                plan.changed.insert(id);
            }
        }
        Ok(())
    })
}
