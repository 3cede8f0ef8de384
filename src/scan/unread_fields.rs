//! Counts hits whose line seems to have a time, a client or a status that its format did not read,
//! and words the warning.
//!
//! A line without such a text lacks the field, which is no reason for a warning. Only lines that
//! match a rule are examined, and texts that a client sends are no evidence. The warning has no
//! text of the log.

use crate::collections::intern::SymbolTables;
use crate::formats::bytes::is_shaped;
use crate::log::client::Client;
use crate::log::finding::{Findings, UnreadFields};
use crate::log::log_entry::{LogEntry, RequestLine};
use crate::text::number::grouped;

/// A time or a status is worth a warning if more than one hit in this many lacks it. Fewer are
/// lines that broke.
const FIELD_DIVISOR: u64 = 10;
/// A client is if more than one hit in this many lacks it. Some servers log host names or user
/// names for a part of their clients.
const CLIENT_DIVISOR: u64 = 2;

/// Counts the hits in these lines, and their fields that could not be read.
pub(super) fn count(findings: &Findings, lines: &[u8], names: &SymbolTables) -> UnreadFields {
    let mut unread = UnreadFields::default();
    for hit in findings
        .hits
        .iter()
        .filter(|hit| hit.parsed && !hit.needs_client && !hit.windows.only)
    {
        unread.hits += 1;
        let has_address = names.clients.resolve(hit.client).address().is_some();
        if has_address && hit.time.is_some() && hit.status.is_some() {
            continue;
        }
        let Some(entry) = LogEntry::restore(findings.text(hit)) else {
            continue;
        };
        let is_client = has_address || is_host(entry.client);
        let is_absent = matches!(entry.client, b"" | b"-");
        let line = lines[hit.offset as usize..]
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        let texts = client_texts(entry);
        let has = |is_field: fn(&[u8]) -> bool| {
            tokens(line).any(|token| is_field(token) && !is_within(token, &texts))
        };
        unread.clients += u64::from(!is_client && (!is_absent || has(is_public_address)));
        unread.times += u64::from(hit.time.is_none() && has(is_like_time));
        unread.statuses += u64::from(hit.status.is_none() && has(is_like_status));
    }
    unread
}

/// The warning about a log with such hits.
pub(super) fn warning(unread: &UnreadFields) -> Option<String> {
    let UnreadFields {
        hits,
        clients,
        times,
        statuses,
    } = *unread;
    let sentence = |field: &str, many: u64, divisor: u64, effect: &str, [place, key]: [&str; 2]| {
        (many * divisor > hits).then(|| {
            format!(
                "the {field} of {} of {} lines that match a rule was not read: {effect}; type --log-format with {place} in its place, or \
                 --field {key}=KEY for a key of JSON",
                grouped(many),
                grouped(hits)
            )
        })
    };
    let sentences = [
        sentence(
            "client",
            clients,
            CLIENT_DIVISOR,
            "what stands in its place is no address or host name",
            ["$remote_addr", "client"],
        ),
        sentence(
            "time",
            times,
            FIELD_DIVISOR,
            "--since, --daily and floods do not see these lines",
            ["$time", "time"],
        ),
        sentence(
            "status",
            statuses,
            FIELD_DIVISOR,
            "whether these requests were answered is unknown",
            ["$status", "status"],
        ),
    ];
    let sentences: Vec<_> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// Texts of a request that the client chooses.
fn client_texts(entry: LogEntry<'_>) -> Vec<&[u8]> {
    let target = RequestLine::parse(entry.request).target;
    [
        Some(target),
        entry.host,
        entry.referer,
        entry.user_agent,
        entry.user,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn is_within(token: &[u8], texts: &[&[u8]]) -> bool {
    texts
        .iter()
        .any(|text| memchr::memmem::find(text, token).is_some())
}

/// The parts of a line that may be an address, a time or a number.
fn tokens(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| b" \t\"'[](){}<>|;,=".contains(byte))
        .filter(|token| !token.is_empty())
}

/// A name as DNS has them, an underscore as some networks do, or the `unix:` of a socket: nginx
/// writes it for a client without an address.
fn is_host(name: &[u8]) -> bool {
    name.iter().any(u8::is_ascii_alphabetic)
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(byte))
}

/// An address that may be that of a client: the servers of a site often have private ones.
fn is_public_address(token: &[u8]) -> bool {
    let client = Client::addresses_in(token).next().and_then(Client::address);
    client.is_some_and(|address| !crate::log::client::is_private(address))
}

/// Hours, minutes and seconds, a date with the year first, or seconds or milliseconds since 1970 of
/// 2001 to 2033.
fn is_like_time(token: &[u8]) -> bool {
    let seconds = token.split(|&byte| byte == b'.').next().unwrap_or_default();
    token.windows(8).any(|part| is_shaped(part, b"00:00:00"))
        || is_shaped(token, b"0000-00-00")
        || seconds.first() == Some(&b'1')
            && matches!(seconds.len(), 10 | 13)
            && seconds.iter().all(u8::is_ascii_digit)
}

fn is_like_status(token: &[u8]) -> bool {
    matches!(token, [b'1'..=b'5', tens, ones] if tens.is_ascii_digit() && ones.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use crate::scan::unread_fields::*;

    #[test]
    fn more_hits_than_a_share_are_worth_a_warning() {
        let said = |unread: UnreadFields| {
            warning(&unread).map(|warning| warning.split(' ').nth(1).unwrap_or_default().to_owned())
        };
        let none = UnreadFields {
            hits: 20,
            ..UnreadFields::default()
        };
        assert_eq!(
            [2, 3].map(|times| said(UnreadFields { times, ..none })),
            [None, Some("time".to_owned())]
        );
        assert_eq!(
            [2, 3].map(|statuses| said(UnreadFields { statuses, ..none })),
            [None, Some("status".to_owned())]
        );
        assert_eq!(
            [10, 11].map(|clients| said(UnreadFields { clients, ..none })),
            [None, Some("client".to_owned())]
        );
    }
}
