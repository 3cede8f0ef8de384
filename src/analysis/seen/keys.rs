//! The keys of one kind: the first report and the last hour of each. In JSON they are one string, with 20 characters
//! per key.
//!
//! A key is its hash. Only what was written here is read back: whole records, sorted, without duplicates.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes per key: eight of its hash, four of `first`, three of `last`.
const RECORD: usize = 15;

/// The highest hour in three bytes: in 1,900 years.
const LAST_HOUR: u32 = (1 << 24) - 1;

/// The most hours by which a late line may precede the first report of its key.
const LATE: u32 = 31 * 24;

/// At most `MOST` keys after a prune, and whenever it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SeenKeys<const MOST: usize>(HashMap<u64, SeenEntry, RandomState>);

/// The first report and the last hour of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeenEntry {
    /// The `report_seq` in which it is new.
    first: u32,
    /// The last hour in which it was seen.
    last: u32,
}

impl SeenEntry {
    /// Keys that stay come first: those seen last and, of the same hour, those known longest. So a flood of new keys
    /// evicts its own keys first.
    fn order(self, hash: u64) -> (Reverse<u32>, u32, u64) {
        (Reverse(self.last), self.first, hash)
    }
}

impl<const MOST: usize> SeenKeys<MOST> {
    /// Records a key. Returns whether it is new in this report.
    pub(crate) fn check_and_record(&mut self, hash: u64, report_seq: u32, hour: u32) -> bool {
        let known = self.0.entry(hash).or_insert(SeenEntry { first: report_seq, last: hour });
        known.last = hour.max(known.last);
        if known.first.checked_sub(report_seq).is_some_and(|later| later <= LATE) {
            known.first = report_seq;
        }
        known.first == report_seq
    }

    /// Drops keys that were last seen before an hour, and those that exceed the budget.
    pub(crate) fn prune(&mut self, oldest: u32) {
        self.0.retain(|_, seen| seen.last >= oldest);
        if self.0.len() > MOST {
            self.0 = self.kept().into_iter().collect();
        }
    }

    /// The keys within the budget, in no order.
    fn kept(&self) -> Vec<(u64, SeenEntry)> {
        let mut all: Vec<_> = self.0.iter().map(|(&hash, &seen)| (hash, seen)).collect();
        if all.len() > MOST {
            all.select_nth_unstable_by_key(MOST, |&(hash, seen)| seen.order(hash));
            all.truncate(MOST);
        }
        all
    }

    fn encode(&self) -> String {
        let mut kept = self.kept();
        kept.sort_unstable_by_key(|(hash, _)| *hash);
        let mut bytes = Vec::with_capacity(RECORD * kept.len());
        for (hash, SeenEntry { first, last }) in kept {
            bytes.extend_from_slice(&hash.to_be_bytes());
            bytes.extend_from_slice(&first.to_be_bytes());
            bytes.extend_from_slice(&last.min(LAST_HOUR).to_be_bytes()[1..]);
        }
        base64::encode(&bytes)
    }

    fn decode(text: &str) -> Option<Self> {
        let bytes = base64::decode(text)?;
        let (records, rest) = bytes.as_chunks::<RECORD>();
        let mut memory = Self(HashMap::with_capacity_and_hasher(records.len(), RandomState::default()));
        let mut before = None;
        for record in records {
            let (hash, rest) = record.split_first_chunk()?;
            let (first, hour) = rest.split_first_chunk()?;
            let (hash, first) = (u64::from_be_bytes(*hash), u32::from_be_bytes(*first));
            let last = hour.iter().fold(0, |hour, byte| hour << 8 | u32::from(*byte));
            if before.replace(hash).is_some_and(|before| before >= hash) {
                return None;
            }
            memory.0.insert(hash, SeenEntry { first, last });
        }
        rest.is_empty().then_some(memory)
    }
}

impl<const MOST: usize> Serialize for SeenKeys<MOST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de, const MOST: usize> Deserialize<'de> for SeenKeys<MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Records<const MOST: usize>;

        impl<const MOST: usize> Visitor<'_> for Records<MOST> {
            type Value = SeenKeys<MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what was seen, 20 characters a key in Base64, in order")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                SeenKeys::decode(text).ok_or_else(|| E::custom("the seen keys are invalid: 20 characters a key in Base64, in order"))
            }
        }

        deserializer.deserialize_str(Records)
    }
}

/// Base64 (RFC 4648, section 4) of whole groups of three bytes, so that nothing is padded.
mod base64 {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    pub(crate) fn encode(bytes: &[u8]) -> String {
        let (groups, _) = bytes.as_chunks::<3>();
        let digits = |[a, b, c]: [u8; 3]| {
            let bits = u32::from_be_bytes([0, a, b, c]);
            [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize % 64]))
        };
        groups.iter().flat_map(|group| digits(*group)).collect()
    }

    pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
        let (groups, rest) = text.as_bytes().as_chunks::<4>();
        let mut bytes = Vec::with_capacity(3 * groups.len());
        for group in groups {
            let mut bits = 0;
            for digit in group {
                bits = bits << 6 | value(*digit)?;
            }
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
        rest.is_empty().then_some(bytes)
    }

    fn value(digit: u8) -> Option<u32> {
        let place = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        Some(place.into())
    }
}
