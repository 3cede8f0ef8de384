//! Maps files into memory so that a file cut short under the map costs a chunk and not the process.
//!
//! A page that is mapped but no longer in the file raises SIGBUS when it is touched. The handler here puts zeros in
//! place of everything behind that page and marks the map; whoever reads asks [`GuardedMap::faulted`] afterwards and
//! believes nothing if it is. That alone is not enough to trust a map: see `snapshot`.
//!
//! It refuses to map what it cannot guard; then the file is to be read instead.

#![expect(unsafe_code, reason = "maps, and the signal handler that makes them safe to touch")]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions, UncheckedAdvice};

/// How many maps can be guarded at a time. A worker has one open, more only while it helps out others.
const SLOT_COUNT: usize = 64;
/// A slot whose range is being written. No map starts here: the lowest page of an address space is never mapped.
const CLAIMED: usize = 1;

/// A guarded range of addresses, as the handler sees it. Free where `start` is 0.
struct GuardSlot {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

/// Static because a signal handler has nothing else to find its way by.
static GUARD_SLOTS: [GuardSlot; SLOT_COUNT] =
    [const { GuardSlot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), faulted: AtomicBool::new(false) } }; SLOT_COUNT];

/// What SIGBUS did before: Rust's own handler, as a rule. `None` inside where ours could not be installed.
static PREVIOUS: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// A file in memory, read only. What it shows is believed only after a look at [`faulted`](Self::faulted) and at the
/// file's snapshot.
pub(super) struct GuardedMap {
    // Dropped first: once the addresses are free for another map, the slot must not claim them any more.
    guard: SlotGuard,
    map: Mmap,
}

impl GuardedMap {
    /// Maps the first `len` bytes of `file`. `None` where no slot is free or no handler can be installed.
    ///
    /// # Errors
    ///
    /// The system refuses: no memory, or a file that cannot be mapped.
    pub(super) fn new(file: &File, len: usize) -> io::Result<Option<Self>> {
        if !install() {
            return Ok(None);
        }
        // SAFETY: The map is read only, so nothing is written to the file. That others change its bytes meanwhile
        // cannot be excluded: the bytes handed out are looked at by code that is memory-safe for any content, and what
        // it found is thrown away unless the file proves unchanged. Pages that vanish are the guard's business, which
        // is in place before the first byte is touched.
        let map = unsafe { MmapOptions::new().len(len).map(file)? };
        Ok(SlotGuard::claim(map.as_ptr() as usize, len).map(|guard| Self { guard, map }))
    }

    /// The bytes; zeros behind a page that is gone.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether a page was gone when it was touched. Stays true.
    pub(super) fn faulted(&self) -> bool {
        self.guard.slot().faulted.load(Ordering::SeqCst)
    }

    /// Gives back the memory behind `range`, rounded to whole pages within: a file larger than memory is read without
    /// pressing anything else out. Touched again, the pages come back.
    pub(super) fn release(&self, range: Range<usize>) {
        let page = page_size();
        let start = range.start.next_multiple_of(page);
        let end = range.end.min(self.map.len()) / page * page;
        if start < end {
            // SAFETY: The map is shared and read only, so nothing is lost: the next touch reads the file's page again,
            // or a zero page where the handler put one. The range lies within the map.
            // A refusal only means that the memory is given back later.
            let _ = unsafe { self.map.unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start) };
        }
    }
}

/// The claim on one slot.
struct SlotGuard {
    index: usize,
}

impl SlotGuard {
    /// Takes a free slot for `len` bytes at `start`.
    fn claim(start: usize, len: usize) -> Option<Self> {
        let free = |slot: &GuardSlot| slot.start.compare_exchange(0, CLAIMED, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let guard = Self { index: GUARD_SLOTS.iter().position(free)? };
        let slot = guard.slot();
        slot.faulted.store(false, Ordering::SeqCst);
        slot.start.store(start, Ordering::SeqCst);
        slot.end.store(start + len, Ordering::SeqCst);
        Some(guard)
    }

    fn slot(&self) -> &'static GuardSlot {
        &GUARD_SLOTS[self.index]
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.slot().end.store(0, Ordering::SeqCst);
        self.slot().start.store(0, Ordering::SeqCst);
    }
}

/// Installs the handler, once. Whether it is in place.
fn install() -> bool {
    PREVIOUS
        .get_or_init(|| {
            // SAFETY: `sigaction` is plain data for which all zeros is a valid value.
            let (mut action, mut previous): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
            action.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
            // The thread may be deep in its stack; Rust gives every thread another one for signals.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: Both point to valid structures, and the handler calls only what a handler may.
            let done = unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) };
            (done == 0).then_some(previous)
        })
        .is_some()
}

/// Runs in whatever thread touched a page that is gone, at any instruction. Uses only atomics and calls that are safe
/// there (signal-safety(7); `mmap` is a bare system call), and leaves `errno` as it was.
extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: `errno` is the thread's own, and the kernel hands a valid `siginfo_t` to a handler with SA_SIGINFO.
    let (errno, address, sent) = unsafe { (*libc::__errno_location(), (*info).si_addr() as usize, (*info).si_code <= 0) };
    if sent || !map_zeros(address) {
        restore_previous_handler(signal, sent);
    }
    // SAFETY: As above.
    unsafe { *libc::__errno_location() = errno };
}

/// Puts zeros behind `address` if it is guarded; what is gone there is gone to the end.
fn map_zeros(address: usize) -> bool {
    let Some((slot, end)) = GUARD_SLOTS.iter().find_map(|slot| guarded_end(slot, address).map(|end| (slot, end))) else {
        return false;
    };
    // Marked before any zero can be seen, so that a chunk which holds one is never believed.
    slot.faulted.store(true, Ordering::SeqCst);
    let page = address / page_size() * page_size();
    // SAFETY: `page..end` lies within a live map of this process: the thread that faulted borrows it, so its slot is
    // claimed and its addresses are not given to anyone else. They are read only before and after, by code that takes
    // any bytes; other threads in the same map at worst fault again and do the same again.
    let mapped = unsafe {
        libc::mmap(
            ptr::with_exposed_provenance_mut(page),
            end - page,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    mapped != libc::MAP_FAILED
}

/// The end of the slot's range if `address` lies in it.
///
/// Another slot may change hands while it is looked at. The start is read twice: if it is the same, so is the range,
/// for `end` is written last on claiming and cleared first on release.
fn guarded_end(slot: &GuardSlot, address: usize) -> Option<usize> {
    let start = slot.start.load(Ordering::SeqCst);
    let end = slot.end.load(Ordering::SeqCst);
    let steady = start == slot.start.load(Ordering::SeqCst);
    (steady && start > CLAIMED && (start..end).contains(&address)).then_some(end)
}

/// Puts the previous disposition back. The instruction that faulted is run again and meets it; a signal that someone
/// sent is not raised by any instruction and so is raised again by hand.
fn restore_previous_handler(signal: libc::c_int, sent: bool) {
    // SAFETY: All zeros is SIG_DFL without flags. `sigaction` and `raise` may be called in a handler.
    unsafe {
        let default = std::mem::zeroed();
        let previous = PREVIOUS.get().and_then(Option::as_ref).unwrap_or(&default);
        libc::sigaction(signal, previous, ptr::null_mut());
        if sent {
            libc::raise(signal);
        }
    }
}

fn page_size() -> usize {
    // SAFETY: Takes a number and gives one; may be called in a handler.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn filled(len: usize) -> File {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![b'x'; len], 0).unwrap();
        file
    }

    #[test]
    fn a_page_that_is_gone_reads_as_zeros_and_is_noticed() {
        let file = filled(100_000);
        let map = GuardedMap::new(&file, 100_000).unwrap().unwrap();
        let other = GuardedMap::new(&file, 100_000).unwrap().unwrap();
        file.set_len(50_000).unwrap();
        assert_eq!(map.bytes()[49_999], b'x');
        assert!(!map.faulted());
        assert_eq!(map.bytes()[99_999], 0);
        assert!(map.faulted() && !other.faulted());
    }

    #[test]
    fn released_memory_comes_back() {
        let map = GuardedMap::new(&filled(100_000), 100_000).unwrap().unwrap();
        map.release(0..100_000);
        assert!(map.bytes().iter().all(|&byte| byte == b'x'));
        map.release(5..7);
        map.release(90_000..200_000);
        assert!(!map.faulted());
    }

    #[test]
    fn slots_are_given_back() {
        let file = filled(1);
        for _ in 0..3 * SLOT_COUNT {
            assert!(GuardedMap::new(&file, 1).unwrap().is_some());
        }
    }

    #[test]
    fn only_what_is_mapped_is_guarded() {
        let guard = SlotGuard::claim(1 << 60, 10).unwrap();
        let slot = guard.slot();
        assert_eq!(guarded_end(slot, 1 << 60), Some((1 << 60) + 10));
        assert_eq!(guarded_end(slot, (1 << 60) + 10), None);
        assert_eq!(guarded_end(slot, (1 << 60) - 1), None);
        drop(guard);
        assert_eq!(guarded_end(slot, 1 << 60), None);
    }

    /// A fault that is not ours must end the process as ever, not hang it: seen from outside, in a process of its own.
    #[test]
    fn a_fault_elsewhere_is_as_deadly_as_before() {
        use std::os::unix::process::ExitStatusExt;
        const HERE: &str = "input::mmap::tests::a_fault_elsewhere_is_as_deadly_as_before";
        let file = filled(100_000);
        if std::env::var_os("FAULT_ELSEWHERE").is_some() {
            let guarded = GuardedMap::new(&file, 100_000).unwrap().unwrap();
            // SAFETY: Not safe at all: touching it is to raise the signal.
            let unguarded = unsafe { MmapOptions::new().len(100_000).map(&file).unwrap() };
            file.set_len(0).unwrap();
            assert_eq!(guarded.bytes()[99_999], 0);
            assert_eq!(unguarded[99_999], 0, "not reached");
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let died = child.args(["--exact", HERE]).env("FAULT_ELSEWHERE", "1").output().unwrap().status;
        assert_eq!(died.signal(), Some(libc::SIGBUS));
    }
}
