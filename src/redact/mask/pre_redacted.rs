//! Texts whose secrets were hidden before: an earlier report told them, and nothing may be masked or taken for an escape again.
//!
//! A seal is a newline and sixteen hexadecimal digits behind the text. No line of a log holds a newline, and a path has lost
//! all control bytes when it becomes a key, so no client can write one.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::mask;
use crate::redact::sanitize;

/// Bytes of a seal.
const MARKER_LEN: usize = 17;

/// A text as it may be told, and what tells it from others that look the same by now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RedactedKey<'a> {
    /// The text without secrets; any bytes.
    pub text: Cow<'a, [u8]>,
    /// A hash of the text as it was logged, where that held secrets.
    pub hash: Option<u64>,
}

impl<'a> RedactedKey<'a> {
    /// The key of a text as logged, or of a sealed one.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Self {
        if let Some((text, hash)) = split_marker(text) {
            return Self { text: Cow::Borrowed(text), hash: Some(hash) };
        }
        match mask(text) {
            Cow::Borrowed(text) => Self { text: Cow::Borrowed(text), hash: None },
            masked @ Cow::Owned(_) => Self { text: masked, hash: Some(xxh3_64(text)) },
        }
    }

    /// The text as every output shows it.
    #[must_use]
    pub fn redacted(&self) -> Cow<'a, str> {
        match &self.text {
            Cow::Borrowed(text) => sanitize::escape(text),
            Cow::Owned(text) => Cow::Owned(sanitize::escape(text).into_owned()),
        }
    }

    /// The bytes that stand for it in a tally: the text itself, or a sealed one.
    #[must_use]
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        match self.hash {
            None => self.text,
            Some(hash) => Cow::Owned(with_marker(&self.text, hash)),
        }
    }
}

/// A text that is shown as it is, apart from the sealed ones only where it would change.
#[must_use]
pub fn pre_redacted(shown: &str) -> Vec<u8> {
    if super::redacted(shown.as_bytes()) == shown { shown.as_bytes().to_vec() } else { with_marker(shown.as_bytes(), 0) }
}

/// A text that is shown with all its secrets, if it is one of a log; what an earlier report told stays what it is.
#[must_use]
pub fn unredacted(text: &[u8]) -> Vec<u8> {
    if split_marker(text).is_some() { text.to_vec() } else { with_marker(text, 0) }
}

fn with_marker(text: &[u8], hash: u64) -> Vec<u8> {
    let mut sealed = Vec::with_capacity(text.len() + MARKER_LEN);
    sealed.extend_from_slice(text);
    sealed.extend_from_slice(format!("\n{hash:016x}").as_bytes());
    sealed
}

/// The text under a seal, and the hash that it holds.
#[inline]
pub(crate) fn split_marker(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (text, seal) = bytes.split_at(bytes.len().checked_sub(MARKER_LEN)?);
    let digits = seal.strip_prefix(b"\n")?;
    let hash = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((text, u64::from_str_radix(hash, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::redacted;
    use crate::redact::mask::pre_redacted::*;
    use proptest::prelude::*;

    #[test]
    fn what_looks_the_same_stays_apart() {
        let (one, other) =
            (RedactedKey::new(b"/reset-password/0123456789abcdef0123"), RedactedKey::new(b"/reset-password/0123456789abcdef0124"));
        assert_eq!((&*one.text, &*other.text), (&b"/reset-password/***"[..], &b"/reset-password/***"[..]));
        assert_ne!(one, other);
        assert_ne!(one.clone().into_bytes(), other.into_bytes());
        assert_eq!(redacted(&one.into_bytes()), "/reset-password/***");
        assert_eq!(RedactedKey::new(b"/plain"), RedactedKey { text: Cow::Borrowed(b"/plain"), hash: None });
    }

    #[test]
    fn a_text_is_not_masked_twice() {
        // Seen by itself it would lose more.
        let told = "/?password=***&x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        assert_ne!(redacted(told.as_bytes()), told);
        assert_eq!(redacted(&pre_redacted(told)), told);
        assert_eq!(pre_redacted("/plain"), b"/plain");
    }

    #[test]
    fn a_text_may_be_shown_with_its_secrets() {
        assert_eq!(redacted(&unredacted(b"/?password=hunter2\x1b")), "/?password=hunter2\\x1b");
        assert_eq!(super::super::redacted_decoded(b"/?password=a%26b", &unredacted(b"/?password=a&b")), "/?password=a&b");
        let told = pre_redacted("/?password=***");
        assert_eq!(unredacted(&unredacted(b"/x")), unredacted(b"/x"));
        assert_eq!(redacted(&unredacted(&told)), "/?password=***");
    }

    proptest! {
        #[test]
        fn a_key_is_shown_like_its_text(text in "(/(reset|a)|[/?;](token|password|x)=[a-zA-Z0-9%.]{0,20}|\u{202e}|é|\\\\x1b){0,6}", bytes in any::<Vec<u8>>()) {
            for text in [text.as_bytes(), &bytes] {
                if text.contains(&b'\n') {
                    continue;
                }
                let key = RedactedKey::new(text);
                let kept = key.clone().into_bytes().into_owned();
                prop_assert_eq!(redacted(&kept), redacted(text));
                prop_assert_eq!(RedactedKey::new(&kept), key);
                let told = pre_redacted(&redacted(text));
                prop_assert_eq!(redacted(&told), redacted(text));
            }
        }
    }
}
