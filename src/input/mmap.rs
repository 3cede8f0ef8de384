//! Memory maps that survive truncation of their file: a fault costs one chunk, not the process.
//!
//! A mapped page that is no longer in the file raises SIGBUS when it is touched. The handler here
//! maps zeros from that page to the end and marks the map. The reader checks
//! [`GuardedMap::faulted`] afterwards and discards what it read if the map is marked. That check
//! alone does not make a map trustworthy; see `file_snapshot`.
//!
//! A map that cannot be guarded is refused; the caller then reads the file instead.

#![expect(
    unsafe_code,
    reason = "maps, and the signal handler that makes them safe to touch"
)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions, UncheckedAdvice};

/// Number of maps that can be guarded at a time. A worker has one open, or more while it helps
/// others.
const SLOT_COUNT: usize = 64;
/// Start of a slot that is being written. No map starts here: the lowest page of an address space
/// is never mapped.
const CLAIMED: usize = 1;

/// A guarded range of addresses, as the signal handler sees it. Free if `start` is 0.
struct GuardSlot {
    start: AtomicUsize,
    end: AtomicUsize,
    faulted: AtomicBool,
}

/// Static, because a signal handler can reach nothing else.
static GUARD_SLOTS: [GuardSlot; SLOT_COUNT] = [const {
    GuardSlot {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        faulted: AtomicBool::new(false),
    }
}; SLOT_COUNT];

/// The previous SIGBUS action, normally Rust's own handler. The inner value is `None` if ours could
/// not be installed.
static PREVIOUS: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// A read-only map of a file. Its bytes are trusted only after a check of
/// [`faulted`](Self::faulted) and of the file's snapshot.
pub(super) struct GuardedMap {
    // Dropped first: once the addresses are free for another map, the slot must not cover them any
    // more.
    guard: SlotGuard,
    map: Mmap,
}

impl GuardedMap {
    /// Maps the first `len` bytes of `file`; `None` if no slot is free or the handler cannot be
    /// installed.
    ///
    /// # Errors
    ///
    /// The system cannot map the file.
    pub(super) fn new(file: &File, len: usize) -> io::Result<Option<Self>> {
        if !install() {
            return Ok(None);
        }
        // SAFETY: The map is read only, so nothing is written to the file. Other processes may
        // change its bytes meanwhile: the code that reads them is memory-safe for any content, and
        // its results are discarded unless the file proves unchanged. The guard handles pages that
        // disappear; it is in place before the first byte is touched.
        let map = unsafe { MmapOptions::new().len(len).map(file)? };
        Ok(SlotGuard::claim(map.as_ptr() as usize, len).map(|guard| Self { guard, map }))
    }

    /// The bytes; zeros from the first missing page on.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether a missing page was touched. Stays true.
    pub(super) fn faulted(&self) -> bool {
        self.guard.slot().faulted.load(Ordering::SeqCst)
    }

    /// Releases the memory of the whole pages in `range`, so that a file larger than memory
    /// displaces nothing else. Pages that are touched again are read again.
    pub(super) fn release(&self, range: Range<usize>) {
        let page = page_size();
        let start = range.start.next_multiple_of(page);
        let end = range.end.min(self.map.len()) / page * page;
        if start < end {
            // SAFETY: The map is shared and read only, so nothing is lost: the next access reads
            // the file's page again, or a zero page if the handler mapped one. The range is within
            // the map. An error only means that the memory is released later.
            let _ = unsafe {
                self.map
                    .unchecked_advise_range(UncheckedAdvice::DontNeed, start, end - start)
            };
        }
    }
}

/// Ownership of one slot.
struct SlotGuard {
    index: usize,
}

impl SlotGuard {
    /// Takes a free slot for `len` bytes at `start`.
    fn claim(start: usize, len: usize) -> Option<Self> {
        let free = |slot: &GuardSlot| {
            slot.start
                .compare_exchange(0, CLAIMED, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        };
        let guard = Self {
            index: GUARD_SLOTS.iter().position(free)?,
        };
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

/// Installs the handler once; returns whether it is in place.
fn install() -> bool {
    PREVIOUS
        .get_or_init(|| {
            // SAFETY: `sigaction` is plain data for which all zeros is a valid value.
            let (mut action, mut previous): (libc::sigaction, libc::sigaction) =
                unsafe { std::mem::zeroed() };
            action.sa_sigaction = on_fault as extern "C" fn(_, _, _) as usize;
            // The thread may be deep in its stack; Rust gives every thread an alternate stack for
            // signals.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: Both point to valid structures, and the handler calls only async-signal-safe
            // functions.
            let done =
                unsafe { libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous) };
            (done == 0).then_some(previous)
        })
        .is_some()
}

/// Runs in the thread that touched a missing page, at any instruction. Uses only atomics and
/// async-signal-safe calls (signal-safety(7); `mmap` is a bare system call), and restores `errno`.
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: `errno` is the thread's own, and the kernel hands a valid `siginfo_t` to a handler
    // with SA_SIGINFO.
    let (errno, address, sent) = unsafe {
        (
            *libc::__errno_location(),
            (*info).si_addr() as usize,
            (*info).si_code <= 0,
        )
    };
    if sent || !map_zeros(address) {
        restore_previous_handler(signal, sent);
    }
    // SAFETY: As above.
    unsafe { *libc::__errno_location() = errno };
}

/// Maps zeros from the page of `address` to the end of its map, if the address is guarded. Pages
/// after a missing one are missing too.
fn map_zeros(address: usize) -> bool {
    let Some((slot, end)) = GUARD_SLOTS
        .iter()
        .find_map(|slot| guarded_end(slot, address).map(|end| (slot, end)))
    else {
        return false;
    };
    // Marked before any zero can be read, so that a chunk with such a zero is never trusted.
    slot.faulted.store(true, Ordering::SeqCst);
    let page = address / page_size() * page_size();
    // SAFETY: `page..end` is within a live map of this process: the thread that faulted borrows it,
    // so its slot is claimed and nothing else uses its addresses. They are read only before and
    // after, by code that accepts any bytes. Other threads in the same map at worst fault again and
    // do the same.
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

/// The end of the slot's range if `address` is in it.
///
/// A slot may be released and claimed meanwhile. The start is read twice: if it is the same, so is
/// the range, because `end` is written last on claiming and cleared first on release.
fn guarded_end(slot: &GuardSlot, address: usize) -> Option<usize> {
    let start = slot.start.load(Ordering::SeqCst);
    let end = slot.end.load(Ordering::SeqCst);
    let steady = start == slot.start.load(Ordering::SeqCst);
    (steady && start > CLAIMED && (start..end).contains(&address)).then_some(end)
}

/// Restores the previous handler. The faulting instruction runs again and reaches it. A signal that
/// another process sent has no such instruction, so it is raised again.
fn restore_previous_handler(signal: libc::c_int, sent: bool) {
    // SAFETY: All zeros is SIG_DFL without flags. `sigaction` and `raise` are async-signal-safe.
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
    // SAFETY: Takes and returns a number; async-signal-safe.
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
    fn a_missing_page_reads_as_zeros_and_is_detected() {
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
    fn released_memory_is_read_again() {
        let map = GuardedMap::new(&filled(100_000), 100_000).unwrap().unwrap();
        map.release(0..100_000);
        assert!(map.bytes().iter().all(|&byte| byte == b'x'));
        map.release(5..7);
        map.release(90_000..200_000);
        assert!(!map.faulted());
    }

    #[test]
    fn slots_are_released() {
        let file = filled(1);
        for _ in 0..3 * SLOT_COUNT {
            assert!(GuardedMap::new(&file, 1).unwrap().is_some());
        }
    }

    #[test]
    fn only_the_mapped_range_is_guarded() {
        let guard = SlotGuard::claim(1 << 60, 10).unwrap();
        let slot = guard.slot();
        assert_eq!(guarded_end(slot, 1 << 60), Some((1 << 60) + 10));
        assert_eq!(guarded_end(slot, (1 << 60) + 10), None);
        assert_eq!(guarded_end(slot, (1 << 60) - 1), None);
        drop(guard);
        assert_eq!(guarded_end(slot, 1 << 60), None);
    }

    /// A fault outside of guarded maps must end the process as before, not hang it. Checked in a
    /// separate process.
    #[test]
    fn a_fault_elsewhere_still_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const THIS_TEST: &str = "input::mmap::tests::a_fault_elsewhere_still_ends_the_process";
        let file = filled(100_000);
        if std::env::var_os("FAULT_ELSEWHERE").is_some() {
            let guarded = GuardedMap::new(&file, 100_000).unwrap().unwrap();
            // SAFETY: Unsound on purpose: touching it raises the signal.
            let unguarded = unsafe { MmapOptions::new().len(100_000).map(&file).unwrap() };
            file.set_len(0).unwrap();
            assert_eq!(guarded.bytes()[99_999], 0);
            assert_eq!(unguarded[99_999], 0, "not reached");
        }
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let died = child
            .args(["--exact", THIS_TEST])
            .env("FAULT_ELSEWHERE", "1")
            .output()
            .unwrap()
            .status;
        assert_eq!(died.signal(), Some(libc::SIGBUS));
    }
}
