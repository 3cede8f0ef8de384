//! The texts in an unparsed line that may be requests, each matched as a request of its own, so
//! that a rule about the start or the end of a path finds it there.
//!
//! A line must show that it is about a web request: by a method or a protocol, or by an address and
//! a status or the word `url`. Other text is full of paths of files.

use crate::formats::is_status;
use crate::formats::line_prefix::without_colors;
use crate::log::client::Client;
use crate::log::log_entry::is_known_method;

/// The most candidates of a line. A line with more is text of another kind, such as a list of
/// links.
const MAX_CANDIDATES: usize = 8;
/// The most bytes between a method and its target: `", "url": "`.
const MAX_GAP: usize = 16;
/// The most words after a request that may be its status: `HTTP/1.1", "status": 404`.
const MAX_STATUS_WORDS: usize = 4;
/// The most bytes of a line in which an address or a status is looked for: clients choose texts
/// after them.
const MAX_SIGN: usize = 512;
/// Methods that are seldom words of ordinary text. The others count only in a line with a protocol.
const USUAL_METHODS: [&[u8]; 12] = [
    b"GET",
    b"POST",
    b"HEAD",
    b"PUT",
    b"DELETE",
    b"PATCH",
    b"OPTIONS",
    b"CONNECT",
    b"TRACE",
    b"TRACK",
    b"PROPFIND",
    b"PROPPATCH",
];

/// A part of a line that may be a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRequest<'l> {
    /// The method; empty if the line has none.
    method: &'l [u8],
    /// The target, and a protocol after it.
    target: &'l [u8],
    /// The text after it.
    after: &'l [u8],
}

/// Passes each candidate of a line to `take`, as a request line, and the status that stands after
/// it. `request` is a buffer for it.
pub(super) fn each_candidate(
    line: &[u8],
    request: &mut Vec<u8>,
    mut take: impl FnMut(&[u8], Option<u16>),
) {
    let mut plain = Vec::new();
    let line = without_colors(line, &mut plain).unwrap_or(line);
    let mut count = 0;
    let mut emit = |candidate: TextRequest<'_>| {
        count += 1;
        request.clear();
        if !candidate.method.is_empty() {
            request.extend_from_slice(candidate.method);
            request.push(b' ');
        }
        push_target(candidate.target, request);
        take(request, status_in(candidate.after));
    };
    // Nearly all lines without a slash have neither a target nor a protocol.
    let has_protocol = memchr::memmem::find(line, b"HTTP/").is_some();
    // In quotes, with a path after it, any method is one.
    let is_request_line = |at: usize, end: usize| {
        at > 0 && matches!(line[at - 1], b'"' | b'\'') && line[end..].starts_with(b" /")
    };
    let is_method = |(at, word): &(usize, &[u8])| {
        USUAL_METHODS.contains(word)
            || is_known_method(word) && (has_protocol || is_request_line(*at, at + word.len()))
    };
    let mut methods = words(line)
        .filter(is_method)
        .map(|(at, word)| (at, &line[at..at + word.len()]));
    let (first, after_methods) = (
        methods.clone().next(),
        methods
            .clone()
            .filter_map(|(at, method)| after_method(line, at, method)),
    );
    let found = after_methods.take(MAX_CANDIDATES).map(&mut emit).count();
    if found > 0 {
        return;
    }
    let method = methods.next().map_or(&b""[..], |(_, method)| method);
    if first.is_none() && !has_protocol && !has_address_and_status(line) {
        return;
    }
    targets(line)
        .take(MAX_CANDIDATES)
        .for_each(|(target, after)| {
            emit(TextRequest {
                method,
                target,
                after,
            });
        });
    if count == 0 {
        take(line, None);
    }
}

/// Appends a target without the escapes of slashes in JSON.
fn push_target(target: &[u8], request: &mut Vec<u8>) {
    let mut rest = target;
    while let Some(at) = memchr::memmem::find(rest, br"\/") {
        request.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
    }
    request.extend_from_slice(rest);
}

/// The words of letters, with their positions.
fn words(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> + Clone {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line.get(at..)?.iter().position(u8::is_ascii_alphabetic)?;
        let start = at;
        at += line[start..]
            .iter()
            .position(|byte| !(byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')))
            .unwrap_or(line.len() - start);
        Some((start, &line[start..at]))
    })
}

/// The request that starts with the method at `at`.
fn after_method<'l>(line: &'l [u8], at: usize, method: &'l [u8]) -> Option<TextRequest<'l>> {
    let after = &line[at + method.len()..];
    if method == b"CONNECT" && after.get(1).is_some_and(u8::is_ascii_alphanumeric) {
        let (target, after) = after[1..].split_at(target_end(&after[1..], None));
        return Some(TextRequest {
            method,
            target,
            after,
        });
    }
    let gap = (1..=MAX_GAP.min(after.len())).find(|gap| starts_target(&after[*gap..]))?;
    let before = &after[..gap];
    // A word between them is a key, or another value.
    let is_mark = |byte: &u8| byte.is_ascii_punctuation() || byte.is_ascii_whitespace();
    let key = before.iter().filter(|byte| !is_mark(byte)).count();
    if key > 0
        && !before.ends_with(b"=")
        && !before.ends_with(b":")
        && !before.ends_with(b"\"")
        && !before.ends_with(b" ")
    {
        return None;
    }
    let opening = if before == b" " {
        at.checked_sub(1).map(|before| line[before])
    } else {
        before.last().copied()
    };
    let (target, after) = after[gap..].split_at(target_end(&after[gap..], opening));
    Some(TextRequest {
        method,
        target,
        after,
    })
}

/// Whether a path or a URL starts here.
fn starts_target(text: &[u8]) -> bool {
    let scheme = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .count();
    matches!(text, [b'/', ..] | [b'\\', b'/', ..] | [b'*', b' ', ..])
        || scheme > 1 && text[scheme..].starts_with(b"://")
}

/// The end of a target, or of the request line that it is a part of. `opening` is the byte before
/// it.
fn target_end(text: &[u8], opening: Option<u8>) -> usize {
    let closing = match opening {
        Some(quote @ (b'"' | b'\'' | b'`')) => Some(quote),
        Some(b'[') => Some(b']'),
        Some(b'{') => Some(b'}'),
        Some(b'<') => Some(b'>'),
        Some(b'(') => Some(b')'),
        Some(separator @ (b'\t' | b'|' | b';' | b',')) => Some(separator),
        _ => None,
    };
    // A target may have blanks and quotes, if a protocol shows its end.
    let protocol = memchr::memmem::find(text, b" HTTP/").map(|protocol| {
        let version = text[protocol + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.'))
            .count();
        protocol + 1 + version
    });
    let is_bare = |at: &usize| !crate::formats::is_escaped(text, *at);
    if let Some(closing) = closing
        && let Some(end) = memchr::memchr_iter(closing, text).find(is_bare)
    {
        return protocol
            .filter(|protocol| *protocol > end && text.get(*protocol) == Some(&closing))
            .unwrap_or(end);
    }
    if let Some(protocol) = protocol {
        return protocol;
    }
    let end = text
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || *byte == b'"')
        .unwrap_or(text.len());
    without_marks_after(&text[..end])
}

/// The length of a target without the marks of its writer after it: a comma, or a bracket that is
/// not opened in it.
fn without_marks_after(target: &[u8]) -> usize {
    let mut rest = target;
    while let Some((last, before)) = rest.split_last() {
        let is_closed = |open: u8| {
            memchr::memchr_iter(open, rest).count() < memchr::memchr_iter(*last, rest).count()
        };
        let is_mark = match last {
            b',' | b';' => true,
            b')' => is_closed(b'('),
            b']' => is_closed(b'['),
            b'}' => is_closed(b'{'),
            _ => false,
        };
        if !is_mark {
            break;
        }
        rest = before;
    }
    rest.len()
}

/// The paths and URLs in a line, each with the text after it.
fn targets(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let is_start = |at: &usize| {
            let before = at.checked_sub(1).map(|before| line[before]);
            before
                .is_none_or(|byte| byte.is_ascii_whitespace() || b"\"'`=:|;,([{<>".contains(&byte))
                && starts_target(&line[*at..])
        };
        let start = (from..line.len()).find(is_start)?;
        let target = &line[start..];
        let length = target_end(target, start.checked_sub(1).map(|before| line[before]));
        from = start + length.max(1);
        Some(target.split_at(length))
    })
}

/// The status in one of the next words.
fn status_in(after: &[u8]) -> Option<u16> {
    let mut words = after
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_STATUS_WORDS);
    let status = words.find(|word| is_status(word))?;
    Some(
        status
            .iter()
            .fold(0, |code, digit| code * 10 + u16::from(digit - b'0')),
    )
}

/// Whether a line has an address, and a status as a word of its own or a name of URLs.
fn has_address_and_status(line: &[u8]) -> bool {
    let start = &line[..line.len().min(MAX_SIGN)];
    let is_url = |(_, word): (usize, &[u8])| {
        [b"url", b"uri"]
            .iter()
            .any(|name| word.eq_ignore_ascii_case(*name))
    };
    let mut numbers = start
        .split(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b':' | b'-' | b'/'));
    (numbers.any(is_status) || words(start).any(is_url))
        && Client::addresses_in(start).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(line: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_candidate(line.as_bytes(), &mut Vec::new(), |request, _| {
            found.push(String::from_utf8_lossy(request).into_owned());
        });
        found
    }

    #[test]
    fn each_request_in_a_line_is_a_candidate() {
        for (line, expected) in [
            ("log: GET /.env done", &["GET /.env"][..]),
            ("log: GET /a b HTTP/1.1 done", &["GET /a b HTTP/1.1"]),
            (r#"x "GET /a b" 200"#, &["GET /a b"]),
            (
                r#"x "GET /a\"b HTTP/1.1" 200 "https://x.example/.env""#,
                &[r#"GET /a\"b HTTP/1.1"#],
            ),
            (
                r#"{"method":"POST","path":"\/wp-login.php","x":1}"#,
                &["POST /wp-login.php"],
            ),
            (r#"{"path":"/x y","method":"POST"}"#, &["POST /x y"]),
            ("POST\t/a b\t404", &["POST /a b"]),
            (
                "proxied GET http://x.example/.git/config to 10.0.0.1",
                &["GET http://x.example/.git/config"],
            ),
            ("203.0.113.9 404 /.env", &["/.env"]),
            ("[203.0.113.9]:4711: url:/.env", &["/.env"]),
            ("\x1b[0mGET /x \x1b[32m200\x1b[0m", &["GET /x"]),
            (
                "CONNECT mail.example:25 HTTP/1.0 from x",
                &["CONNECT mail.example:25 HTTP/1.0"],
            ),
            ("req='GET /?x='1 HTTP/1.1' n=1", &["GET /?x='1 HTTP/1.1"]),
            (
                "MOVE /a HTTP/1.1, COPY /b HTTP/1.1",
                &["MOVE /a HTTP/1.1", "COPY /b HTTP/1.1"],
            ),
            (
                "got Request{method=GET, uri=/.npmrc, headers=[]}",
                &["GET /.npmrc"],
            ),
            ("(from 203.0.113.9: GET /f(1).php)", &["GET /f(1).php"]),
            ("[GET /.env]; next", &["GET /.env"]),
            (r#"[api] "MOVE /a.txt" <404>"#, &["MOVE /a.txt"]),
            (
                "a request without a target: HTTP/1.1",
                &["a request without a target: HTTP/1.1"],
            ),
        ] {
            assert_eq!(candidates(line), expected, "{line}");
        }
    }

    #[test]
    fn the_status_stands_after_the_request() {
        for (line, expected) in [
            ("GET /x HTTP/1.1 -> 404 (5)", Some(404)),
            (r#"{"method":"GET","url":"/x","code":500}"#, Some(500)),
            ("GET /x took 3 ms for 12 bytes and 404", None),
            ("GET /x 777", None),
            ("404 GET /x", None),
        ] {
            let mut found = None;
            each_candidate(line.as_bytes(), &mut Vec::new(), |_, status| {
                found = Some(status);
            });
            assert_eq!(found, Some(expected), "{line}");
        }
    }

    #[test]
    fn ordinary_text_has_none() {
        for line in [
            "2026-11-02 08:01:00 status installed php-cli:amd64 /usr/lib/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
            "Nov  2 08:01:00 web sudo: bob : COMMAND=/bin/cat /etc/passwd",
            "Nov  2 08:01:00 web sshd[512]: Failed password for root from 203.0.113.9 port 512 ssh2",
            "Nov  2 08:01:00 web postfix/smtp[12]: to=<a@x.example>, relay=203.0.113.9[203.0.113.9]:25, status=sent (250 2.0.0 Ok)",
            "COPY ./wp-config.php /var/www/html/wp-config.php",
            "id;link\n7;https://x.example/wp-admin/",
            "",
        ] {
            assert!(
                candidates(line).is_empty(),
                "{line}: {:?}",
                candidates(line)
            );
        }
    }
}
