//! Detects formats whose lines [`Frame`](crate::formats::Frame) can parse, to compare it with the parser. For tests.
//!
//! Most formats are a common format with additional fields at the end.

use super::FormatLineParser;
use super::field::{CaptureSlot, TrimMode};
use super::{ClientField, TimeFormat};
use crate::formats::{Escapes, LogFormat};

/// The slots of a format and the text after each.
type Pattern = [(Option<CaptureSlot>, &'static str)];

const VHOST: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Host), " ");
const CLIENT: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Client), " - ");
const USER: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::User), " [");
const TIME: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Time), "] \"");
const REQUEST: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Request), "\" ");
const STATUS: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Status), " ");
const BYTES: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Bytes), " \"");
const REFERER: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Referer), "\" \"");
const AGENT: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::UserAgent), "\"");
const LAST_BYTES: (Option<CaptureSlot>, &str) = (Some(CaptureSlot::Bytes), "");

const COMBINED: &Pattern = &[CLIENT, USER, TIME, REQUEST, STATUS, BYTES, REFERER, AGENT];
const COMMON: &Pattern = &[CLIENT, USER, TIME, REQUEST, STATUS, LAST_BYTES];

impl FormatLineParser {
    /// The engine format that parses lines of this format to the same values: `combined`, optionally with more
    /// fields, `common`, or `vhost_combined`. `None` if the parser is needed. Only [`read`](Self::read) reads the
    /// field of the forwarded client.
    #[must_use]
    pub fn clf_compatible(&self) -> Option<LogFormat> {
        let is_usual =
            self.start.is_empty() && self.escapes == Escapes::Written && self.time == TimeFormat::Clf && self.client == ClientField::Peer;
        let fields = self.fields_without_ident();
        match fields.as_slice() {
            _ if !is_usual => None,
            [host, fields @ ..] if *host == (VHOST.0, VHOST.1.as_bytes()) => {
                (self.fields[0].trim == TrimMode::Port && begins(fields, COMBINED)).then_some(LogFormat::VhostCombined)
            }
            fields if begins(fields, COMBINED) => Some(LogFormat::Combined),
            fields if fields.len() == COMMON.len() && begins(fields, COMMON) => Some(LogFormat::Common),
            _ => None,
        }
    }

    /// The fields, with the ident of Apache's `%l` replaced by the dash that it always is.
    fn fields_without_ident(&self) -> Vec<(Option<CaptureSlot>, &[u8])> {
        let mut fields: Vec<(Option<CaptureSlot>, &[u8])> = self.fields.iter().map(|f| (f.slot, f.suffix())).collect();
        let ident = fields.windows(2).position(|pair| pair == [(CLIENT.0, b" ".as_slice()), (None, b" ")]);
        if let Some(at) = ident {
            fields.remove(at + 1);
            fields[at].1 = CLIENT.1.as_bytes();
        }
        fields
    }
}

/// Whether a format starts like a pattern. After the last field, a space and more fields may follow.
fn begins(fields: &[(Option<CaptureSlot>, &[u8])], pattern: &Pattern) -> bool {
    let Some((last, pattern)) = pattern.split_last() else { return false };
    let Some((fields, more)) = fields.split_at_checked(pattern.len()) else { return false };
    let same = fields.iter().zip(pattern).all(|(field, (slot, suffix))| *field == (*slot, suffix.as_bytes()));
    let ends = more.first().is_some_and(|(slot, suffix)| {
        let follows = suffix.strip_prefix(last.1.as_bytes());
        *slot == last.0 && follows.is_some_and(|text| if text.is_empty() { more.len() == 1 } else { text.starts_with(b" ") })
    });
    same && ends && !more[1..].iter().any(|(slot, _)| slot.is_some())
}

mod tests {
    use super::*;

    #[test]
    fn formats_with_additional_fields_are_clf_compatible() {
        let combined =
            r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;
        for (format, expected) in [
            (combined, Some(LogFormat::Combined)),
            (&*format!(r#"{combined} "$http_x_forwarded_for" $request_time"#), Some(LogFormat::Combined)),
            (&format!("{combined} $host"), None),
            (&format!("{combined}$request_time"), None),
            (&format!("escape=none '{combined}'"), None),
            (&format!("[{combined}"), None),
            (&format!("$host {combined}"), None),
            (&format!("$host:$server_port {combined}"), Some(LogFormat::VhostCombined)),
            (r#"%h %l %u %t "%r" %>s %b"#, Some(LogFormat::Common)),
            (r#"%h %l %u %t "%r" %>s %b %D"#, None),
            (r#"%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i" %I"#, Some(LogFormat::Combined)),
            (r#"%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#, Some(LogFormat::VhostCombined)),
            (r#"%{X-Real-IP}i %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#, None),
            (r#"%h %l %u %t "%r" %>s %b "%{User-Agent}i" "%{Referer}i""#, None),
            (r#"%h %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#, None),
        ] {
            assert_eq!(FormatLineParser::parse(format).unwrap().clf_compatible(), expected, "{format}");
        }
    }
}
