//! The Common Log Format and its two extensions, distinguished line by line:
//!
//! ```text
//! common                     client ident user [time] "request" status bytes
//! combined                   client ident user [time] "request" status bytes "referer" "user agent"
//! vhost_combined   host:port client ident user [time] "request" status bytes "referer" "user agent"
//! ```
//!
//! More fields may follow. Sources: Apache `mod_log_config` (`common`, `combined`, `vhost_combined`
//! of Debian), nginx `ngx_http_log_module` (`combined`). Nothing is decoded. Clients control the
//! request, the referer and the agent, and with `escape=none` these may contain bare quotes; the
//! client and the time are to their left.

use memchr::{memchr, memchr_iter, memchr2, memrchr};

use super::LogFormat;
use super::bytes::{end_of, marks_of_8, marks_outside};
use super::client_position::{is_doubtful, is_moved};
use crate::log::client::Client;
use crate::log::log_entry::LogEntry;
use crate::log::time::{CLF_TIME_LEN, LogTime};

/// The fields that are needed of every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame<'a> {
    /// The client, as logged.
    pub client: &'a [u8],
    /// The virtual host without its port.
    pub host: Option<&'a [u8]>,
    /// The text between the brackets.
    pub time: &'a [u8],
    /// The text between the first quotes.
    pub request: &'a [u8],
    /// The status code, if it has three digits.
    pub status: Option<u16>,
    /// Bytes sent, if the log has a number.
    pub bytes: Option<u64>,
    /// The quoted headers.
    pub headers: Headers<'a>,
    /// The user; empty if there is none.
    pub user: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Locates the fields of a line without its newline. With `only`, lines of other formats are
    /// rejected.
    #[must_use]
    #[inline]
    pub fn locate(line: &'a [u8], only: Option<LogFormat>) -> Option<Self> {
        Self::locate_by(line, only, |from| {
            Some(from + memchr(b'"', line.get(from..)?)?)
        })
    }

    /// Locates the parts with a function that returns the position of the first quote from an
    /// offset on.
    #[must_use]
    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    pub fn locate_by(
        line: &'a [u8],
        only: Option<LogFormat>,
        first_quote: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        Self::after_start(
            line,
            usual_start(line)
                .or_else(|| rare_start(line, &first_quote).filter(|start| is_bare(start.1)))?,
            only,
            first_quote,
        )
    }

    /// Locates the fields of a line whose client and virtual host are known. The user is not read.
    pub(super) fn with_client(
        line: &'a [u8],
        host: Option<&'a [u8]>,
        client: &'a [u8],
    ) -> Option<Self> {
        let (bracket, open) = request_start(line)?;
        Self::after_start(line, (host, client, bracket, open, b""), None, |from| {
            Some(from + memchr(b'"', line.get(from..)?)?)
        })
    }

    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    fn after_start(
        line: &'a [u8],
        (host, client, bracket, open, user): Start<'a>,
        only: Option<LogFormat>,
        first_quote: impl Fn(usize) -> Option<usize>,
    ) -> Option<Self> {
        let first = first_quote(open)?;
        let close = if is_end(line, open, first) {
            first
        } else {
            open + request_end_after_quotes(&line[open..])?
        };
        let rest = &line[close + 2..];
        // Checked before the frame is built, so that the fields of most lines stay in registers.
        if only.is_some_and(|format| !is_in(format, host.is_some(), rest)) {
            return None;
        }
        let (time, request) = (&line[bracket + 1..open - 3], &line[open..close]);
        let (bytes, after_size) = size(rest);
        let headers = Headers::quoted(headers(after_size));
        Some(Self {
            client,
            host,
            time,
            request,
            status: status(rest),
            bytes,
            headers,
            user,
        })
    }

    /// Whether it is a GET of `/`, with at most a short query, with or without a protocol. A long
    /// query would let the client choose the response size.
    #[must_use]
    #[inline]
    pub fn is_home_page(&self) -> bool {
        /// Too short for padding.
        const MAX_QUERY: usize = 15;
        let start = self.request.first_chunk();
        let has_short_query = || {
            let query = &self.request[b"GET /".len()..];
            memchr(b' ', query).unwrap_or(query.len()) <= MAX_QUERY
        };
        start == Some(b"GET / ")
            || self.request == b"GET /"
            || start == Some(b"GET /?") && has_short_query()
    }

    /// The whole record, for a line whose time was parsed already.
    #[must_use]
    pub fn record(&self, time: Option<LogTime>) -> LogEntry<'a> {
        let (referer, user_agent) = self.headers.split();
        LogEntry {
            client: self.client,
            host: self.host,
            time,
            request: self.request,
            status: self.status,
            bytes: self.bytes,
            referer,
            user_agent,
            user: Some(self.user).filter(|user| !matches!(user, [] | [b'-'])),
        }
    }

    /// The format of this line.
    #[must_use]
    #[inline]
    pub fn format(&self) -> LogFormat {
        match (self.host, self.headers.is_empty()) {
            (Some(_), _) => LogFormat::VhostCombined,
            (None, false) => LogFormat::Combined,
            (None, true) => LogFormat::Common,
        }
    }
}

/// The `Referer` and `User-Agent` headers. Most lines match no rule, so those of the Common Log
/// Format are split only when they are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Headers<'a> {
    /// `"referer" "user agent"` as the line ends, without trailing numbers: a request time differs
    /// in each line and would defeat caching. The referer alone if `user_agent` is known.
    text: &'a [u8],
    user_agent: Option<&'a [u8]>,
}

impl<'a> Headers<'a> {
    /// The end of a line in the Common Log Format; empty if the line has no headers.
    #[must_use]
    #[inline]
    pub const fn quoted(text: &'a [u8]) -> Self {
        Self {
            text,
            user_agent: None,
        }
    }

    /// Headers that a parser has split; a dash if the log has none.
    #[must_use]
    #[inline]
    pub const fn parsed(referer: &'a [u8], user_agent: &'a [u8]) -> Self {
        Self {
            text: referer,
            user_agent: Some(user_agent),
        }
    }

    /// Whether the line has no place for them.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.text.is_empty() && self.user_agent.is_none()
    }

    /// The texts of a cache key.
    #[must_use]
    #[inline]
    pub const fn key(self) -> (&'a [u8], Option<&'a [u8]>) {
        (self.text, self.user_agent)
    }

    /// The referer and the user agent. A dash stands for an empty value.
    fn split(self) -> (Option<&'a [u8]>, Option<&'a [u8]>) {
        let headers = match self.user_agent {
            Some(user_agent) => Some((self.text, user_agent)),
            None => self.text.strip_prefix(b"\"").and_then(|rest| {
                let end = quoted_end(rest)?;
                let agent = rest.get(end + 2..)?.strip_prefix(b"\"")?;
                Some((
                    &rest[..end],
                    &agent[..quoted_end(agent).unwrap_or(agent.len())],
                ))
            }),
        };
        let (referer, user_agent) = headers.unzip();
        (
            referer.filter(|text| *text != b"-"),
            user_agent.filter(|text| *text != b"-"),
        )
    }
}

/// Whether a line may be read as `format`; a combined line is also a common line with more fields.
#[cold]
#[inline(never)]
fn is_in(format: LogFormat, has_host: bool, rest: &[u8]) -> bool {
    match format {
        LogFormat::VhostCombined => has_host,
        LogFormat::Combined => !has_host && !headers(size(rest).1).is_empty(),
        LogFormat::Common => !has_host,
    }
}

/// The virtual host and the client, the position of `[` before the time, the start of the request,
/// and the user.
type Start<'a> = (Option<&'a [u8]>, &'a [u8], usize, usize, &'a [u8]);

/// The start of most lines, `192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "`. Only the first space is
/// searched for. Any other client than an IPv4 address may have something before it, as
/// `access.log:192.0.2.7`.
#[inline]
fn usual_start(line: &[u8]) -> Option<Start<'_>> {
    let space = v4_end(line.first_chunk()?)?;
    let (bracket, open) = (
        space + DASHES.len() - 1,
        space + DASHES.len() + CLF_TIME_LEN + AFTER_TIME.len(),
    );
    let (between, after) = (
        line.get(space..=bracket)?,
        line.get(open - AFTER_TIME.len()..open)?,
    );
    let ends_in_digit = space > 0 && line[space - 1].is_ascii_digit();
    (ends_in_digit && *between == DASHES && *after == AFTER_TIME)
        .then(|| (None, &line[..space], bracket, open, &line[..0]))
}

/// The text between client and time if ident and user are unknown.
const DASHES: [u8; 6] = *b" - - [";
const AFTER_TIME: [u8; 3] = *b"] \"";

/// The end of an IPv4 address in sixteen bytes; it has up to fifteen. A name or a number before it
/// would be in the first eight, so that only these must be digits and dots; what is after the last
/// digit is not checked.
#[inline]
fn v4_end(bytes: &[u8; 16]) -> Option<usize> {
    let ([first, second], _) = bytes.as_chunks::<8>() else {
        return None;
    };
    match marks_outside(*first, b'.', b'9') {
        0 => match marks_of_8(*second, b' ') {
            0 => None,
            marks => Some(8 + marks.trailing_zeros() as usize / 8),
        },
        marks => Some(marks.trailing_zeros() as usize / 8),
    }
}

/// The first space in sixteen bytes; most sizes are shorter.
#[inline]
fn space_in(bytes: &[u8; 16]) -> Option<usize> {
    let ([first, second], _) = bytes.as_chunks::<8>() else {
        return None;
    };
    match (marks_of_8(*first, b' '), marks_of_8(*second, b' ')) {
        (0, 0) => None,
        (0, marks) => Some(8 + marks.trailing_zeros() as usize / 8),
        (marks, _) => Some(marks.trailing_zeros() as usize / 8),
    }
}

/// The start of any line.
fn rare_start(line: &[u8], first_quote: impl Fn(usize) -> Option<usize>) -> Option<Start<'_>> {
    if is_object(line) {
        return None;
    }
    let (bracket, open) = request_start_by(line, first_quote)?;
    let (host, client) = split_client(&line[..bracket])?;
    // The client is a part of the line.
    let after_client = end_of(line, client);
    Some((
        host,
        client,
        bracket,
        open,
        user(&line[after_client..bracket]),
    ))
}

/// Whether nothing that another program writes is around a client: no quote, bracket or comma, and
/// no name before an address, as `access.log:192.0.2.7` of grep or `MESSAGE=192.0.2.7`.
pub(super) fn is_bare(client: &[u8]) -> bool {
    let is_address = || Client::parse(client).address().is_some();
    let ends_in_address = || {
        memchr_iter(b':', client).any(|colon| Client::parse_address(&client[colon + 1..]).is_some())
    };
    match client {
        [..=b' ' | b'"' | b'\'' | b'<' | b'(' | 0xef, ..]
        | [.., b',' | b';' | b'"' | b'\'' | b'>' | b')'] => false,
        [b'[', ..] => is_address(),
        // Columns before it.
        _ if memchr2(b'"', b'=', client).is_some() => false,
        _ => {
            memchr(b':', client).is_none()
                || memchr(b'.', client).is_none()
                || is_address()
                || !ends_in_address()
        }
    }
}

/// The user in the text between client and time, after the ident; empty if there are fewer fields.
fn user(between: &[u8]) -> &[u8] {
    let fields = between.trim_ascii();
    memchr(b' ', fields).map_or(&[], |ident| fields[ident..].trim_ascii())
}

/// Whether a line is a JSON object. A brace alone may start a forged host or client, but those
/// cannot contain a quote or a space.
fn is_object(line: &[u8]) -> bool {
    line.strip_prefix(b"{")
        .is_some_and(|inside| inside.trim_ascii_start().starts_with(b"\""))
}

/// The position of `[` before the time, and the start of the request.
pub(super) fn request_start(line: &[u8]) -> Option<(usize, usize)> {
    request_start_by(line, |from| Some(from + memchr(b'"', line.get(from..)?)?))
}

/// The start of the request, with a function that returns the position of the first quote from an
/// offset on. A user name may contain a quote, and the time may have another form.
fn request_start_by(
    line: &[u8],
    first_quote: impl Fn(usize) -> Option<usize>,
) -> Option<(usize, usize)> {
    let mut quotes = std::iter::successors(first_quote(0), |quote| first_quote(quote + 1));
    let quote = quotes.find(|quote| line[..*quote].ends_with(b"] "))?;
    let usual = quote.wrapping_sub(CLF_TIME_LEN + 3);
    if line.get(usual) == Some(&b'[') {
        return Some((usual, quote + 1));
    }
    let bracket = memrchr(b'[', &line[..quote])?;
    // A time of the usual length may be invalid, which loses no line.
    let is_time = LogTime::parse_any_format(&line[bracket + 1..quote - 2]).is_some();
    is_time.then_some((bracket, quote + 1))
}

/// Whether the first quote in a request ends it: it is unescaped and a status follows.
#[inline]
fn is_end(line: &[u8], start: usize, quote: usize) -> bool {
    (quote == start || line[quote - 1] != b'\\') && starts_like_status(&line[quote + 1..])
}

/// The length of a request that contains quotes: up to the first unescaped one that a status
/// follows. Writers that do not escape may leave a backslash before the closing quote, so an
/// escaped quote is the second choice.
#[cold]
fn request_end_after_quotes(text: &[u8]) -> Option<usize> {
    if has_doubled_quotes(text) {
        return None;
    }
    let mut second_choice = None;
    for quote in memchr_iter(b'"', text) {
        if !starts_like_status(&text[quote + 1..]) {
            continue;
        }
        if !is_escaped(text, quote) {
            return Some(quote);
        }
        second_choice = second_choice.or(Some(quote));
    }
    second_choice
}

/// Whether a request starts with another quote, as `""GET / HTTP/1.1""` of a column of CSV does. An
/// empty request has a blank after its quotes.
fn has_doubled_quotes(text: &[u8]) -> bool {
    matches!(text, [b'"', next, ..] if next.is_ascii_uppercase())
}

/// ` 200`, ` 200 ...`, ` -`, and malformed numbers.
fn starts_like_status(text: &[u8]) -> bool {
    matches!(text, [b' ', b'0'..=b'9' | b'-', ..])
}

/// Whether the byte at `at` has an odd number of backslashes before it.
pub(crate) fn is_escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1
}

/// The length of a quoted header: up to the first unescaped quote before a space or the end of the
/// line.
fn quoted_end(text: &[u8]) -> Option<usize> {
    memchr_iter(b'"', text)
        .find(|&q| matches!(text.get(q + 1), None | Some(b' ')) && !is_escaped(text, q))
}

/// The optional virtual host and the client, from the text before the time.
fn split_client(prefix: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let end = memchr(b' ', prefix)?;
    let (first, rest) = (&prefix[..end], &prefix[end + 1..]);
    if first.is_empty() {
        return None;
    }
    if memchr(b':', first).is_some()
        && let Some((host, client)) = split_host(first, rest)
        && (rest.ends_with(b" - - ") && memchr_iter(b' ', rest).count() == 3 || !is_moved(prefix))
    {
        return Some((Some(host), client));
    }
    if is_doubtful(prefix) {
        return None;
    }
    // A user name may contain spaces. But too many fields after something that is not an address
    // are the prefix of another writer.
    let is_usual = memchr_iter(b' ', rest).count() <= 2;
    (is_usual || Client::parse(first).address().is_some()).then_some((None, first))
}

/// `host:port` before a client. IPv6 clients and clients with a port contain colons too; but two
/// fields follow a client, and three follow a host.
#[cold]
fn split_host<'a>(first: &'a [u8], rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let colon = memrchr(b':', first)?;
    let digits = &first[colon + 1..];
    let is_port = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let fields = rest.split(|&b| b == b' ').filter(|f| !f.is_empty()).count();
    let bare_address = !first.starts_with(b"[") && matches!(Client::parse(first), Client::V6(_));
    if !is_port || fields < 3 || bare_address {
        return None;
    }
    let client = &rest[..memchr(b' ', rest)?];
    (!client.is_empty()).then_some((&first[..colon], client))
}

/// The headers in the text after the size.
#[expect(clippy::inline_always, reason = "in the line loop")]
#[inline(always)]
fn headers(headers: &[u8]) -> &[u8] {
    match headers {
        [b'"', .., b'"'] => headers,
        [b'"', ..] => without_numbers(headers),
        _ => &[],
    }
}

/// The text after a status of three bytes, as in most lines. In `- - `, the third byte is not part
/// of the status.
#[inline]
fn after_status(rest: &[u8]) -> Option<&[u8]> {
    match rest {
        [_, middle, _, b' ', size @ ..] if *middle != b' ' => Some(size),
        _ => None,
    }
}

/// Bytes sent, in the text after a request, and the text after them.
#[expect(clippy::inline_always, reason = "in the line loop")]
#[inline(always)]
fn size(rest: &[u8]) -> (Option<u64>, &[u8]) {
    if let Some(size) = after_status(rest)
        && let Some(start) = size.first_chunk()
        && let Some(space) = space_in(start)
    {
        let bytes = short_number(*first_8(start), space).or_else(|| number(&size[..space]));
        return (bytes, &size[space + 1..]);
    }
    let (size, rest) = word(word(rest).1);
    (number(size), rest)
}

/// The first eight bytes.
#[inline]
fn first_8(bytes: &[u8; 16]) -> &[u8; 8] {
    &bytes.as_chunks().0[0]
}

/// Headers without trailing numbers such as ` 0.004`.
#[cold]
fn without_numbers(headers: &[u8]) -> &[u8] {
    let numbers = headers
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'.' | b' ' | b'-'))
        .count();
    match headers.split_at(headers.len() - numbers) {
        (kept @ [b'"', .., b'"'], [b' ', ..]) => kept,
        _ => headers,
    }
}

/// The first word, and the text after the space that ends it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    // Status and size are short: a plain loop is faster than a search.
    text.iter()
        .position(|&b| b == b' ')
        .map_or((text, &[]), |space| (&text[..space], &text[space + 1..]))
}

/// The status in the text after a request.
#[inline]
fn status(rest: &[u8]) -> Option<u16> {
    match rest {
        [a, b, c, b' ', ..] | [a, b, c] => status_code(*a, *b, *c),
        _ => None,
    }
}

/// A number of three digits without a leading zero.
#[inline]
pub(super) fn status_code(a: u8, b: u8, c: u8) -> Option<u16> {
    let [a, b, c] = [a, b, c].map(|digit| u16::from(digit.wrapping_sub(b'0')));
    ((1..=9).contains(&a) && b <= 9 && c <= 9).then_some(a * 100 + b * 10 + c)
}

/// The number of one to seven digits at the start of eight bytes, as most sizes are. All digits are
/// converted at once, because branches on their count would be unpredictable.
#[inline]
fn short_number(text: [u8; 8], digits: usize) -> Option<u64> {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    const SIXES: u64 = u64::from_le_bytes([6; 8]);
    const HIGH: u64 = u64::from_le_bytes([0xf0; 8]);
    // Padded with leading zeros.
    let missing = u64::BITS
        .checked_sub(digits as u32 * 8)
        .filter(|&bits| bits > 0 && bits < u64::BITS)?;
    let values = (u64::from_le_bytes(text) << missing | ZEROS >> (u64::BITS - missing)) ^ ZEROS;
    // A digit above nine carries into the upper half of its byte; a further carry leaves a bit
    // there too.
    if (values | values.wrapping_add(SIXES)) & HIGH != 0 {
        return None;
    }
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// A number of digits.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| u64::from(byte.wrapping_sub(b'0'));
    if (1..=MAX_SAFE_DIGITS).contains(&text.len()) {
        let (number, are_digits) =
            text.iter()
                .map(digit)
                .fold((0_u64, true), |(number, are_digits), digit| {
                    (
                        number.wrapping_mul(10).wrapping_add(digit),
                        are_digits && digit <= 9,
                    )
                });
        return are_digits.then_some(number);
    }
    let first = text.first().map(digit).filter(|digit| *digit <= 9)?;
    text[1..]
        .iter()
        .map(digit)
        .try_fold(first, |number, digit| {
            number
                .checked_mul(10)?
                .checked_add(digit)
                .filter(|_| digit <= 9)
        })
}

/// As many digits always fit in 64 bits: the largest number has twenty.
const MAX_SAFE_DIGITS: usize = 19;

/// Whether a line starts like most Common Log Format lines,
/// `192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "`. Then it is in no other format, whether or not
/// the rest parses.
#[must_use]
pub(crate) fn starts_like_clf(line: &[u8]) -> bool {
    let start = &line[..line.len().min(40)];
    let Some(space) = memchr(b' ', start) else {
        return false;
    };
    let after = &line[space..];
    space > 0
        && after.starts_with(b" - - [")
        && after.get(32..35) == Some(b"] \"")
        && !has_doubled_quotes(&line[space + 35..])
        && is_bare(&start[..space])
}

#[cfg(test)]
mod tests {
    use crate::formats::clf::*;
    use proptest::prelude::*;

    const TIME: &str = "[02/Nov/2026:08:01:00 +0000]";

    fn frame(line: &str) -> Option<Frame<'_>> {
        Frame::locate(line.as_bytes(), None)
    }

    fn text(bytes: Option<&[u8]>) -> &str {
        bytes.map_or("", |b| std::str::from_utf8(b).unwrap())
    }

    #[test]
    fn parses_the_three_formats() {
        let line = format!(
            r#"192.0.2.7 - - {TIME} "GET / HTTP/1.1" 200 612 "https://example.org/" "curl/8""#
        );
        for (prefix, suffix, format) in [
            ("", "", "combined"),
            ("www.example.org:443 ", "", "vhost_combined"),
            ("", " \"-\" 0.004", "combined"),
        ] {
            let line = format!("{prefix}{line}{suffix}");
            let frame = frame(&line).unwrap();
            let record = frame.record(LogTime::parse_clf(frame.time));
            assert_eq!(record.client, b"192.0.2.7", "{line}");
            assert_eq!(record.host.is_some(), !prefix.is_empty());
            assert_eq!((record.status, record.bytes), (Some(200), Some(612)));
            assert_eq!(text(record.referer), "https://example.org/");
            assert_eq!(text(record.user_agent), "curl/8");
            assert_eq!(record.time.unwrap().rfc3339(), "2026-11-02T08:01:00+00:00");
            assert_eq!(frame.format().as_str(), format);
        }
        let hung_up = format!(r#"192.0.2.7 - - {TIME} "" - - "https://example.org/" "curl/8""#);
        assert_eq!(
            text(frame(&hung_up).unwrap().record(None).user_agent),
            "curl/8"
        );
        let common = format!(r#"host.example - jo {TIME} "GET / HTTP/1.1" 304 -"#);
        let frame = frame(&common).unwrap();
        assert_eq!(frame.format(), LogFormat::Common);
        assert_eq!((frame.status, frame.bytes), (Some(304), None));
    }

    #[test]
    fn the_user_follows_the_ident() {
        for (prefix, user) in [
            ("192.0.2.7 - -", ""),
            ("192.0.2.7 - jo", "jo"),
            ("192.0.2.7 - Jo Doe", "Jo Doe"),
            ("192.0.2.7 ident jo@example.org", "jo@example.org"),
            ("www.example.org:80 192.0.2.7 - jo", "jo"),
            ("192.0.2.7 jo", ""),
            (r"192.0.2.7 - EXAMPLE\jo", r"EXAMPLE\jo"),
        ] {
            let line = format!(r#"{prefix} {TIME} "GET / HTTP/1.1" 200 1"#);
            assert_eq!(
                text(frame(&line).unwrap().record(None).user),
                user,
                "{line}"
            );
        }
    }

    #[test]
    fn distinguishes_hosts_from_clients() {
        for (prefix, host, client) in [
            ("2001:db8::80 - -", "", "2001:db8::80"),
            ("[2001:db8::80]:8080 - -", "", "[2001:db8::80]:8080"),
            ("192.0.2.1:1234 - -", "", "192.0.2.1:1234"),
            ("192.0.2.1:443 192.0.2.9 - -", "192.0.2.1", "192.0.2.9"),
            (
                "[2001:db8::1]:443 2001:db8::2 - -",
                "[2001:db8::1]",
                "2001:db8::2",
            ),
            (
                "example.org:80 host.example - jo",
                "example.org",
                "host.example",
            ),
            ("192.0.2.1 - Jo Doe", "", "192.0.2.1"),
            ("{:80 192.0.2.1 - -", "{", "192.0.2.1"),
            ("{a-client-of-many-bytes - -", "", "{a-client-of-many-bytes"),
        ] {
            let line = format!(r#"{prefix} {TIME} "GET / HTTP/1.1" 200 1"#);
            let frame = frame(&line).unwrap();
            assert_eq!(
                (text(frame.host), text(Some(frame.client))),
                (host, client),
                "{line}"
            );
        }
    }

    #[test]
    fn finds_the_end_of_hostile_requests() {
        for (request, expected) in [
            (r#"GET /?q=\"x\" HTTP/1.1"#, r#"GET /?q=\"x\" HTTP/1.1"#),
            (r#"GET /?q="x" HTTP/1.1"#, r#"GET /?q="x" HTTP/1.1"#),
            (r"GET /a\", r"GET /a\"),
            (r"GET /a\\", r"GET /a\\"),
            ("", ""),
            ("-", "-"),
            (r"\x16\x03\x01", r"\x16\x03\x01"),
        ] {
            let line = format!(r#"192.0.2.7 - - {TIME} "{request}" 404 0 "-" "x""#);
            assert_eq!(text(frame(&line).map(|f| f.request)), expected, "{line}");
        }
        let forged =
            format!(r#"192.0.2.7 - - {TIME} "GET /a" 404 0 "-" "x" 200 0 "-" "y" HTTP/1.1" 500 0"#);
        assert_eq!(frame(&forged).unwrap().record(None).status, Some(404));
        let named = format!(r#"192.0.2.7 - a\"b {TIME} "GET / HTTP/1.1" 401 0"#);
        assert_eq!(text(frame(&named).map(|f| f.request)), "GET / HTTP/1.1");
    }

    #[test]
    fn malformed_numbers_are_none() {
        for (numbers, status, bytes) in [
            ("99999 1", None, Some(1)),
            ("-1 1", None, Some(1)),
            ("200 18446744073709551616", Some(200), None),
            ("- -", None, None),
            ("000 0", None, Some(0)),
        ] {
            let line = format!(r#"192.0.2.7 - - {TIME} "GET / HTTP/1.1" {numbers} "-" "-""#);
            let record = frame(&line).unwrap().record(None);
            assert_eq!((record.status, record.bytes), (status, bytes), "{line}");
            assert_eq!((record.referer, record.user_agent), (None, None));
        }
    }

    #[test]
    fn a_client_with_something_around_it_has_no_frame() {
        let is_read = |client: &str| {
            frame(&format!(r#"{client} - - {TIME} "GET / HTTP/1.1" 200 1"#)).is_some()
        };
        for client in [
            "1.2.3.4",
            "255.255.255.255",
            "1.2.3.4:80",
            "255.255.255.255:65535",
            "2001:db8::1",
            "[2001:db8::1]:80",
            "::ffff:1.2.3.4",
            "a",
            "host.example",
            "-",
            "unix:",
        ] {
            assert!(is_read(client), "{client}");
        }
        for client in [
            "a.log:1.2.3.4",
            "1:1.2.3.4",
            "1234567:1.2.3.4",
            "access.log:2.3.4.5",
            "\"1.2.3.4",
            "[1.2.3.4]",
            "<1.2.3.4>",
            "1.2.3.4,",
            "255.255.255.255,",
            "\t1.2.3.4",
            "\u{feff}1.2.3.4",
        ] {
            assert!(!is_read(client), "{client}");
        }
    }

    #[test]
    fn other_logs_have_no_frame() {
        for line in [
            "",
            "hello",
            r#"2026/11/02 08:01:00 [error] 12#12: *1 open() "/srv/x" failed (2: No such file), client: 192.0.2.7, request: "GET /x HTTP/1.1", host: "h""#,
            "[Mon Nov 02 08:01:00.1 2026] [core:error] [pid 1] [client 192.0.2.7:1] AH00126: Invalid URI in request GET /../ HTTP/1.1",
            r#"Nov  2 08:01:00 web nginx: 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1"#,
            r#"{"client":"192.0.2.7","request":"GET / HTTP/1.1","status":200}"#,
            r#"{ "a": "192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1"}"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTT"#,
        ] {
            assert_eq!(frame(line), None, "{line}");
        }
    }

    #[test]
    fn a_requested_format_excludes_others() {
        let common = format!(r#"192.0.2.7 - - {TIME} "GET / HTTP/1.1" 200 1"#);
        let combined = format!(r#"{common} "-" "-""#);
        let vhost = format!("h:80 {combined}");
        let fits = |line: &str, format| Frame::locate(line.as_bytes(), Some(format)).is_some();
        assert_eq!(
            [&common, &combined, &vhost].map(|l| LogFormat::ALL.map(|f| fits(l, f))),
            [
                [false, true, false],
                [true, true, false],
                [false, false, true]
            ]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(line in prop::collection::vec(any::<u8>(), 0..200), cut in 0_usize..120) {
            let mut whole = format!(r#"h:80 192.0.2.7 - - {TIME} "GET /a HTTP/1.1" 200 1 "-" "x""#).into_bytes();
            whole.truncate(cut);
            whole.extend(&line);
            for only in [None, Some(LogFormat::Common), Some(LogFormat::Combined), Some(LogFormat::VhostCombined)] {
                if let Some(frame) = Frame::locate(&whole, only) {
                    let _ = frame.record(None);
                }
            }
        }

        #[test]
        fn short_number_agrees_with_number(
            digits in "[0-9]{0,8}",
            other: Option<(u8, prop::sample::Index)>,
        ) {
            let mut text = *b"        ";
            text[..digits.len()].copy_from_slice(digits.as_bytes());
            if let Some((byte, at)) = other {
                text[at.index(8)] = byte;
            }
            let expected = word(&text).0;
            let is_short = (1..8).contains(&expected.len());
            prop_assert_eq!(short_number(text, expected.len()), number(expected).filter(|_| is_short));
        }

        #[test]
        fn a_written_line_is_parsed_back(request in "[ !#-\\[\\]-~]{0,60}", agent in "[!#-\\[\\]-~]{1,40}", status in 100_u16..600, bytes: u64) {
            let line = format!(r#"192.0.2.7 - - {TIME} "{request}" {status} {bytes} "-" "{agent}""#);
            let record = frame(&line).unwrap().record(None);
            prop_assert_eq!(record.request, request.as_bytes());
            prop_assert_eq!((record.status, record.bytes), (Some(status), Some(bytes)));
            prop_assert_eq!(record.user_agent, Some(agent.as_bytes()).filter(|a| *a != b"-"));
        }
    }
}
