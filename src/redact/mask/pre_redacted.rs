//! Texts that were redacted before, as an earlier report printed them. They must not be masked or escaped again.
//!
//! A marker after the text says so: a newline and sixteen hexadecimal digits. No client can send one, as a line of a log
//! contains no newline and the path of a key no control bytes.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::mask;
use crate::redact::sanitize;

/// Bytes of a marker.
const MARKER_LEN: usize = 17;

/// A redacted text, with a hash that distinguishes texts that became equal by masking.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RedactedKey<'a> {
    /// The text without secrets; any bytes.
    pub text: Cow<'a, [u8]>,
    /// A hash of the text as it was logged, where that held secrets.
    pub hash: Option<u64>,
}

impl<'a> RedactedKey<'a> {
    /// The key of a text as logged, or of one with a marker.
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

    /// The bytes of its key in a tally: the text, with a marker where it held secrets.
    #[must_use]
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        match self.hash {
            None => self.text,
            Some(hash) => Cow::Owned(with_marker(&self.text, hash)),
        }
    }
}

/// The text with a marker if redacting it would change it: outputs show it as it is.
#[must_use]
pub fn pre_redacted(shown: &str) -> Vec<u8> {
    if super::redacted(shown.as_bytes()) == shown { shown.as_bytes().to_vec() } else { with_marker(shown.as_bytes(), 0) }
}

/// The text with a marker, so that outputs show its secrets. One that has a marker is unchanged.
#[must_use]
pub fn unredacted(text: &[u8]) -> Vec<u8> {
    if split_marker(text).is_some() { text.to_vec() } else { with_marker(text, 0) }
}

fn with_marker(text: &[u8], hash: u64) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len() + MARKER_LEN);
    marked.extend_from_slice(text);
    marked.extend_from_slice(format!("\n{hash:016x}").as_bytes());
    marked
}

/// The text before a marker, and the hash in the marker.
#[inline]
pub(crate) fn split_marker(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (text, marker) = bytes.split_at(bytes.len().checked_sub(MARKER_LEN)?);
    let digits = marker.strip_prefix(b"\n")?;
    let hash = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((text, u64::from_str_radix(hash, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::redacted;
    use crate::redact::mask::pre_redacted::*;
    use proptest::prelude::*;

    #[test]
    fn texts_that_mask_alike_have_different_keys() {
        let (one, other) =
            (RedactedKey::new(b"/reset-password/0123456789abcdef0123"), RedactedKey::new(b"/reset-password/0123456789abcdef0124"));
        assert_eq!((&*one.text, &*other.text), (&b"/reset-password/***"[..], &b"/reset-password/***"[..]));
        assert_ne!(one, other);
        assert_ne!(one.clone().into_bytes(), other.into_bytes());
        assert_eq!(redacted(&one.into_bytes()), "/reset-password/***");
        assert_eq!(RedactedKey::new(b"/plain"), RedactedKey { text: Cow::Borrowed(b"/plain"), hash: None });
    }

    #[test]
    fn a_redacted_text_is_not_masked_again() {
        // Without a marker more of it would be masked.
        let earlier = "/?password=***&x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
        assert_ne!(redacted(earlier.as_bytes()), earlier);
        assert_eq!(redacted(&pre_redacted(earlier)), earlier);
        assert_eq!(pre_redacted("/plain"), b"/plain");
    }

    #[test]
    fn an_unredacted_text_keeps_its_secrets() {
        assert_eq!(redacted(&unredacted(b"/?password=hunter2\x1b")), "/?password=hunter2\\x1b");
        assert_eq!(super::super::redacted_decoded(b"/?password=a%26b", &unredacted(b"/?password=a&b")), "/?password=a&b");
        let earlier = pre_redacted("/?password=***");
        assert_eq!(unredacted(&unredacted(b"/x")), unredacted(b"/x"));
        assert_eq!(redacted(&unredacted(&earlier)), "/?password=***");
    }

    proptest! {
        #[test]
        fn a_key_is_redacted_like_its_text(text in "(/(reset|a)|[/?;](token|password|x)=[a-zA-Z0-9%.]{0,20}|\u{202e}|é|\\\\x1b){0,6}", bytes in any::<Vec<u8>>()) {
            for text in [text.as_bytes(), &bytes] {
                if text.contains(&b'\n') {
                    continue;
                }
                let key = RedactedKey::new(text);
                let kept = key.clone().into_bytes().into_owned();
                prop_assert_eq!(redacted(&kept), redacted(text));
                prop_assert_eq!(RedactedKey::new(&kept), key);
                let earlier = pre_redacted(&redacted(text));
                prop_assert_eq!(redacted(&earlier), redacted(text));
            }
        }
    }
}
