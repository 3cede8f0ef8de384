//! Formats whose lines need no plan: what stands in them is what [`Frame`](crate::formats::Frame) reads anyway.
//!
//! They are the common formats with something behind them, as most are. Their lines can go their way as they lie there.

use super::field::{Slot, Trim};
use super::{Escapes, Plan, TimeForm};
use crate::formats::LogFormat;

/// The slots of a format and the text behind each. What is between client and time is in no slot.
type Pattern = [(Option<Slot>, &'static str)];

const VHOST: (Option<Slot>, &str) = (Some(Slot::Host), " ");
const CLIENT: (Option<Slot>, &str) = (Some(Slot::Client), " - ");
const USER: (Option<Slot>, &str) = (None, " [");
const TIME: (Option<Slot>, &str) = (Some(Slot::Time), "] \"");
const REQUEST: (Option<Slot>, &str) = (Some(Slot::Request), "\" ");
const STATUS: (Option<Slot>, &str) = (Some(Slot::Status), " ");
const BYTES: (Option<Slot>, &str) = (Some(Slot::Bytes), " \"");
const REFERER: (Option<Slot>, &str) = (Some(Slot::Referer), "\" \"");
const AGENT: (Option<Slot>, &str) = (Some(Slot::UserAgent), "\"");
const LAST_BYTES: (Option<Slot>, &str) = (Some(Slot::Bytes), "");

const COMBINED: &Pattern = &[CLIENT, USER, TIME, REQUEST, STATUS, BYTES, REFERER, AGENT];
const COMMON: &Pattern = &[CLIENT, USER, TIME, REQUEST, STATUS, LAST_BYTES];

impl Plan {
    /// The format as which a line of this one can be read without it, to the same values: `combined`, perhaps with more behind,
    /// `common`, or `vhost_combined`. `None` where the plan is needed; but a field that names the real client is read by
    /// [`read`](Self::read) alone.
    #[must_use]
    pub fn plain(&self) -> Option<LogFormat> {
        let usual = self.start.is_empty() && self.escapes == Escapes::Written && self.time == TimeForm::Clf && !self.first_address;
        let fields = self.with_ident_as_text();
        match fields.as_slice() {
            _ if !usual => None,
            [host, fields @ ..] if *host == (VHOST.0, VHOST.1.as_bytes()) => {
                (self.fields[0].trim == Trim::Port && begins(fields, COMBINED)).then_some(LogFormat::VhostCombined)
            }
            fields if begins(fields, COMBINED) => Some(LogFormat::Combined),
            fields if fields.len() == COMMON.len() && begins(fields, COMMON) => Some(LogFormat::Common),
            _ => None,
        }
    }

    /// The fields, the identity of Apache's `%l` taken for the dash that it is.
    fn with_ident_as_text(&self) -> Vec<(Option<Slot>, &[u8])> {
        let mut fields: Vec<(Option<Slot>, &[u8])> = self.fields.iter().map(|f| (f.slot, f.behind())).collect();
        let ident = fields.windows(2).position(|pair| pair == [(CLIENT.0, b" ".as_slice()), (None, b" ")]);
        if let Some(at) = ident {
            fields.remove(at + 1);
            fields[at].1 = CLIENT.1.as_bytes();
        }
        fields
    }
}

/// Whether a format begins like another. Behind the last field more may follow, after a space.
fn begins(fields: &[(Option<Slot>, &[u8])], pattern: &Pattern) -> bool {
    let Some((last, pattern)) = pattern.split_last() else { return false };
    let Some((fields, more)) = fields.split_at_checked(pattern.len()) else { return false };
    let same = fields.iter().zip(pattern).all(|(field, (slot, behind))| *field == (*slot, behind.as_bytes()));
    let ends = more.first().is_some_and(|(slot, behind)| {
        let follows = behind.strip_prefix(last.1.as_bytes());
        *slot == last.0 && follows.is_some_and(|text| if text.is_empty() { more.len() == 1 } else { text.starts_with(b" ") })
    });
    same && ends && !more[1..].iter().any(|(slot, _)| slot.is_some())
}

#[cfg(test)]
mod tests {
    use crate::formats::plan::plain::*;

    #[test]
    fn formats_with_something_behind_are_plain() {
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
            assert_eq!(Plan::parse(format).unwrap().plain(), expected, "{format}");
        }
    }
}
