//! Has memory brought into the nearest cache before it is looked at: a look at a large table takes as long as a hundred
//! instructions, and many of them that are asked for ahead take as long as one.
//!
//! A hint, which changes no value and cannot fail. `unsafe` only because the instruction takes any address; it is given
//! that of a reference. Elsewhere than on x86-64 it does nothing.

#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "an instruction that takes a pointer and never follows it"))]

/// Has the first cache line of a value brought near.
#[inline]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: Every x86-64 processor has the instruction, and it does not access the memory as far as the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
