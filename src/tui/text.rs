//! Texts of the live view: redacted, short enough to store thousands, and cut to columns.
//!
//! Cuts texts that are safe to show, and shows nothing.

use crate::log::client::Client;
use crate::log::time::LogTime;
use crate::render::layout::width;
use crate::text::redact::{LogText, sanitize};

/// The most bytes of a client's name; the longest address has 45.
const MAX_CLIENT_BYTES: usize = 80;

/// The most bytes of any other text.
pub(super) const MAX_BYTES: usize = 240;

/// A text of a log, cut after it was redacted: half a secret would not be recognised.
pub(super) fn stored(text: LogText<'_>) -> Box<str> {
    truncate_bytes(&text.redacted(), MAX_BYTES)
}

/// A text of this host, such as a path or a notice: escaped, not masked.
pub(super) fn escape_and_truncate(bytes: &[u8]) -> Box<str> {
    truncate_bytes(&sanitize::escape(bytes), MAX_BYTES)
}

/// A client, as in reports.
pub(super) fn client_name(client: Client<'_>) -> Box<str> {
    truncate_bytes(&client.redacted(), MAX_CLIENT_BYTES)
}

/// The text, or its beginning and `…`, in at most `most` bytes.
pub(super) fn truncate_bytes(text: &str, most: usize) -> Box<str> {
    if text.len() <= most {
        return text.into();
    }
    let max_len = most.saturating_sub('…'.len_utf8());
    let end = (0..=max_len)
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(0);
    format!("{}…", &text[..end]).into()
}

/// The text in non-empty pieces of at most `most` columns.
pub(super) fn split_to_width(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if at > start && width(&text[start..at + c.len_utf8()]) > most {
            pieces.push(&text[start..at]);
            start = at;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// `08:01:00`, in the log's own time zone; eight blanks without a time.
pub(super) fn clock(time: Option<LogTime>) -> String {
    let full = time.map(LogTime::rfc3339).unwrap_or_default();
    full.get(11..19).unwrap_or("        ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn masks_before_it_cuts() {
        let long = format!("/{}?token=s3cr3t", "a".repeat(MAX_BYTES - 12));
        let stored = |text: &str| stored(LogText::new(text.as_bytes()));
        assert!(!stored(&long).contains("s3c"), "{}", stored(&long));
        assert_eq!(&*stored("/a\x1b[2J"), r"/a\x1b[2J");
    }

    #[test]
    fn clients_are_named_as_in_reports() {
        assert_eq!(&*client_name(Client::parse(b"")), "-");
        assert_eq!(
            &*client_name(Client::parse(b"::ffff:192.0.2.1")),
            "192.0.2.1"
        );
        assert_eq!(&*client_name(Client::parse(b"\x1bx")), r"\x1bx");
    }

    proptest! {
        #[test]
        fn cut_texts_fit(text: String, most in 0_usize..40) {
            prop_assert!(truncate_bytes(&text, most).len() <= most.max('…'.len_utf8()));
        }

        #[test]
        fn pieces_add_up_to_the_text(text: String, most in 1_usize..40) {
            prop_assert_eq!(split_to_width(&text, most).concat(), text);
        }
    }
}
