//! The global allocator of the command, not of the library: large buffers are mapped separately,
//! and without memory the process ends with a message.
//!
//! Each thread fills tables, merges them and starts again. By default glibc raises its mmap
//! threshold when the first large buffer is freed, and then allocates large buffers on the same
//! heaps as small texts. Small texts stay, and the holes of megabytes between them are lost for
//! other threads; with seven threads that was most of the memory. A mapped buffer is returned to
//! the system when it is freed, and grows without a copy.
//!
//! With musl, mimalloc takes the place of its allocator, which is slow and has one lock for all
//! threads. With another C library nothing is set. Failed allocations are not retried: under
//! `ulimit -v`, or in a container, they would fail again.

#![expect(unsafe_code, reason = "an allocator, and a setting of the C library")]

use std::alloc::{GlobalAlloc, Layout};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code if memory runs out.
const EXIT_OUT_OF_MEMORY: i32 = 4;

const MESSAGE: &[u8] = b"error: out of memory: the system gives no more; raise its limit (`ulimit -v`, or that of the container), or \
give --threads a smaller number\n";

#[cfg(target_env = "musl")]
use mimalloc::MiMalloc as Inner;

#[cfg(not(target_env = "musl"))]
use std::alloc::System as Inner;

/// The system allocator, or mimalloc. If it fails, the process ends with a message, not by a
/// signal.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every function passes its arguments on to `Inner`, which has the same contract, and
// returns what that returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        or_end(unsafe { Inner.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        or_end(unsafe { Inner.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        or_end(unsafe { Inner.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { Inner.dealloc(block, layout) }
    }
}

/// Returns the block, or ends the process: no caller can handle a failed allocation.
#[inline]
fn or_end(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        end();
    }
    block
}

/// Ends the process without unwinding and without exit handlers: both may allocate.
#[cold]
fn end() -> ! {
    static ENDS: AtomicBool = AtomicBool::new(false);
    while ENDS.swap(true, Ordering::Relaxed) {
        // Another thread writes the message and ends the process.
        // SAFETY: it takes nothing, and returns where a signal was handled (`pause(2)`).
        let _ = unsafe { libc::pause() };
    }
    let _ = rustix::io::write(io::stderr(), MESSAGE);
    // SAFETY: it takes a number and does not return (`_exit(2)`).
    unsafe { libc::_exit(EXIT_OUT_OF_MEMORY) }
}

/// Size from which buffers are mapped separately. glibc starts with 128 KiB and raises it up to 32
/// MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD: i32 = 256 << 10;

/// Sets the mmap threshold of glibc. Call it once, at the start.
pub(crate) fn set_mmap_threshold() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: It takes two numbers, and may be called at any time from any thread (`mallopt(3)`).
    let _was_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD) };
}

/// Lets two of these threads share a heap. glibc gives each thread its own, and what one frees the
/// others cannot use: two threads that read 60,000 long host names held 218 MiB, and 162 MiB with
/// one heap. Call it before the first thread starts; later it has no effect.
pub(crate) fn share_heaps(threads: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: as above.
    let _was_set = unsafe {
        libc::mallopt(
            libc::M_ARENA_MAX,
            i32::try_from(threads / 2).unwrap_or(i32::MAX).max(1),
        )
    };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = threads;
}
