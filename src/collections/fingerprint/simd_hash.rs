//! Hashes texts with registers of 64 bytes and vector AES, if the processor has them (Intel since
//! 2019, AMD since 2022): a few dozen instructions, without unpredictable branches up to 256 bytes.
//!
//! XORs blocks of 16 bytes, each encrypted with a key of its position and four rounds of AES, and
//! encrypts the sum and the length with four more rounds. Keys are random. Two texts collide in the
//! sum with a probability of at most 2^-113, if all round keys were independent for each block
//! (Keliher and Sui 2007, on differentials of four rounds); 64 bits of it are kept.
//!
//! The only `unsafe` is the call of code for these registers, by a value that exists only where
//! they do, and a load that masks the bytes after the text.

#![expect(
    unsafe_code,
    reason = "code for processor features that were detected; loads that end with a text"
)]

use std::arch::x86_64::{
    __m512i, _bzhi_u64, _mm_aesenc_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_set_epi64x,
    _mm_xor_si128, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_xor_si256,
    _mm512_aesenc_epi128, _mm512_broadcast_i32x4, _mm512_castsi512_si128, _mm512_castsi512_si256,
    _mm512_extracti64x4_epi64, _mm512_mask_xor_epi64, _mm512_maskz_loadu_epi8, _mm512_set_epi64,
    _mm512_xor_si512,
};
use std::hash::{BuildHasher, RandomState};

use super::Fingerprint;

/// Bytes of a register.
const WIDTH: usize = 64;
/// Registers in a pass.
const REGISTERS: usize = 4;
/// AES rounds for each block, and for the sum.
const ROUNDS: usize = 4;

/// Computes hashes. It exists only if the processor has the required features.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimdHasher {
    block_keys: [__m512i; REGISTERS],
    rounds: [__m512i; ROUNDS],
}

impl SimdHasher {
    /// A hasher with its own keys; `None` if the processor lacks a feature.
    pub(super) fn new() -> Option<Self> {
        let can = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("bmi2");
        // SAFETY: The processor has what the function is compiled for.
        can.then(|| unsafe { Self::with_keys() })
    }

    /// The fingerprint of each text.
    #[inline]
    pub(super) fn of_each<'t>(
        &self,
        texts: impl Iterator<Item = &'t [u8]>,
        fingerprints: &mut [Fingerprint],
    ) {
        // SAFETY: Only `new` creates a hasher, after it checked that the processor has what the
        // function is compiled for.
        unsafe { self.each(texts, fingerprints) }
    }

    #[target_feature(enable = "avx512f")]
    fn with_keys() -> Self {
        let random = RandomState::new();
        let mut words = (0_u64..).map(|n| random.hash_one(n).cast_signed());
        let mut word = || words.next().unwrap_or_default();
        let block_keys = std::array::from_fn(|_| {
            _mm512_set_epi64(
                word(),
                word(),
                word(),
                word(),
                word(),
                word(),
                word(),
                word(),
            )
        });
        let rounds =
            std::array::from_fn(|_| _mm512_broadcast_i32x4(_mm_set_epi64x(word(), word())));
        Self { block_keys, rounds }
    }

    #[target_feature(enable = "avx512f,avx512bw,vaes,aes,bmi2")]
    fn each<'t>(&self, texts: impl Iterator<Item = &'t [u8]>, fingerprints: &mut [Fingerprint]) {
        for (fingerprint, text) in fingerprints.iter_mut().zip(texts) {
            let sum = if text.len() <= WIDTH {
                self.part(text, 0)
            } else {
                self.parts(text)
            };
            let mut hash = self.finish(sum, (text.len() as u64).cast_signed());
            if text.len() > REGISTERS * WIDTH {
                hash = self.go_on(&text[REGISTERS * WIDTH..], hash);
            }
            *fingerprint = Fingerprint::new(hash.cast_unsigned());
        }
    }

    /// Hashes the rest of a text, from the hash so far.
    #[cold]
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512bw,vaes,aes,bmi2")]
    fn go_on(&self, rest: &[u8], hash: i64) -> i64 {
        rest.chunks(REGISTERS * WIDTH)
            .fold(hash, |hash, text| self.finish(self.parts(text), hash))
    }

    /// The sum of the blocks of up to 256 bytes. Registers after the end of the text are computed
    /// and masked out, as a branch on the length would be unpredictable.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vaes,bmi2")]
    fn parts(&self, text: &[u8]) -> __m512i {
        let mut sum = self.part(text, 0);
        for n in 1..REGISTERS {
            let reached = if text.len() > n * WIDTH { u8::MAX } else { 0 };
            sum = _mm512_mask_xor_epi64(sum, reached, sum, self.part(text, n));
        }
        sum
    }

    /// The encrypted blocks of one register.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vaes,bmi2")]
    fn part(&self, text: &[u8], n: usize) -> __m512i {
        let mut blocks = _mm512_xor_si512(load(text, n * WIDTH), self.block_keys[n]);
        for round in self.rounds {
            blocks = _mm512_aesenc_epi128(blocks, round);
        }
        blocks
    }

    #[inline]
    #[target_feature(enable = "avx512f,aes")]
    fn finish(&self, sum: __m512i, before: i64) -> i64 {
        let halves = _mm256_xor_si256(
            _mm512_castsi512_si256(sum),
            _mm512_extracti64x4_epi64::<1>(sum),
        );
        let mut sum = _mm_xor_si128(
            _mm256_castsi256_si128(halves),
            _mm256_extracti128_si256::<1>(halves),
        );
        sum = _mm_xor_si128(sum, _mm_cvtsi64_si128(before));
        for round in self.rounds {
            sum = _mm_aesenc_si128(sum, _mm512_castsi512_si128(round));
        }
        _mm_cvtsi128_si64(sum)
    }
}

/// Loads 64 bytes from `from` on; zeros after the end of the text.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi2")]
fn load(text: &[u8], from: usize) -> __m512i {
    let left = text.len().saturating_sub(from).min(WIDTH);
    let mask = _bzhi_u64(u64::MAX, left as u32);
    // SAFETY: The bytes of the mask are in the text, and no other byte is read.
    unsafe { _mm512_maskz_loadu_epi8(mask, text.as_ptr().wrapping_add(from).cast()) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Texts that differ in a bit or in their length, around all lengths where the algorithm
    /// changes.
    fn texts() -> Vec<Vec<u8>> {
        let lengths = [
            0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 192, 255, 256, 257, 300, 511, 512, 513, 1_000,
        ];
        let mut texts = vec![];
        for length in lengths {
            texts.push(vec![0; length]);
            texts.extend((0..length * 8).map(|bit| {
                let mut text = vec![0; length];
                text[bit / 8] = 1 << (bit % 8);
                text
            }));
        }
        texts
    }

    fn hash(wide: &SimdHasher, text: &[u8]) -> u64 {
        let mut fingerprint = [Fingerprint::default()];
        wide.of_each(std::iter::once(text), &mut fingerprint);
        fingerprint[0].word()
    }

    #[test]
    fn one_bit_or_byte_changes_the_hash() {
        let Some(wide) = SimdHasher::new() else {
            return;
        };
        let texts = texts();
        let hashes: HashSet<u64> = texts.iter().map(|text| hash(&wide, text)).collect();
        assert_eq!(hashes.len(), texts.len());
        // Every bit is set in about half of the hashes.
        for bit in 0..64 {
            let set = hashes.iter().filter(|hash| *hash >> bit & 1 == 1).count();
            assert!(
                (set * 100 / hashes.len()).abs_diff(50) < 5,
                "bit {bit}: {set} of {}",
                hashes.len()
            );
        }
    }

    #[test]
    fn bytes_after_the_text_do_not_count() {
        let Some(wide) = SimdHasher::new() else {
            return;
        };
        for text in texts() {
            let expected = hash(&wide, &text);
            let mut longer = text.clone();
            longer.extend([0xff; 300]);
            for from in [0, 1, 63] {
                let mut moved = vec![0xee; from];
                moved.extend(&longer);
                assert_eq!(hash(&wide, &moved[from..from + text.len()]), expected);
            }
        }
    }

    #[test]
    fn each_hasher_has_its_own_keys() {
        let Some((one, two)) = SimdHasher::new().zip(SimdHasher::new()) else {
            return;
        };
        assert_ne!(hash(&one, b"GET / HTTP/1.1"), hash(&two, b"GET / HTTP/1.1"));
    }
}
