//! Faults at a given call: it fails, or the run is no more, and so is all that it would have done.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;

use rustix::fs::fstat;
use rustix::io::{Errno, Result};

use crate::report_store::disk::Syscall;

/// What happens at the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Fails(Errno),
    /// Neither this call nor any other is made.
    Dies,
}

#[derive(Debug, Default)]
struct Plan {
    at: Option<(usize, Fault)>,
    calls: usize,
    dead: bool,
    /// What was changed and not made to last, by device and inode: by anything, and by moving alone.
    changed: BTreeSet<(u64, u64)>,
    moved: BTreeSet<(u64, u64)>,
    /// Something was removed while something that was moved would not last.
    hasty: bool,
}

thread_local! {
    static PLAN: RefCell<Plan> = RefCell::default();
    /// Folders cannot change places.
    static EXCHANGES: Cell<bool> = const { Cell::new(true) };
}

/// Whether folders can change places from now on, on this thread.
pub(super) fn let_exchange(can: bool) {
    EXCHANGES.set(can);
}

/// From now on, on this thread, this fault at the call with this number, from 1.
pub(super) fn plan(at: Option<(usize, Fault)>) {
    PLAN.set(Plan { at, ..Plan::default() });
}

/// Whether the fault has come to pass.
pub(super) fn struck() -> bool {
    PLAN.with_borrow(|plan| plan.at.is_some_and(|(at, _)| plan.calls >= at))
}

/// Whether all that was changed would outlast a power cut.
pub(super) fn lasts() -> bool {
    PLAN.with_borrow(|plan| plan.changed.is_empty())
}

/// Whether something was removed while a power cut could undo a move before it.
pub(super) fn was_hasty() -> bool {
    PLAN.with_borrow(|plan| plan.hasty)
}

/// What was changed so far does not count.
pub(super) fn forget_changes() {
    PLAN.with_borrow_mut(|plan| *plan = Plan { at: plan.at, calls: plan.calls, dead: plan.dead, ..Plan::default() });
}

/// A step that is none of this room's: saving the state.
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
            // Where that fails the run does not go on, but for file systems that know no such thing.
            plan.changed.remove(&id);
            plan.moved.remove(&id);
        }
        plan.next()?;
        if call == Syscall::Exchange && !EXCHANGES.get() {
            return Err(Errno::INVAL);
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
            Syscall::Add | Syscall::Change => {
                plan.changed.insert(id);
            }
        }
        Ok(())
    })
}
