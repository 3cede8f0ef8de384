//! Indexes a block with registers of 64 or 32 bytes, if the processor has them (x86-64-v4 and x86-64-v3): a fifth of the time of
//! two searches.
//!
//! The only `unsafe` is the call of code for these registers, after a check that the processor has them. Loads are made of checked
//! slices. A property test compares all variants with the portable one.

use super::NewlineIndex;

/// Indexes a block; `false` if the processor has no such registers. The index must have space for it.
#[cfg(target_arch = "x86_64")]
pub(super) fn read(block: &[u8], index: &mut NewlineIndex) -> bool {
    by_64(block, index) || by_32(block, index)
}

/// Indexes a block; `false` if the processor has no such registers.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn read(_block: &[u8], _index: &mut NewlineIndex) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a call of code for processor features that were detected")]
fn by_64(block: &[u8], index: &mut NewlineIndex) -> bool {
    let can = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi1");
    if can {
        // SAFETY: The processor has what the function is compiled for.
        unsafe { x86::read_by_64(block, index) }
    }
    can
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a call of code for processor features that were detected")]
pub(super) fn by_32(block: &[u8], index: &mut NewlineIndex) -> bool {
    let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1");
    if can {
        // SAFETY: The processor has what the function is compiled for.
        unsafe { x86::read_by_32(block, index) }
    }
    can
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8, _mm512_cmpeq_epi8_mask, _mm512_set_epi64,
        _mm512_set1_epi8,
    };

    use super::NewlineIndex;

    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    pub(super) fn read_by_64(block: &[u8], index: &mut NewlineIndex) {
        read_by(block, index, |word| {
            let (words, _) = word.as_chunks::<8>();
            let part = |n: usize| i64::from_le_bytes(words[n]);
            let bytes = _mm512_set_epi64(part(7), part(6), part(5), part(4), part(3), part(2), part(1), part(0));
            let bits = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
            (bits(b'\n'), bits(b'"'))
        });
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn read_by_32(block: &[u8], index: &mut NewlineIndex) {
        read_by(block, index, |word| {
            let (halves, _) = word.as_chunks::<32>();
            let bits = |byte: u8| {
                let sought = _mm256_set1_epi8(byte.cast_signed());
                let half = |half: &[u8; 32]| u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(load(half), sought)).cast_unsigned());
                half(&halves[0]) | half(&halves[1]) << 32
            };
            (bits(b'\n'), bits(b'"'))
        });
    }

    /// 32 bytes in a register; one load, when compiled.
    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (words, _) = bytes.as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| i64::from_le_bytes(words[n]));
        _mm256_set_epi64x(d, c, b, a)
    }

    /// Indexes a block with a function that finds newlines and quotes in a word. Inlined into its caller, so that it is compiled
    /// for the same processor.
    #[expect(clippy::inline_always, reason = "elsewhere it would be compiled for another processor")]
    #[inline(always)]
    fn read_by(block: &[u8], index: &mut NewlineIndex, bits_of: impl Fn(&[u8; 64]) -> (u64, u64)) {
        let NewlineIndex { newlines, count, quotes } = index;
        let (words, rest) = block.as_chunks::<64>();
        let mut found = 0;
        for (number, (word, quotes)) in words.iter().zip(quotes.iter_mut()).enumerate() {
            let bits;
            (bits, *quotes) = bits_of(word);
            found = push_newlines(newlines, found, number, bits);
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            let bits;
            (bits, quotes[words.len()]) = bits_of(&last);
            found = push_newlines(newlines, found, words.len(), bits);
        }
        *count = found;
    }

    /// Appends the newlines of a word. Few words have one and hardly any has two. The first is stored unconditionally, as a branch
    /// would be unpredictable.
    #[expect(clippy::inline_always, reason = "elsewhere it would be compiled for another processor")]
    #[inline(always)]
    fn push_newlines(newlines: &mut [u32], mut found: usize, word: usize, mut bits: u64) -> usize {
        let start = word as u32 * 64;
        newlines[found] = start + bits.trailing_zeros();
        found += usize::from(bits != 0);
        bits &= bits.wrapping_sub(1);
        while bits != 0 {
            newlines[found] = start + bits.trailing_zeros();
            found += 1;
            bits &= bits - 1;
        }
        found
    }
}
