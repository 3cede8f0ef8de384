//! Text that other programs write before a log line, or around it: what they are, and where the
//! line begins.
//!
//! Prefixes are removed from the left only, one after the other, and only from lines that no format
//! reads: a client writes into the rest of a line. Sources: RFC 3164 and RFC 5424; journalctl(1),
//! `--output`; the Kubernetes CRI log format (kubernetes/design-proposals: kubelet-cri-logging);
//! docs.docker.com, `docker logs --timestamps` and `docker compose logs`; kubectl,
//! `logs --prefix --timestamps`; grep, cat and uniq of the GNU project; ECMA-48, 5.4 (control
//! sequences).

use memchr::{memchr, memchr2};

use super::bytes::{begins, is_shaped};
use super::clf::starts_like_clf;
use super::{Formats, Frame};
use crate::log::client::Client;
use crate::log::time::LogTime;

/// The writer of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePrefix {
    /// Anyone who indents lines or pastes them; also a byte-order mark.
    Blanks,
    /// A terminal: colours.
    Colors,
    /// The mark of an array of JSON objects, `[` or `,`.
    Array,
    /// `cat -n`, `nl` or `uniq -c`.
    Counter,
    /// A syslog daemon, or the journal.
    Syslog,
    /// A Kubernetes container runtime: `2026-11-02T08:01:00.669794202Z stdout F `.
    Cri,
    /// `docker logs -t`, `kubectl logs --timestamps`, and others that write a time.
    Time,
    /// `kubectl logs --prefix`: `[pod/web-1/nginx] `.
    Pod,
    /// `docker compose logs`: `web-1  | `.
    Compose,
    /// A program that writes a level: `INFO `, `[2026-11-02T08:01:00Z INFO  app] `.
    Level,
    /// A program that writes the name of a logger: `1 --- [main] access : `.
    Logger,
    /// Tabs between a time, a tag and an object, as fluentd and Caddy write.
    Tabs,
    /// `grep`, or another name before a colon: `access.log:`.
    Name,
    /// Quotes around the whole line.
    Quotes,
    /// A JSON object with the line as a string, such as the `json-file` driver of docker writes.
    Json,
    /// A table in CSV with the line in a column, as log services export.
    Csv,
}

impl LinePrefix {
    /// All, in the order of the guide.
    pub(crate) const ALL: [Self; 16] = [
        Self::Syslog,
        Self::Cri,
        Self::Pod,
        Self::Compose,
        Self::Json,
        Self::Csv,
        Self::Array,
        Self::Name,
        Self::Counter,
        Self::Colors,
        Self::Level,
        Self::Logger,
        Self::Time,
        Self::Tabs,
        Self::Quotes,
        Self::Blanks,
    ];

    /// Whether a program writes the name of a logger after it. At the start of a line, words are
    /// rather the name of a client, and a user that the client chose.
    fn is_before_logger(self) -> bool {
        matches!(self, Self::Time | Self::Level | Self::Syslog)
    }

    /// The name for messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blanks => "an editor (blanks)",
            Self::Colors => "a terminal (colours)",
            Self::Array => "a JSON array",
            Self::Counter => "a counter (cat -n, uniq -c)",
            Self::Syslog => "syslog",
            Self::Cri => "a container runtime (CRI)",
            Self::Time => "a program that writes times",
            Self::Pod => "kubectl",
            Self::Compose => "docker compose",
            Self::Level => "a program that writes levels",
            Self::Logger => "a logger",
            Self::Tabs => "a program that writes times and tags",
            Self::Name => "a program that writes names (grep)",
            Self::Quotes => "a program that writes quotes (LiteSpeed)",
            Self::Json => "a program that writes JSON (docker, the journal)",
            Self::Csv => "a program that writes CSV",
        }
    }
}

/// The most prefixes that are removed from a line: a time of docker, the name of a container, that
/// of a program and a level, each with blanks after it.
pub(super) const MAX_PREFIXES: usize = 8;

/// A line without its first prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StrippedLine<'l> {
    /// The writer of the prefix.
    pub(crate) prefix: LinePrefix,
    /// The text after it.
    pub(crate) rest: &'l [u8],
    /// The time in the prefix.
    pub(crate) time: Option<LogTime>,
}

/// The byte before a control sequence.
const ESCAPE: u8 = 0x1b;

/// The text after a prefix of one writer, and the time in the prefix; `None` if the line has no
/// such prefix.
type StripPrefix = fn(&[u8]) -> Option<(&[u8], Option<LogTime>)>;

/// The prefixes, in the order in which they are tried.
const PREFIXES: [(LinePrefix, StripPrefix); 14] = [
    (LinePrefix::Counter, after_counter),
    (LinePrefix::Blanks, after_blanks),
    (LinePrefix::Array, after_array_mark),
    (LinePrefix::Quotes, inside_quotes),
    (LinePrefix::Syslog, after_priority),
    (LinePrefix::Cri, after_cri),
    (LinePrefix::Syslog, after_syslog),
    (LinePrefix::Tabs, after_tabs),
    (LinePrefix::Time, after_time),
    (LinePrefix::Pod, after_pod),
    (LinePrefix::Level, after_level),
    (LinePrefix::Compose, after_compose),
    (LinePrefix::Logger, after_logger),
    (LinePrefix::Name, after_name),
];

/// A line without its first prefix, without its first two, and so on.
pub(crate) fn stripped(line: &[u8]) -> impl Iterator<Item = StrippedLine<'_>> {
    let (mut rest, mut has_logger) = (line, false);
    std::iter::from_fn(move || {
        let found = strip_prefix(rest, has_logger)?;
        has_logger |= found.prefix.is_before_logger();
        rest = found.rest;
        Some(found)
    })
}

/// Removes the first prefix of a line. The rest is never empty. `has_logger`: the line may have the
/// name of a logger, because a prefix that [may be before one](LinePrefix::is_before_logger) was
/// removed from it.
fn strip_prefix(line: &[u8], has_logger: bool) -> Option<StrippedLine<'_>> {
    let mut possible = PREFIXES
        .iter()
        .filter(|(prefix, _)| has_logger || *prefix != LinePrefix::Logger);
    possible.find_map(|(prefix, strip)| {
        let (rest, time) = strip(line).filter(|(rest, _)| !rest.is_empty())?;
        Some(StrippedLine {
            prefix: *prefix,
            rest,
            time,
        })
    })
}

/// The start of the last line that another program began, in which only the time of day may differ
/// from one line to the next. It affects only the speed: a line that starts otherwise is read from
/// its beginning.
#[derive(Debug, Default)]
pub(super) struct UsualPrefix {
    /// Up to the time of day.
    before: Vec<u8>,
    /// The text after it and its fraction; `None` if there is no time of day.
    after: Option<Vec<u8>>,
}

impl UsualPrefix {
    /// Learns the start of a line, which has the line `inner` in it, if any line with this start
    /// and an IPv4 address after it is read in the same way: by the removal of one prefix, and by
    /// no known format because of its first words.
    #[cold]
    pub(super) fn learn(&mut self, line: &[u8], inner: &[u8], formats: &Formats) {
        let is_certain = |found: StrippedLine<'_>| {
            found.rest == inner && inner.len() < line.len() && line.ends_with(inner)
        };
        let is_format = || formats.tried().any(|(_, parser)| parser.may_read(line));
        if !strip_prefix(line, false).is_some_and(is_certain) || !is_usual(inner) || is_format() {
            return;
        }
        let start = &line[..line.len() - inner.len()];
        let clock = (0..start.len()).find(|at| after_clock(&start[*at..]).is_some());
        self.before = start[..clock.unwrap_or(start.len())].to_vec();
        self.after = clock
            .and_then(|at| after_clock(&start[at..]))
            .map(<[u8]>::to_vec);
    }

    /// Reads the line after such a start.
    #[inline]
    pub(super) fn read<'l>(
        &self,
        line: &'l [u8],
        first_quote: impl Fn(usize) -> Option<usize>,
    ) -> Option<Frame<'l>> {
        if self.before.is_empty() && self.after.is_none() || !begins(line, &self.before) {
            return None;
        }
        let mut inner = &line[self.before.len()..];
        if let Some(after) = &self.after {
            inner = after_clock(inner)
                .filter(|rest| begins(rest, after))
                .map(|rest| &rest[after.len()..])?;
        }
        // Without colours, it may be another line.
        if memchr(ESCAPE, line).is_some() {
            return None;
        }
        let start = line.len() - inner.len();
        if !is_usual(inner) {
            return None;
        }
        Frame::locate_by(inner, None, |from| Some(first_quote(start + from)? - start))
    }
}

/// Whether a line starts like most in the Common Log Format, with an IPv4 address.
#[inline]
fn is_usual(line: &[u8]) -> bool {
    let client = || line.split(|byte| *byte == b' ').next().unwrap_or_default();
    starts_like_clf(line) && matches!(Client::parse(client()), Client::V4(_))
}

/// The most digits of the fraction of a second.
const MAX_FRACTION: usize = 9;

/// The text after a valid time of day and its fraction.
#[inline]
fn after_clock(text: &[u8]) -> Option<&[u8]> {
    let ([h1, h2, b':', m1, m2, b':', s1, s2], rest) = text.split_first_chunk()? else {
        return None;
    };
    let is_digit = [h1, h2, m1, m2, s1, s2]
        .iter()
        .all(|byte| byte.is_ascii_digit());
    if !is_digit || [*h1, *h2] > *b"23" || *m1 > b'5' || *s1 > b'5' {
        return None;
    }
    let Some((b'.' | b',', fraction)) = rest.split_first() else {
        return Some(rest);
    };
    let digits = fraction
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    ((1..=MAX_FRACTION).contains(&digits)).then(|| &fraction[digits..])
}

/// The line without the colours of a terminal, written to `buffer`; `None` if it has none.
#[must_use]
pub(crate) fn without_colors<'b>(line: &[u8], buffer: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    let mut next = memchr(ESCAPE, line)?;
    let mut rest = line;
    buffer.clear();
    loop {
        buffer.extend_from_slice(&rest[..next]);
        rest = &rest[next..];
        let parameters = rest.strip_prefix(b"\x1b[").map(|rest| {
            rest.iter()
                .take_while(|b| b.is_ascii_digit() || **b == b';')
                .count()
        });
        match parameters.map(|length| (length, rest.get(length + 2))) {
            Some((length, Some(last))) if last.is_ascii_alphabetic() => rest = &rest[length + 3..],
            // Another control sequence is kept.
            _ => {
                buffer.push(ESCAPE);
                rest = &rest[1..];
            }
        }
        match memchr(ESCAPE, rest) {
            Some(at) => next = at,
            None => break,
        }
    }
    buffer.extend_from_slice(rest);
    (buffer.len() < line.len()).then_some(buffer)
}

/// ` 1\t` of `cat -n`, ` 4 ` of `uniq -c`. A number without blanks around it may be a status.
fn after_counter(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let text = line.trim_ascii_start();
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (&separator, rest) = text[digits..].split_first()?;
    let is_counter =
        digits > 0 && (separator == b'\t' || separator == b' ' && text.len() < line.len());
    is_counter.then_some((rest, None))
}

fn after_blanks(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let text = line
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii_start();
    (text.len() < line.len()).then_some((text, None))
}

/// The mark before an object of an array with one object a line.
fn after_array_mark(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let rest = line
        .strip_prefix(b"[")
        .or_else(|| line.strip_prefix(b","))?
        .trim_ascii_start();
    rest.starts_with(b"{").then_some((rest, None))
}

/// The text between quotes at both ends, as `LiteSpeed` writes lines; also as an element of a list,
/// with a comma after it. Columns that are each in quotes are no such text.
fn inside_quotes(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let (quote, inside) = line
        .split_first()
        .filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    let inside = inside
        .strip_suffix(b",")
        .unwrap_or(inside)
        .strip_suffix(&[*quote])?;
    each_csv_column(line, |_| ())
        .is_none_or(|columns| columns < 2)
        .then_some((inside, None))
}

/// Passes each column of a line of CSV (RFC 4180) to `take`, without its quotes and with inner ones
/// doubled; returns their number. `None` if the quotes are not those of columns.
pub(super) fn each_csv_column<'l>(line: &'l [u8], mut take: impl FnMut(&'l [u8])) -> Option<usize> {
    let (mut rest, mut columns) = (line, 0);
    loop {
        columns += 1;
        let after = match rest.strip_prefix(b"\"") {
            None => {
                let (column, after) = rest.split_at(memchr(b',', rest).unwrap_or(rest.len()));
                take(column);
                (memchr(b'"', column).is_none()).then_some(after)?
            }
            Some(inside) => {
                let mut close = memchr(b'"', inside)?;
                while inside.get(close + 1) == Some(&b'"') {
                    close += 2 + memchr(b'"', &inside[close + 2..])?;
                }
                take(&inside[..close]);
                &inside[close + 1..]
            }
        };
        match after {
            [] => return Some(columns),
            [b',', next @ ..] => rest = next,
            _ => return None,
        }
    }
}

/// `<190>Nov 2 08:01:00 web nginx: ` of RFC 3164, `<190>1 2026-11-02T08:01:00Z web nginx - - - ` of
/// RFC 5424.
fn after_priority(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let close = line.iter().take(5).position(|&b| b == b'>')?;
    let digits = line.strip_prefix(b"<")?.get(..close - 1)?;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let rest = &line[close + 1..];
    match rest.strip_prefix(b"1 ") {
        Some(rest) => Some((
            after_structured(rest)?,
            leading_time(rest).map(|(_, time)| time),
        )),
        // The time may be missing: `<190>nginx: `.
        None => after_syslog(rest).or_else(|| Some((after_tag(rest)?, None))),
    }
}

/// Skips time, host, app, process, message ID and structured data of RFC 5424, and an optional
/// UTF-8 byte-order mark.
fn after_structured(line: &[u8]) -> Option<&[u8]> {
    let mut rest = line;
    for _ in 0..5 {
        rest = after_word(rest)?;
    }
    let message = match rest {
        [b'-', b' ', message @ ..] => message,
        [b'[', ..] => after_elements(rest)?,
        _ => return None,
    };
    Some(message.strip_prefix(b"\xef\xbb\xbf").unwrap_or(message))
}

/// Skips `[id name="value" ...][...] `; quotes, backslashes and brackets in values are escaped.
fn after_elements(mut rest: &[u8]) -> Option<&[u8]> {
    while rest.first() == Some(&b'[') {
        let (mut quoted, mut escaped) = (false, false);
        let close = rest.iter().position(|&b| {
            let is_end = b == b']' && !quoted;
            quoted ^= b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            is_end
        })?;
        rest = &rest[close + 1..];
    }
    rest.strip_prefix(b" ")
}

/// A time in any form, a host and a tag: `Nov 2 08:01:00 web nginx[12]: `,
/// `2026-11-02T08:01:00.123456+00:00 web nginx: `. Heroku writes no host.
fn after_syslog(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let (rest, time) = match after_bsd_time(line) {
        Some(rest) => (rest, None),
        None => leading_time(line).map(|(rest, time)| (rest, Some(time)))?,
    };
    Some((
        after_word(rest)
            .and_then(after_tag)
            .or_else(|| after_tag(rest))?,
        time,
    ))
}

/// `Nov  2 08:01:00 `, which lacks the year; with an optional fraction.
fn after_bsd_time(line: &[u8]) -> Option<&[u8]> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let (stamp, rest) = line.split_at_checked(15)?;
    let is_month = MONTHS.chunks(3).any(|month| stamp.starts_with(month));
    let fraction = rest
        .iter()
        .take_while(|b| b.is_ascii_digit() || **b == b'.')
        .count();
    (is_month && is_shaped(&stamp[3..], b" d0 00:00:00"))
        .then(|| rest[fraction..].strip_prefix(b" "))?
}

/// The most words of a time: `Mon Nov 02 2026 08:01:00 GMT+0100 (CET)`.
const MAX_TIME_WORDS: usize = 7;
/// The most bytes of a time before a line.
const MAX_TIME: usize = 48;

/// The time that a line starts with, the longest that can be read, and the text after it and
/// blanks.
fn leading_time(line: &[u8]) -> Option<(&[u8], LogTime)> {
    let start = &line[..line.len().min(MAX_TIME)];
    let is_blank = |b: &u8| matches!(b, b' ' | b'\t');
    // Most times are one word, and most other lines start with no time.
    let word = start.iter().position(is_blank)?;
    if is_shaped(start, b"0000-00-00T00:00:00")
        || start[..word]
            .iter()
            .all(|b| b.is_ascii_digit() || *b == b'.')
    {
        return Some((
            line[word..].trim_ascii_start(),
            LogTime::parse_any_format(&line[..word])?,
        ));
    }
    if !start[0].is_ascii_alphanumeric() || memchr::memchr_iter(b':', start).count() < 2 {
        return None;
    }
    let mut ends = [0; MAX_TIME_WORDS];
    let mut words = 0;
    for (end, at) in ends.iter_mut().zip(
        start
            .iter()
            .enumerate()
            .filter(|(_, b)| is_blank(b))
            .map(|(at, _)| at),
    ) {
        *end = at;
        words += 1;
    }
    ends[..words].iter().rev().find_map(|&end| {
        Some((
            line[end..].trim_ascii_start(),
            LogTime::parse_any_format(&line[..end])?,
        ))
    })
}

/// A time in any form; also without a date or a year, which is then not known.
fn after_time(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let is_time_of_day = is_shaped(line, b"00:00:00")
        && line.get(8).is_some_and(|b| matches!(b, b' ' | b'.' | b','));
    let unknown = || {
        after_bsd_time(line).or_else(|| {
            if is_time_of_day {
                after_word(line)
            } else {
                None
            }
        })
    };
    leading_time(line)
        .map(|(rest, time)| (rest, Some(time)))
        .or_else(|| unknown().map(|rest| (rest, None)))
}

/// `nginx: `, `nginx[12]: `: a word that ends in a colon.
fn after_tag(line: &[u8]) -> Option<&[u8]> {
    let tag = line.iter().take(80).take_while(|b| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'.' | b'-' | b'_' | b'/' | b'[' | b']' | b'(' | b')')
    });
    let length = tag.count();
    (length > 0).then(|| line[length..].strip_prefix(b": "))?
}

/// `2026-11-02T08:01:00.669794202Z stdout F `. `P` marks the start of a longer line, in which a
/// header is cut off; what follows is counted as a line of its own.
fn after_cri(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    if !is_shaped(line, b"0000-00-00T00:00:00") {
        return None;
    }
    let (rest, time) = leading_time(line)?;
    let rest = rest
        .strip_prefix(b"stdout ")
        .or_else(|| rest.strip_prefix(b"stderr "))?;
    let rest = rest
        .strip_prefix(b"F ")
        .or_else(|| rest.strip_prefix(b"P "))
        .or_else(|| rest.strip_prefix(b"F:").and_then(after_word))?;
    Some((rest, Some(time)))
}

/// `2026-11-02T08:01:00+00:00\tnginx.access\t{`: only words without a quote, in which a client
/// could write, are before the object.
fn after_tabs(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let brace = memchr2(b'{', b'"', line)
        .filter(|at| *at > 0 && line[*at] == b'{' && line[*at - 1] == b'\t')?;
    Some((&line[brace..], leading_time(line).map(|(_, time)| time)))
}

/// `[pod/web-7d9c7b6f5-x2x8k/nginx] `.
fn after_pod(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let inside = line.strip_prefix(b"[")?;
    let (name, rest) = inside.split_at(memchr2(b']', b' ', inside)?);
    let is_pod = name.starts_with(b"pod/")
        || name
            .split(|b| *b == b'/')
            .filter(|part| !part.is_empty())
            .count()
            == 3;
    is_pod.then(|| Some((rest.strip_prefix(b"] ")?, None)))?
}

/// `web-1  | `.
fn after_compose(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let name = line
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@'))
        .count();
    let rest = line[name..].trim_ascii_start().strip_prefix(b"|")?;
    (name > 0).then_some((rest.strip_prefix(b" ").unwrap_or(rest), None))
}

/// The names of levels.
const LEVELS: [&[u8]; 14] = [
    b"INFO",
    b"DEBUG",
    b"TRACE",
    b"WARN",
    b"WARNING",
    b"ERROR",
    b"NOTICE",
    b"CRITICAL",
    b"FATAL",
    b"CRIT",
    b"ERR",
    b"ALERT",
    b"EMERG",
    b"LOG",
];

/// A level, with a time before it in brackets: `INFO `, `[INFO] `,
/// `[2026-11-02T08:01:00Z INFO access] `.
fn after_level(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let is_level = |word: &[u8]| LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
    let Some(inside) = line.strip_prefix(b"[") else {
        let level = line.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        return (is_level(&line[..level]) && line.get(level) == Some(&b' '))
            .then(|| (line[level..].trim_ascii_start(), None));
    };
    let (inside, rest) = inside.split_at(memchr(b']', inside)?);
    let (words, time) =
        leading_time(inside).map_or((inside, None), |(words, time)| (words, Some(time)));
    let level = words.split(|b| *b == b' ').next().unwrap_or_default();
    is_level(level).then(|| Some((rest.strip_prefix(b"] ")?.trim_ascii_start(), time)))?
}

/// The most bytes that a logger writes before a line.
const MAX_LOGGER: usize = 160;

/// Words up to ` : `, ` - ` or `]` before an address: `1 --- [main] access : `. A quote or an
/// address before it shows that the words are fields, and so does a dash after the first word: a
/// client, its ident and a user, which the client chose.
fn after_logger(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    let head = &line[..line.len().min(MAX_LOGGER)];
    if head.split(|b| *b == b' ').nth(1) == Some(b"-") {
        return None;
    }
    let mut at = 0;
    for word in head.split(|b| *b == b' ') {
        let end = at + word.len();
        let rest = line.get(end + 1..)?;
        if memchr(b'"', word).is_some() || Client::parse_address(word).is_some() {
            return None;
        }
        // `[info]192.0.2.7 - - [`, as Fly.io writes.
        if let Some(close) = memchr(b']', word)
            .filter(|close| word[0] == b'[' && Client::parse_address(&word[close + 1..]).is_some())
        {
            return Some((&line[at + close + 1..], None));
        }
        let next = rest.split(|b| *b == b' ').next().unwrap_or_default();
        if matches!(word, b":" | b"-") && at > 0 && Client::parse_address(next).is_some() {
            return Some((rest, None));
        }
        at = end + 1;
    }
    None
}

/// Whether a text is one address, or several with commas, with any marks.
pub(super) fn is_address_list(text: &[u8]) -> bool {
    text.strip_suffix(b",")
        .unwrap_or(text)
        .split(|b| *b == b',')
        .all(|part| Client::parse_address(Client::without_marks(part)).is_some())
}

/// `access.log:` and `access.log:12:` of grep, which are two prefixes; `INFO:` and `nginx:`;
/// `MESSAGE=` of the journal.
fn after_name(line: &[u8]) -> Option<(&[u8], Option<LogTime>)> {
    if let Some(rest) = line.strip_prefix(b"MESSAGE=") {
        return Some((rest, None));
    }
    let name = line
        .iter()
        .take_while(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'/' | b'@' | b'+' | b'~')
        })
        .count();
    let is_name = name > 0 && line.get(name) == Some(&b':');
    // The start of an IPv6 address is no name.
    let is_address = || is_address_list(line.split(|b| *b == b' ').next().unwrap_or_default());
    // `unix: - user [`: a client, its ident and its user.
    let is_client = || line[name + 1..].starts_with(b" - ");
    (is_name && !is_address() && !is_client()).then(|| (&line[name + 1..], None))
}

fn after_word(line: &[u8]) -> Option<&[u8]> {
    let space = memchr(b' ', line)?;
    (space > 0).then(|| &line[space + 1..])
}

#[cfg(test)]
mod tests {
    use crate::formats::line_prefix::*;
    use proptest::prelude::*;

    const LINE: &str = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /?q=\"a\" HTTP/1.1" 200 612 "-" "curl/8""#;
    const OBJECT: &str = r#"{"remote_addr":"192.0.2.7"}"#;

    /// The prefixes of a line, the text after them, and the last time in them.
    fn stripped(line: &[u8]) -> (Vec<LinePrefix>, Vec<u8>, Option<LogTime>) {
        let (mut rest, mut prefixes, mut time) = (line, Vec::new(), None);
        while rest != LINE.as_bytes()
            && rest != OBJECT.as_bytes()
            && let Some(found) = strip_prefix(rest, true).filter(|_| prefixes.len() < MAX_PREFIXES)
        {
            prefixes.push(found.prefix);
            (rest, time) = (found.rest, found.time.or(time));
        }
        (prefixes, rest.to_vec(), time)
    }

    #[test]
    fn the_line_after_prefixes_is_found() {
        use LinePrefix::{
            Array, Blanks, Compose, Counter, Cri, Level, Logger, Name, Pod, Quotes, Syslog, Tabs,
            Time,
        };
        for (line, prefixes, is_timed) in [
            ("<190>Nov  2 08:01:00 web nginx: LINE", &[Syslog][..], false),
            ("<190>Nov 12 08:01:00 web nginx[12]: LINE", &[Syslog], false),
            ("<190>Nov  2 2026 08:01:00 web nginx: LINE", &[Syslog], true),
            ("<14>nginx: LINE", &[Syslog], false),
            (
                "2026-11-02T08:01:00Z app[148ed599] fra [info]LINE",
                &[Time, Logger],
                true,
            ),
            ("Nov  2 08:01:00 web haproxy[4096]: LINE", &[Syslog], false),
            (
                "Nov  2 08:01:00.123456 web haproxy[4096]: LINE",
                &[Syslog],
                false,
            ),
            (
                "2026-11-02T08:01:00.123456+00:00 web nginx: LINE",
                &[Syslog],
                true,
            ),
            (
                "Mon 2026-11-02 08:01:00 UTC web nginx: LINE",
                &[Syslog],
                true,
            ),
            ("1793606460.123456 web nginx: LINE", &[Syslog], true),
            ("<190>2026-11-02T08:01:00Z web nginx: LINE", &[Syslog], true),
            (
                "<190>1 2026-11-02T08:01:00Z web nginx - - - LINE",
                &[Syslog],
                true,
            ),
            (
                "<190>1 2026-11-02T08:01:00Z web nginx 12 - [a b=\"x]\\\"\"][c] \u{feff}LINE",
                &[Syslog],
                true,
            ),
            ("2026-11-02T08:01:00.669794202Z stdout F LINE", &[Cri], true),
            (
                "2026-11-02T08:01:00.669794202+01:00 stderr F LINE",
                &[Cri],
                true,
            ),
            ("2026-11-02T08:01:00.669794202Z LINE", &[Time], true),
            (
                "2026-11-02T08:01:00.123456+00:00 app[web.1]: LINE",
                &[Syslog],
                true,
            ),
            ("Nov  2 08:01:00 LINE", &[Time], false),
            ("08:01:00 web.1  | LINE", &[Time, Compose], false),
            ("web-1  | LINE", &[Compose], false),
            ("web.1.a1b2@node-1    | LINE", &[Compose], false),
            ("0|web  | LINE", &[Compose, Compose], false),
            ("2026-11-02T08:01:00Z web-1  | LINE", &[Time, Compose], true),
            ("web-1  | 2026-11-02T08:01:00Z LINE", &[Compose, Time], true),
            (
                "[pod/web-7d9c7b6f5-x2x8k/nginx] 2026-11-02T08:01:00Z LINE",
                &[Pod, Time],
                true,
            ),
            ("access.log.1:LINE", &[Name], false),
            ("/var/log/nginx/access.log:12:LINE", &[Name, Name], false),
            ("INFO:     LINE", &[Name, Blanks], false),
            ("[INFO] LINE", &[Level], false),
            (
                "[2026-11-02T08:01:00Z INFO  actix_web::middleware::logger] LINE",
                &[Level],
                true,
            ),
            (
                "2026-11-02 08:01:00.123  INFO 1 --- [nio-1] a.b.Access      : LINE",
                &[Time, Level, Logger],
                true,
            ),
            (
                "2026-11-02 08:01:00,123 INFO  [nio-1] access - LINE",
                &[Time, Level, Logger],
                true,
            ),
            ("     1\tLINE", &[Counter], false),
            ("12\tLINE", &[Counter], false),
            ("      4 LINE", &[Counter], false),
            (" \t LINE", &[Blanks], false),
            ("\u{feff}LINE", &[Blanks], false),
            ("\"LINE\"", &[Quotes], false),
            ("'LINE',", &[Quotes], false),
            ("MESSAGE=LINE", &[Name], false),
            ("[OBJECT", &[Array], false),
            (", OBJECT", &[Array], false),
            (
                "2026-11-02T08:01:00+00:00\tnginx.access\tOBJECT",
                &[Tabs],
                true,
            ),
            (
                "2026/11/02 08:01:00.123\tINFO\thttp.log.access\thandled request\tOBJECT",
                &[Tabs],
                true,
            ),
        ] {
            let inner = if line.contains("OBJECT") {
                OBJECT
            } else {
                LINE
            };
            let line = line.replace("LINE", LINE).replace("OBJECT", OBJECT);
            let (found, rest, time) = stripped(line.as_bytes());
            assert_eq!(
                (&found[..], &*String::from_utf8_lossy(&rest)),
                (prefixes, inner),
                "{line}"
            );
            assert_eq!(
                time.is_some_and(|time| time.rfc3339_utc().starts_with("2026-11-0")),
                is_timed,
                "{line}: {time:?}"
            );
        }
    }

    #[test]
    fn other_lines_have_no_prefix() {
        for line in [
            LINE,
            OBJECT,
            "",
            "Nov",
            "November was cold",
            "<>Nov  2 08:01:00 web nginx: x",
            r#"404 192.0.2.7 [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 162"#,
            "www.example.org 192.0.2.7 - - [",
            "[wsus] 192.0.2.7 / - - - [",
            r#"a "quoted" text - 192.0.2.7 - -"#,
            "a\t\"b\"\t{}",
            r#""a","b""#,
            r#""a""b","c""#,
        ] {
            assert_eq!(strip_prefix(line.as_bytes(), true), None, "{line}");
        }
    }

    #[test]
    fn colors_are_removed_everywhere() {
        let plain = |line: &str| {
            without_colors(line.as_bytes(), &mut Vec::new())
                .map(|line| String::from_utf8(line.to_vec()).unwrap())
        };
        assert_eq!(
            plain("\x1b[0;33;1mweb.1 | \x1b[0mGET \x1b[32m200\x1b[0m").as_deref(),
            Some("web.1 | GET 200")
        );
        assert_eq!(
            plain("\x1b[31m\x1b[?25lx\x1b").as_deref(),
            Some("\x1b[?25lx\x1b")
        );
        assert_eq!(
            (plain("none"), plain("\x1b"), plain("\x1b[")),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(start in prop::sample::select(vec!["", "<1>", "<190>1 ", "Nov  2 08:01:00 ", "[", "[pod/", "2026-11-02T08:01:00", "\x1b[", "a : "]), rest: Vec<u8>, text in "[0-9A-Za-z:.,|\"{}\\[\\] \t/-]{0,60}") {
            for rest in [&rest, text.as_bytes()] {
                let line = [start.as_bytes(), rest].concat();
                let mut rest = &line[..];
                while let Some(found) = strip_prefix(rest, true) {
                    prop_assert!(!found.rest.is_empty() && found.rest.len() < rest.len());
                    rest = found.rest;
                }
                let _ = without_colors(&line, &mut Vec::new());
            }
        }
    }
}
