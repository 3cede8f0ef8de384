//! Prefetches memory into the L1 cache: a lookup in a large table costs as much as a hundred
//! instructions, and prefetched lookups overlap.
//!
//! A hint that changes no value and cannot fail. It is `unsafe` only because the instruction takes
//! any address; here it is that of a reference. On other architectures than x86-64 it does nothing.

#![cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "an instruction that takes a pointer and never follows it"
    )
)]

/// Prefetches the first cache line of a value.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: Every x86-64 processor has the instruction, and it does not access the memory as
        // far as the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
