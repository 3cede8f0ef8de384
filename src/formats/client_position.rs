//! Lines with two addresses before the time, `203.0.113.10 198.51.100.7 - - [...`: which one is the
//! client.
//!
//! With `'$host $remote_addr - $remote_user [...'`, the first field is the `Host` header, which the
//! client controls. A single line does not show which field is the client, but the other lines of
//! the log may; otherwise the client is unknown. A wrong client is worse than none, because someone
//! might block it.

use std::collections::HashMap;

use memchr::{memchr, memchr2};

use super::Frame;
use super::JsonLineParser;
use super::bytes::leading_nuls;
use super::clf::{request_start, starts_like_clf};
use super::host::host;
use super::json::{KeyCache, unescape_line};
use super::line_prefix::{LinePrefix, each_csv_column, stripped};
use crate::log::client::{Client, is_private_or_shared};

/// The position of the client in lines with two addresses before the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientPosition {
    /// In the first field.
    First,
    /// In the second field, after the host.
    Second,
    /// In the second field, and ident and user follow: `host client - user [`.
    SecondBeforeUser,
    /// As before, and each host has its port: `host:80 client - user [`.
    SecondAfterPort,
    /// In a later field: `host - client [`. The first field is what the client sent.
    Later,
    /// In no field: a dash is in its place, except where the client sent something.
    Absent,
    /// It cannot be determined.
    #[default]
    Unknown,
}

impl ClientPosition {
    /// Whether the first field of a line is what the client sent, even if it is the only address.
    pub(super) fn is_not_first(self) -> bool {
        matches!(self, Self::Later | Self::Absent)
    }
}

/// The number of lines with two addresses from which their values alone decide. In fewer lines, one
/// client could be dominant and choose the values of one field.
const MIN_PAIRS: usize = 100;
/// The minimum number of distinct addresses in a client field. Servers and proxies have only a few.
const MIN_DISTINCT: usize = 20;
/// The maximum number of fields before the time: host, client, ident, user. A `Host` header with a
/// space adds a field and moves the others.
const MAX_FIELDS: usize = 4;

/// The ident is one of this number of fields: host, client, ident.
const MAX_IDENT: usize = 3;

/// The fields before the time.
struct LeadingFields<'l> {
    before_time: &'l [u8],
    first: &'l [u8],
    second: &'l [u8],
    /// The number of fields.
    count: usize,
    /// A field after the second one is an address.
    has_later_address: bool,
    /// An address follows a comma, as where a proxy appends its client to a header. Any client may
    /// have sent what is before it.
    has_appended_address: bool,
}

impl<'l> LeadingFields<'l> {
    fn new(before_time: &'l [u8]) -> Option<Self> {
        let mut fields = fields(before_time);
        let (first, second) = (fields.next()?, fields.next().unwrap_or_default());
        let (mut count, mut has_later_address) = (1 + usize::from(!second.is_empty()), false);
        let (mut before, mut has_appended_address) = (second, false);
        for field in fields {
            count += 1;
            has_later_address |= is_address(field);
            has_appended_address |= before.ends_with(b",") && is_address(field);
            before = field;
        }
        Some(Self {
            before_time,
            first,
            second,
            count,
            has_later_address,
            has_appended_address,
        })
    }

    /// Whether the first field may not be the client. The field after a client is its ident, which
    /// is never an address; the user may look like one: `192.0.2.1 - 198.51.100.7 [`. Additional
    /// fields come from a header, or from a user with blanks.
    fn is_doubtful(&self) -> bool {
        let (is_first, is_usual) = (is_address(self.first), self.count <= MAX_FIELDS);
        if is_address(self.second) && (is_first || is_usual) {
            return true;
        }
        if is_first {
            return !is_usual && self.has_later_address;
        }
        // A line that starts with something else may have the prefix of another writer, unless a
        // dash shows where its ident is.
        let has_ident = || {
            fields(self.before_time)
                .take(MAX_IDENT)
                .any(|field| field == b"-")
        };
        self.has_client_and_ident()
            || self.count >= MAX_FIELDS && self.has_later_address && has_ident()
    }

    /// Whether the second field is an address, and a dash is in the place of the ident.
    fn has_client_and_ident(&self) -> bool {
        is_address(self.second) && fields(self.before_time).nth(2) == Some(b"-")
    }

    /// The position of the client and the client, if the log has it at `log_position`.
    ///
    /// A client chooses the host and the user, also with blanks and addresses. The position is
    /// known by what the log has before or after each client, unless a client writes that too.
    fn client(&self, log_position: ClientPosition) -> Option<(ClientPosition, &'l [u8])> {
        let is_usual = self.count <= MAX_FIELDS && !self.has_later_address;
        match log_position {
            // A name is never a client here. Without another address, no other field is.
            _ if is_address(self.second)
                && is_name(self.first)
                && (is_usual || !self.has_later_address && self.has_client_and_ident()) =>
            {
                Some((ClientPosition::Second, self.second))
            }
            ClientPosition::First if is_address(self.first) && !self.has_appended_address => {
                Some((ClientPosition::First, self.first))
            }
            ClientPosition::Second if is_usual && is_address(self.second) => {
                Some((ClientPosition::Second, self.second))
            }
            ClientPosition::SecondBeforeUser => {
                self.only_client(|_, after| after.next() == Some(b"-") && after.next().is_some())
            }
            ClientPosition::SecondAfterPort => self.only_client(|before, _| port(before).is_some()),
            ClientPosition::Later => self.only_client(|_, _| true),
            _ => None,
        }
    }

    /// The only address after the first field that can be the client, judged by the fields before
    /// and after it.
    fn only_client(
        &self,
        can_be: impl Fn(&[u8], &mut dyn Iterator<Item = &'l [u8]>) -> bool,
    ) -> Option<(ClientPosition, &'l [u8])> {
        let mut found = None;
        let (mut before, mut rest) = (self.first, fields(self.before_time));
        rest.next();
        while let Some(field) = rest.next() {
            if is_address(field)
                && can_be(before, &mut rest.clone())
                && found.replace(field).is_some()
            {
                return None;
            }
            before = field;
        }
        found.map(|client| (ClientPosition::Second, client))
    }
}

/// The fields of a text, which blanks separate.
fn fields(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(|&byte| byte == b' ')
        .filter(|field| !field.is_empty())
}

/// The digits after a host and a colon.
fn port(field: &[u8]) -> Option<&[u8]> {
    let digits = &field[memchr::memrchr(b':', field)? + 1..];
    (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit)).then_some(digits)
}

/// Whether the first field before the time may not be the client.
#[inline]
pub(super) fn is_doubtful(before_time: &[u8]) -> bool {
    // Most users are a dash or a word.
    let after = memchr(b' ', before_time).map_or(&[][..], |space| &before_time[space..]);
    memchr2(b'.', b':', after).is_some()
        && LeadingFields::new(before_time).is_some_and(|leading| leading.is_doubtful())
}

/// Whether a field after the second one is an address: a header may have moved the client there.
#[cold]
pub(super) fn is_moved(before_time: &[u8]) -> bool {
    LeadingFields::new(before_time).is_some_and(|leading| leading.has_later_address)
}

/// The fields of a line with a doubtful client; `None` if it is not such a line. An unknown client
/// is a dash.
pub(super) fn locate(
    line: &[u8],
    log_position: ClientPosition,
) -> Option<(ClientPosition, Frame<'_>)> {
    let (bracket, _) = request_start(line)?;
    let leading = LeadingFields::new(&line[..bracket]).filter(|leading| {
        let is_sent =
            log_position.is_not_first() && (leading.has_later_address || is_address(leading.first));
        is_sent || leading.is_doubtful() || leading.has_client_and_ident()
    })?;
    // The status of another format.
    if leading.first.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (position, client) = leading
        .client(log_position)
        .unwrap_or((ClientPosition::Unknown, b"-"));
    // The host is known only if it has no blank.
    let is_after_host =
        position == ClientPosition::Second && client.as_ptr() == leading.second.as_ptr();
    let host = if is_after_host {
        host(leading.first)
    } else {
        None
    };
    Some((position, Frame::with_client(line, host, client)?))
}

/// Detects the position of the client from the first lines of a log.
///
/// A name before an address shows that the host comes first; an address that no other follows shows
/// that the client comes first. Clients cannot forge either kind of line in a log of the other
/// kind. If both occur, the log has lines of two formats, and clients may be able to choose between
/// them: the position is unknown. If neither occurs, the values decide, given enough lines.
///
/// Likewise, a line that ends in a dash and a user that is no address shows that ident and user
/// follow each client, and one with nothing after the client shows the opposite: there, each line
/// ends in the address of its client.
#[must_use]
pub(crate) fn client_position(lines: &[u8]) -> ClientPosition {
    let (mut clients, mut pairs, mut unescaped) = (0_u64, Vec::new(), Vec::new());
    let (mut all, mut later, mut absent) = (0_u64, 0_u64, 0_u64);
    let (json, mut keys) = (JsonLineParser::new(), KeyCache::default());
    let (mut hosts, mut others) = (HostLines::default(), HostLines::default());
    for (number, line) in lines.split(|&byte| byte == b'\n').enumerate() {
        let line = &line[leading_nuls(line)..];
        // Nothing around a line hides the bracket before its time, and looking for prefixes takes
        // long.
        if memchr(b'[', line).is_none() {
            continue;
        }
        let line = if starts_like_clf(line) {
            line
        } else {
            unwrapped(line, &json, &mut keys, &mut unescaped)
        };
        let Some(leading) =
            request_start(line).and_then(|(bracket, _)| LeadingFields::new(&line[..bracket]))
        else {
            continue;
        };
        all += 1;
        match (is_address(leading.first), is_address(leading.second)) {
            (false, true) if leading.has_later_address => others.count(&leading, number > 0),
            (false, true) => hosts.count(&leading, number > 0),
            // The first line of a log may lack its start with the host.
            (true, false) => {
                clients += u64::from(number > 0 && leading.count > 2 && !leading.is_doubtful());
            }
            (true, true) if leading.count <= MAX_FIELDS => {
                pairs.push((
                    Client::parse_address(leading.first),
                    Client::parse_address(leading.second),
                ));
            }
            (false, false) => {
                later += u64::from(leading.has_later_address);
                absent += u64::from(leading.first == b"-");
            }
            _ => {}
        }
    }
    // What most lines do not have in the place of the client, clients sent in the others.
    if later * 2 > all {
        return ClientPosition::Later;
    }
    if absent * 2 > all {
        return ClientPosition::Absent;
    }
    match (hosts.names(), clients) {
        // Each user may be an address.
        (0, 0) if others.with_user > 0 => others.position(),
        (0, 0) => from_address_stats(&pairs),
        (_, 0) => hosts.position(),
        (0, _) => ClientPosition::First,
        _ => ClientPosition::Unknown,
    }
}

/// The line after its prefixes, or the only one in an object or in a line of CSV. A name before a
/// colon may be a host, and is kept.
fn unwrapped<'l>(
    line: &'l [u8],
    json: &JsonLineParser,
    keys: &mut KeyCache,
    unescaped: &'l mut Vec<u8>,
) -> &'l [u8] {
    let line = without_prefixes(line);
    if let Some(column) = column_with_time(line) {
        return column;
    }
    match json
        .enclosed_texts(line, keys)
        .map(|enclosed| enclosed.texts().to_vec())
        .as_deref()
    {
        Some([text]) if unescape_line(text, unescaped) => without_prefixes(unescaped),
        _ => line,
    }
}

/// The only column of a line of CSV that may have a time in brackets.
fn column_with_time(line: &[u8]) -> Option<&[u8]> {
    let mut found = [&b""[..]; 2];
    let columns = each_csv_column(line, |column| {
        if memchr(b'[', column).is_some() {
            found = [column, found[0]];
        }
    })?;
    (columns > 1 && !found[0].is_empty() && found[1].is_empty()).then_some(found[0])
}

fn without_prefixes(line: &[u8]) -> &[u8] {
    stripped(line)
        .take_while(|found| !matches!(found.prefix, LinePrefix::Name | LinePrefix::Logger))
        .last()
        .map_or(line, |found| found.rest)
}

/// Counts of lines that start with a name and an address, and have no other address before the
/// time.
#[derive(Debug, Default)]
struct HostLines {
    /// With a dash and a user after the client.
    with_user: u64,
    /// With nothing or something else after the client.
    without_user: u64,
    /// With the usual port of HTTP or HTTPS after the name. Browsers do not send these ports, so
    /// the server wrote them.
    with_port: u64,
}

impl HostLines {
    /// Counts a line. `is_whole`: its start is not cut off.
    fn count(&mut self, leading: &LeadingFields<'_>, is_whole: bool) {
        let port = port(leading.first).filter(|_| is_whole);
        let name = port.map_or(leading.first, |port| {
            &leading.first[..leading.first.len() - port.len() - 1]
        });
        if !is_name(name) || leading.count > MAX_FIELDS && !leading.has_client_and_ident() {
            return;
        }
        let has_user = leading.count >= MAX_FIELDS && leading.has_client_and_ident();
        *(if has_user {
            &mut self.with_user
        } else {
            &mut self.without_user
        }) += 1;
        self.with_port += u64::from(port.is_some_and(|port| matches!(port, b"80" | b"443")));
    }

    fn names(&self) -> u64 {
        self.with_user + self.without_user
    }

    fn position(&self) -> ClientPosition {
        match self {
            _ if self.without_user > 0 => ClientPosition::Second,
            // The others come from other ports of the server.
            _ if self.with_port * 10 >= self.names() * 9 => ClientPosition::SecondAfterPort,
            _ => ClientPosition::SecondBeforeUser,
        }
    }
}

/// Decides by which field varies. The first field is only accepted if all addresses in the second
/// are private, those of a proxy or the server: otherwise a single client that sends many `Host`
/// headers would match.
fn from_address_stats(
    pairs: &[(Option<std::net::IpAddr>, Option<std::net::IpAddr>)],
) -> ClientPosition {
    if pairs.len() < MIN_PAIRS {
        return ClientPosition::Unknown;
    }
    let [first, second] = [
        AddressStats::new(pairs.iter().map(|pair| pair.0)),
        AddressStats::new(pairs.iter().map(|pair| pair.1)),
    ];
    if first.is_constant() && second.is_varied() {
        ClientPosition::Second
    } else if first.is_varied()
        && pairs
            .iter()
            .all(|pair| pair.1.is_some_and(is_private_or_shared))
    {
        ClientPosition::First
    } else {
        ClientPosition::Unknown
    }
}

/// The addresses of one field.
struct AddressStats {
    all: usize,
    distinct: usize,
    /// The count of the most frequent address.
    most: usize,
}

impl AddressStats {
    fn new(addresses: impl Iterator<Item = Option<std::net::IpAddr>>) -> Self {
        let mut counts: HashMap<_, usize> = HashMap::new();
        for address in addresses {
            *counts.entry(address).or_default() += 1;
        }
        Self {
            all: counts.values().sum(),
            distinct: counts.len(),
            most: counts.into_values().max().unwrap_or(0),
        }
    }

    /// Nine in ten are the same address; the others come from forged `Host` headers.
    fn is_constant(&self) -> bool {
        self.most * 10 >= self.all * 9
    }

    /// Many addresses, none of which accounts for most requests.
    fn is_varied(&self) -> bool {
        self.distinct >= MIN_DISTINCT && self.most * 2 <= self.all
    }
}

fn is_address(field: &[u8]) -> bool {
    Client::parse_address(field).is_some()
}

/// Whether a field is a host name, not an address or a fragment of one.
pub(super) fn is_name(field: &[u8]) -> bool {
    let has_letter = field
        .iter()
        .any(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    has_letter
        && memchr(b':', field).is_none()
        && host(field).is_some_and(|host| host.len() == field.len())
}

#[cfg(test)]
mod tests {
    use crate::formats::Frame;
    use crate::formats::client_position::*;
    use proptest::prelude::*;

    const TAIL: &str = r#"[22/Nov/2026:10:00:00 +0000] "GET /.env HTTP/1.1" 404 10 "-" "x""#;

    fn line(before_time: &str) -> String {
        format!("{before_time} {TAIL}\n")
    }

    /// Host, port, client, and ident and user, which are not read.
    fn rewritten(before_time: &str, log_position: ClientPosition) -> Option<String> {
        let line = line(before_time);
        let (_, frame) = locate(line.trim_end().as_bytes(), log_position)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Some(format!(
            "{}{} - -",
            frame
                .host
                .map_or_else(String::new, |host| text(host) + ":80 "),
            text(frame.client)
        ))
    }

    #[test]
    fn the_engine_rejects_lines_with_a_doubtful_client() {
        for (before_time, is_read) in [
            ("192.0.2.1 - -", true),
            ("192.0.2.1 - frank", true),
            ("192.0.2.1 - Jo Doe", true),
            // Clients control the user field; it does not make their address doubtful.
            ("192.0.2.1 - 198.51.100.7", true),
            ("192.0.2.1 - - 198.51.100.7", true),
            ("192.0.2.1 www.example.org - -", true),
            ("host.example - -", true),
            ("203.0.113.10 198.51.100.7 - -", false),
            ("203.0.113.10 198.51.100.7 -", false),
            ("203.0.113.10 198.51.100.7", false),
            ("2001:db8::1 198.51.100.7 - -", false),
            ("203.0.113.10 2001:db8::7 - -", false),
            // `Host: 203.0.113.10 x` and `Host: 203.0.113.10 -` in a log of '$http_host
            // $remote_addr - $remote_user'.
            ("203.0.113.10 x 198.51.100.7 - -", false),
            ("203.0.113.10 - 198.51.100.7 - -", false),
            ("www.example.org 198.51.100.7 -", false),
        ] {
            assert_eq!(
                Frame::locate(line(before_time).trim_end().as_bytes(), None).is_some(),
                is_read,
                "{before_time}"
            );
        }
    }

    #[test]
    fn what_most_lines_do_not_have_as_client_was_sent() {
        use ClientPosition::{Absent, First, Later};
        let log = |lines: &[(&str, usize)]| -> String {
            lines
                .iter()
                .map(|(before_time, count)| line(before_time).repeat(*count))
                .collect()
        };
        for (lines, expected) in [
            (
                &[("www.example.org - 192.0.2.1", 3), ("192.0.2.1 - -", 2)][..],
                Later,
            ),
            (
                &[("www.example.org - 192.0.2.1", 2), ("192.0.2.1 - -", 2)],
                First,
            ),
            (&[("- - -", 3), ("192.0.2.1 - -", 2)], Absent),
            (&[("- - -", 2), ("192.0.2.1 - -", 2)], First),
            (&[("- - 192.0.2.1", 3), ("- - -", 2)], Later),
        ] {
            assert_eq!(
                client_position(log(lines).as_bytes()),
                expected,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn the_client_is_in_the_detected_field() {
        use ClientPosition::{Absent, First, Later, Second, Unknown};
        for (before_time, log_position, expected) in [
            ("203.0.113.10 - 198.51.100.7", Later, "198.51.100.7 - -"),
            ("203.0.113.10 - - 198.51.100.7", Later, "198.51.100.7 - -"),
            ("203.0.113.10 - 198.51.100.7 192.0.2.1", Later, "- - -"),
            ("203.0.113.10 - -", Later, "- - -"),
            ("203.0.113.10 - -", Absent, "- - -"),
            ("203.0.113.10 - 198.51.100.7", Absent, "- - -"),
            ("203.0.113.10 198.51.100.7 - -", First, "203.0.113.10 - -"),
            (
                "203.0.113.10 198.51.100.7 - -",
                Second,
                "203.0.113.10:80 198.51.100.7 - -",
            ),
            (
                "203.0.113.10 198.51.100.7 - frank",
                Second,
                "203.0.113.10:80 198.51.100.7 - -",
            ),
            ("203.0.113.10 198.51.100.7 - -", Unknown, "- - -"),
            (
                "[2001:db8::1] 198.51.100.7 - -",
                Second,
                "[2001:db8::1]:80 198.51.100.7 - -",
            ),
            ("2001:db8::1 198.51.100.7 - -", Second, "198.51.100.7 - -"),
            (
                "www.example.org 198.51.100.7 - -",
                Unknown,
                "www.example.org:80 198.51.100.7 - -",
            ),
            ("_ 198.51.100.7 - -", Unknown, "_:80 198.51.100.7 - -"),
            // A space in the header moves the fields.
            ("203.0.113.10 x 198.51.100.7 - -", Second, "- - -"),
            ("203.0.113.10 66.249.66.1 198.51.100.7 - -", Second, "- - -"),
            (
                "203.0.113.10 66.249.66.1 198.51.100.7 - -",
                First,
                "203.0.113.10 - -",
            ),
            // A fragment of an address is neither a name nor a client.
            ("0.3.105 198.51.100.7 - -", First, "- - -"),
        ] {
            assert_eq!(
                rewritten(before_time, log_position).as_deref(),
                Some(expected),
                "{before_time} {log_position:?}"
            );
        }
        for before_time in [
            "192.0.2.1 - -",
            "evil 66.249.66.1 198.51.100.7 - -",
            "2026-11-22T10:00:00Z 10.0.0.1 nginx: 192.0.2.1 - -",
            "x",
        ] {
            assert_eq!(rewritten(before_time, Second), None, "{before_time}");
        }
    }

    #[test]
    fn other_lines_determine_the_position() {
        let two = line("203.0.113.10 198.51.100.7 - -");
        let (name, client) = (
            line("www.example.org 198.51.100.8 - -"),
            line("198.51.100.9 - -"),
        );
        let detected = |lines: &[&str]| client_position(lines.concat().as_bytes());
        assert_eq!(detected(&[&two, &two]), ClientPosition::Unknown);
        assert_eq!(detected(&[&two, &name]), ClientPosition::SecondBeforeUser);
        assert_eq!(detected(&[&name, &two]), ClientPosition::SecondBeforeUser);
        assert_eq!(detected(&[&two, &client]), ClientPosition::First);
        // The start is cut off: the host may be missing.
        assert_eq!(detected(&[&client, &two]), ClientPosition::Unknown);
        assert_eq!(detected(&[&client, &two, &client]), ClientPosition::First);
        assert_eq!(detected(&[&two, &name, &client]), ClientPosition::Unknown);
        assert_eq!(
            detected(&[&two, &line("198.51.100.9 www.example.org - -")]),
            ClientPosition::First
        );
        // These do not decide: fields were moved, or there is no host.
        assert_eq!(
            detected(&[&two, &line("evil 66.249.66.1 198.51.100.9 - -")]),
            ClientPosition::Unknown
        );
        assert_eq!(
            detected(&[
                &two,
                &line("0.3.105 198.51.100.9 - -"),
                &line("- 198.51.100.9 - -")
            ]),
            ClientPosition::Unknown
        );
        assert_eq!(
            detected(&[&two, &format!("Nov 22 10:00:00 web nginx: {name}")]),
            ClientPosition::SecondBeforeUser
        );
        // What follows the client.
        let (port, alone) = (
            line("www.example.org:443 198.51.100.8 - -"),
            line("www.example.org 198.51.100.8"),
        );
        let user = line("www.example.org 198.51.100.8 - 192.0.2.1");
        assert_eq!(detected(&[&name, &alone]), ClientPosition::Second);
        assert_eq!(detected(&[&user, &alone]), ClientPosition::Second);
        assert_eq!(detected(&[&user, &two]), ClientPosition::SecondBeforeUser);
        // The first line may lack the start of its host.
        assert_eq!(detected(&[&two, &port]), ClientPosition::SecondAfterPort);
        assert_eq!(
            detected(&[&[&*two], &[&*port; 9][..], &[&name]].concat()),
            ClientPosition::SecondAfterPort
        );
        assert_eq!(
            detected(&[&[&*two], &[&*port; 8][..], &[&name]].concat()),
            ClientPosition::SecondBeforeUser
        );
        assert_eq!(
            detected(&[&two, &port.replace(":443", ":8080")]),
            ClientPosition::SecondBeforeUser
        );
    }

    #[test]
    fn a_user_with_blanks_and_addresses_moves_no_client() {
        use ClientPosition::{First, Second, SecondAfterPort, SecondBeforeUser, Unknown};
        for (before_time, log_position, expected) in [
            (
                "www.example.org 198.51.100.7 - a b",
                Unknown,
                "www.example.org:80 198.51.100.7 - -",
            ),
            (
                "www.example.org 198.51.100.7 - a 1.2.3.4",
                SecondBeforeUser,
                "www.example.org:80 198.51.100.7 - -",
            ),
            (
                "www.example.org 198.51.100.7 - 1.2.3.4",
                SecondBeforeUser,
                "www.example.org:80 198.51.100.7 - -",
            ),
            (
                "a\\x22b 198.51.100.7 - -",
                SecondBeforeUser,
                "198.51.100.7 - -",
            ),
            (
                "a[b 198.51.100.7 - a b",
                SecondBeforeUser,
                "198.51.100.7 - -",
            ),
            (
                "66.249.66.1 198.51.100.7 - a b",
                SecondBeforeUser,
                "66.249.66.1:80 198.51.100.7 - -",
            ),
            (
                "1.2.3.4 66.249.66.1 198.51.100.7 - -",
                SecondBeforeUser,
                "198.51.100.7 - -",
            ),
            (
                "www.example.org:80 198.51.100.7 - a 1.2.3.4",
                SecondBeforeUser,
                "www.example.org:80 198.51.100.7 - -",
            ),
            (
                "www.example.org:80 198.51.100.7 - a 1.2.3.4 - b",
                SecondAfterPort,
                "www.example.org:80 198.51.100.7 - -",
            ),
            // A host with blanks, and a user like it.
            (
                "x 66.249.66.1 - 198.51.100.7 - -",
                SecondBeforeUser,
                "- - -",
            ),
            (
                "www.example.org:80 198.51.100.7 - a 1.2.3.4 - b",
                SecondBeforeUser,
                "- - -",
            ),
            (
                "x:80 66.249.66.1 - y:80 198.51.100.7 - -",
                SecondAfterPort,
                "- - -",
            ),
            // Without a user in the log, each line ends in its client.
            ("x 66.249.66.1 - 198.51.100.7", Second, "- - -"),
            ("x:80 66.249.66.1 - 198.51.100.7", Second, "- - -"),
            ("x 66.249.66.1 - 198.51.100.7", Unknown, "- - -"),
            (
                "198.51.100.7 www.example.org - a 1.2.3.4 - b",
                First,
                "198.51.100.7 - -",
            ),
        ] {
            assert_eq!(
                Frame::locate(line(before_time).trim_end().as_bytes(), None),
                None,
                "{before_time}"
            );
            assert_eq!(
                rewritten(before_time, log_position).as_deref(),
                Some(expected),
                "{before_time} {log_position:?}"
            );
        }
    }

    /// Lines of a server without a name: `others` of them with another host, from N clients.
    fn unnamed(lines: usize, others: usize, clients: usize, is_reversed: bool) -> String {
        let one = |n: usize| {
            let host = if n < others {
                format!("66.249.{}.{}", n / 250, n % 250)
            } else {
                "10.0.0.10".to_owned()
            };
            let client = format!("198.51.100.{}", n % clients);
            let [first, second] = if is_reversed {
                [client, host]
            } else {
                [host, client]
            };
            line(&format!("{first} {second} - -"))
        };
        (0..lines).map(one).collect()
    }

    #[test]
    fn the_varying_field_is_the_client() {
        let detected = |lines: &str| client_position(lines.as_bytes());
        assert_eq!(
            detected(&unnamed(100, 10, 20, false)),
            ClientPosition::Second
        );
        assert_eq!(
            detected(&unnamed(99, 0, 20, false)),
            ClientPosition::Unknown
        );
        assert_eq!(
            detected(&unnamed(100, 11, 20, false)),
            ClientPosition::Unknown
        );
        assert_eq!(
            detected(&unnamed(100, 10, 19, false)),
            ClientPosition::Unknown
        );
        assert_eq!(detected(&unnamed(100, 0, 20, true)), ClientPosition::First);
        assert_eq!(
            detected(&unnamed(100, 0, 19, true)),
            ClientPosition::Unknown
        );
    }

    #[test]
    fn one_client_with_many_hosts_does_not_decide() {
        // The first field varies, and the second is one public address, that of the attacker.
        let lines: String = (0..400)
            .map(|n| line(&format!("66.249.{}.{} 198.51.100.7 - -", n / 250, n % 250)))
            .collect();
        assert_eq!(client_position(lines.as_bytes()), ClientPosition::Unknown);
        // One client makes most requests.
        let most = |n: usize| {
            if n < 51 {
                "198.51.100.1".to_owned()
            } else {
                format!("192.0.2.{n}")
            }
        };
        let lines: String = (0..100)
            .map(|n| line(&format!("203.0.113.10 {} - -", most(n))))
            .collect();
        assert_eq!(client_position(lines.as_bytes()), ClientPosition::Unknown);
        let lines: String = (1..101)
            .map(|n| line(&format!("203.0.113.10 {} - -", most(n))))
            .collect();
        assert_eq!(client_position(lines.as_bytes()), ClientPosition::Second);
    }

    proptest! {
        #[test]
        fn the_fields_of_a_line_with_two_addresses_are_known(before_time in "([0-9a-z.:\\[\\]-]{1,18} ){1,6}", log_position in prop::sample::select(vec![ClientPosition::First, ClientPosition::Second, ClientPosition::Unknown])) {
            let text = format!("{before_time}{TAIL}");
            let located = locate(text.as_bytes(), log_position);
            let direct = Frame::locate(text.as_bytes(), None);
            prop_assert!(located.is_none() || direct.is_none() || direct.is_some_and(|frame| frame.host.is_some()), "{}", text);
            if let Some((position, frame)) = located {
                prop_assert_eq!(frame.client == b"-", position == ClientPosition::Unknown);
                prop_assert_eq!((frame.request, frame.status, frame.bytes), (&b"GET /.env HTTP/1.1"[..], Some(404), Some(10)));
            }
        }
    }
}
