//! Has the allocator of the C library give large buffers a place of their own.
//!
//! Each thread fills tables, hands them to the whole and begins anew. By itself glibc takes the first large buffer that is freed
//! for a sign that more will come, and from then on cuts large ones from the same heaps as texts of a few bytes: those stay,
//! and between them lie holes of megabytes that no other thread can use. With seven threads that was most of all memory. A
//! buffer of its own goes back to the system when it is freed, and grows without being copied.
//!
//! Changes no value and cannot fail to any harm: where the C library is another one, nothing is done.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), expect(unsafe_code, reason = "a setting of the C library"))]

/// Buffers of so many bytes have a place of their own. glibc begins with 128 KiB, and raises that up to 32 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 256 << 10;

/// To be called once, at the start.
pub fn keep_large_buffers_apart() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: It takes two numbers, and may be called at any time from any thread (`mallopt(3)`).
    let _was_set = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}
