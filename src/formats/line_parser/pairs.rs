//! Reads `key=value` pairs in any order, as logfmt and LTSV have them; a value may be in quotes.
//!
//! A writer may leave out a pair or add others. A key that is needed and occurs twice makes a line
//! unreadable: a client may have sent one of the two.

use super::FormatItem;
use crate::formats::FormatError;
use crate::formats::bytes::begins;
use crate::formats::clf::is_escaped;

/// The pairs of a format. Fields before the first pair have no key.
#[derive(Debug, Clone)]
pub(super) struct PairList {
    /// The text between key and value: `=`, `: `.
    assign: Box<[u8]>,
    /// The text between two pairs: a blank, a tab, `, `.
    separator: Box<[u8]>,
    /// The keys in the order of their fields.
    keys: Box<[Box<[u8]>]>,
    /// The number of fields before the first pair.
    before: usize,
}

/// More keys than any format needs. Which were seen is marked by bits.
const MAX_KEYS: usize = 64;

impl PairList {
    /// Takes the keys out of the literal texts of a format, which are then the texts between
    /// values.
    ///
    /// # Errors
    ///
    /// The pairs are not all written in the same way.
    pub(super) fn take(items: &mut [FormatItem]) -> Result<Self, FormatError> {
        let is_field = |item: &FormatItem| matches!(item, FormatItem::Field(_));
        let texts = || {
            (0..items.len())
                .filter(|at| items.get(at + 1).is_some_and(is_field) && !is_field(&items[*at]))
        };
        let parts: Vec<_> = texts()
            .map(|at| {
                if let FormatItem::Text(text) = &items[at] {
                    Some((at, key_in(text)?))
                } else {
                    None
                }
            })
            .collect();
        let before = parts
            .iter()
            .position(Option::is_some)
            .ok_or(FormatError::NoPairs)?;
        let pairs: Vec<_> = parts[before..]
            .iter()
            .copied()
            .collect::<Option<_>>()
            .ok_or(FormatError::NoPairs)?;
        let assign = pairs[0].1.assign;
        let separator = pairs.get(1).map_or(&b" "[..], |(_, next)| next.before);
        let are_same = pairs
            .iter()
            .skip(1)
            .all(|(_, part)| part.before == separator)
            && pairs.iter().all(|(_, part)| part.assign == assign);
        if !are_same || separator.is_empty() || pairs.len() > MAX_KEYS {
            return Err(FormatError::NoPairs);
        }
        let keys = pairs.iter().map(|(_, part)| part.key.into()).collect();
        let first = items[..pairs[0].0]
            .iter()
            .filter(|item| is_field(item))
            .count();
        let list = Self {
            assign: assign.into(),
            separator: separator.into(),
            keys,
            before: first,
        };
        let texts: Vec<(usize, Vec<u8>)> = pairs
            .iter()
            .map(|(at, part)| (*at, part.before.to_vec()))
            .collect();
        for (at, text) in texts {
            items[at] = FormatItem::Text(text);
        }
        Ok(list)
    }

    /// The number of fields before the first pair.
    pub(super) fn before(&self) -> usize {
        self.before
    }

    /// Passes the number and the value of each field to `put`. `None` if a key occurs twice.
    pub(super) fn read<'a>(
        &self,
        text: &'a [u8],
        mut put: impl FnMut(usize, &'a [u8]),
    ) -> Option<()> {
        let mut seen = 0_u64;
        let mut is_repeated = false;
        each_pair(text, &self.assign, &self.separator, |key, value| {
            if let Some(number) = self.keys.iter().position(|known| **known == *key) {
                is_repeated |= seen & 1 << number != 0;
                seen |= 1 << number;
                put(self.before + number, value);
            }
        });
        (!is_repeated).then_some(())
    }
}

/// Passes each key and its value to `take`, in order. What is not a pair is skipped.
pub(in crate::formats) fn each_pair<'a>(
    text: &'a [u8],
    assign: &[u8],
    separator: &[u8],
    mut take: impl FnMut(&'a [u8], &'a [u8]),
) {
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest
            .iter()
            .position(|byte| !is_key(*byte))
            .unwrap_or(rest.len());
        let (key, after) = rest.split_at(length);
        if !key.is_empty() && begins(after, assign) {
            let value;
            (value, rest) = take_value(&after[assign.len()..], separator);
            take(key, value);
        }
        rest = find_separator(rest, separator).map_or(&[], |at| &rest[at + separator.len()..]);
    }
}

/// The value at the start of `text`, and the text after it.
fn take_value<'a>(text: &'a [u8], separator: &[u8]) -> (&'a [u8], &'a [u8]) {
    let ends = |at: usize| {
        text.get(at..)
            .is_none_or(|after| after.is_empty() || begins(after, separator))
    };
    if let Some(inside) = text.strip_prefix(b"\"")
        && let Some(close) =
            memchr::memchr_iter(b'"', inside).find(|close| !is_escaped(inside, *close))
        && ends(close + 2)
    {
        return (&inside[..close], &inside[close + 1..]);
    }
    text.split_at(find_separator(text, separator).unwrap_or(text.len()))
}

fn find_separator(text: &[u8], separator: &[u8]) -> Option<usize> {
    memchr::memchr_iter(separator[0], text).find(|at| begins(&text[*at..], separator))
}

/// Whether the byte may be part of a key.
pub(in crate::formats) fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@')
}

/// A literal text that ends in a key.
#[derive(Clone, Copy)]
struct KeyText<'t> {
    before: &'t [u8],
    key: &'t [u8],
    assign: &'t [u8],
}

/// The parts of a literal text before a value, without the quotes of values; `None` if there is no
/// key.
fn key_in(text: &[u8]) -> Option<KeyText<'_>> {
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    let end = text.iter().rposition(|byte| is_key(*byte))? + 1;
    let start = text[..end]
        .iter()
        .rposition(|byte| !is_key(*byte))
        .map_or(0, |at| at + 1);
    let (before, assign) = (&text[..start], &text[end..]);
    let before = before.strip_prefix(b"\"").unwrap_or(before);
    (!assign.is_empty()).then(|| KeyText {
        before,
        key: &text[start..end],
        assign,
    })
}
