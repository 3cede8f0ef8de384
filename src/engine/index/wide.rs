//! The index of a block by registers of 64 bytes or of 32, where the machine has them (x86-64-v4 and x86-64-v3): a fifth of the
//! time that two searches take.
//!
//! The only `unsafe` here is the call of code that needs these registers, behind the question whether they are there. Loads
//! are made of checked slices. [`Index::read`](super::Index::read) does without elsewhere, and a property test says that
//! all find the same.

use super::Index;

/// Indexes a block; `false` where the machine has no such registers. The index has room for it.
#[cfg(target_arch = "x86_64")]
pub(super) fn read(block: &[u8], index: &mut Index) -> bool {
    by_64(block, index) || by_32(block, index)
}

/// Indexes a block; `false` where the machine has no such registers.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn read(_block: &[u8], _index: &mut Index) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a call of code for a processor that was asked for")]
fn by_64(block: &[u8], index: &mut Index) -> bool {
    let can = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("bmi1");
    if can {
        // SAFETY: The processor has what the function is compiled for.
        unsafe { x86::read_by_64(block, index) }
    }
    can
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "a call of code for a processor that was asked for")]
pub(super) fn by_32(block: &[u8], index: &mut Index) -> bool {
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

    use super::Index;

    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    pub(super) fn read_by_64(block: &[u8], index: &mut Index) {
        read_by(block, index, |word| {
            let (words, _) = word.as_chunks::<8>();
            let part = |n: usize| i64::from_le_bytes(words[n]);
            let bytes = _mm512_set_epi64(part(7), part(6), part(5), part(4), part(3), part(2), part(1), part(0));
            let bits = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
            (bits(b'\n'), bits(b'"'))
        });
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn read_by_32(block: &[u8], index: &mut Index) {
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

    /// Indexes a block, given where newlines and quotes stand in a word of it. Becomes part of its caller, compiled for the same
    /// processor.
    #[expect(clippy::inline_always, reason = "elsewhere it would be compiled for another processor")]
    #[inline(always)]
    fn read_by(block: &[u8], index: &mut Index, bits_of: impl Fn(&[u8; 64]) -> (u64, u64)) {
        let Index { newlines, count, quotes } = index;
        let (words, rest) = block.as_chunks::<64>();
        let mut found = 0;
        for (number, (word, quotes)) in words.iter().zip(quotes.iter_mut()).enumerate() {
            let bits;
            (bits, *quotes) = bits_of(word);
            found = note(newlines, found, number, bits);
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            let bits;
            (bits, quotes[words.len()]) = bits_of(&last);
            found = note(newlines, found, words.len(), bits);
        }
        *count = found;
    }

    /// Notes the newlines of a word. Few words have one and hardly any two: the first is written in any case, as nobody could
    /// foretell whether there is one.
    #[expect(clippy::inline_always, reason = "elsewhere it would be compiled for another processor")]
    #[inline(always)]
    fn note(newlines: &mut [u32], mut found: usize, word: usize, mut bits: u64) -> usize {
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
