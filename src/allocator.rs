//! Memory: large buffers have a place of their own, and where there is no more memory the process ends with a message.
//!
//! Each thread fills tables, hands them to the whole and begins anew. By itself glibc takes the first large buffer that is freed
//! for a sign that more will come, and from then on cuts large ones from the same heaps as texts of a few bytes: those stay,
//! and between them lie holes of megabytes that no other thread can use. With seven threads that was most of all memory. A
//! buffer of its own goes back to the system when it is freed, and grows without being copied.
//!
//! The setting changes no value and cannot fail to any harm: where the C library is another one, nothing is done. Nothing here frees
//! memory or tries again: what the system refuses under `ulimit -v`, or in a container, it refuses again.

#![expect(unsafe_code, reason = "an allocator, and a setting of the C library")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code without memory: the report is not written.
const NO_REPORT: i32 = 4;

const MESSAGE: &[u8] = b"error: out of memory: the system gives no more; raise its limit (`ulimit -v`, or that of the container), or \
give --threads a smaller number\n";

/// The allocator of the system. Where it has no more memory, the process ends with a message, not by a signal.
#[derive(Debug)]
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every function passes its arguments on to `System`, which has the same contract, and returns what that returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        or_end(unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        or_end(unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        or_end(unsafe { System.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The block, or the end of the process. No caller has a use for a failed allocation: all of them would abort.
#[inline]
fn or_end(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        end();
    }
    block
}

/// Ends without unwinding and without running what is registered for the exit: both may allocate.
#[cold]
fn end() -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    while ENDS.swap(true, Ordering::Relaxed) {
        // Another thread writes the message, and ends this one with the process.
        // SAFETY: it takes nothing, and returns where a signal was handled (`pause(2)`).
        let _ = unsafe { libc::pause() };
    }
    let _ = rustix::io::write(io::stderr(), MESSAGE);
    // SAFETY: it takes a number and does not return (`_exit(2)`).
    unsafe { libc::_exit(NO_REPORT) }
}

/// Buffers of so many bytes have a place of their own. glibc begins with 128 KiB, and raises that up to 32 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 256 << 10;

/// To be called once, at the start.
pub fn set_mmap_threshold() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: It takes two numbers, and may be called at any time from any thread (`mallopt(3)`).
    let _was_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}
