//! Describes the shape of a line without its text.
//!
//! A line in an unknown format may hold a password anywhere, so no mask can be trusted with it. Its
//! shape is enough to write a format string: words of a fixed list stand for the fields, and of the
//! line itself only the blanks, quotes, brackets and separators between fields are shown, no letter
//! and no digit.

use std::net::{IpAddr, SocketAddr};

/// The fields that are described, more than any known format has; the rest of a line is `...`.
const MAX_FIELDS: usize = 40;

/// The parts of a date that are letters.
const NAMES_IN_TIMES: [&[u8]; 21] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
    b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun", b"t", b"z",
];

/// The shape of a line: `ADDRESS - WORD [TIME] "REQUEST" NUMBER NUMBER`.
#[must_use]
pub(crate) fn line_shape(line: &[u8]) -> String {
    let mut shape = String::new();
    let mut rest = line.trim_ascii();
    for _ in 0..MAX_FIELDS {
        let blanks = rest.len() - rest.trim_ascii_start().len();
        if blanks > 0 {
            shape.push_str(if rest[..blanks].contains(&b'\t') {
                "\\t"
            } else {
                " "
            });
            rest = &rest[blanks..];
        }
        let length = match rest.first() {
            None => return shape,
            Some(&separator @ (b'|' | b',' | b';')) => {
                shape.push(char::from(separator));
                1
            }
            Some(&open @ (b'"' | b'\'' | b'[' | b'(' | b'<' | b'{')) => {
                push_enclosed(&mut shape, rest, open)
            }
            Some(_) => {
                let length = rest
                    .iter()
                    .position(|&byte| ends_field(byte))
                    .unwrap_or(rest.len());
                shape.push_str(kind(&rest[..length]));
                length
            }
        };
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        shape.push_str("...");
    }
    shape
}

/// Whether a line may be one of a log: it has a time, an address or a request, its first field is a
/// number, such as a time in seconds, or it is a JSON object.
#[must_use]
pub(crate) fn may_be_log_line(line: &[u8]) -> bool {
    let shape = line_shape(line);
    line.starts_with(b"{\"")
        || shape.starts_with("NUMBER")
        || ["TIME", "ADDRESS", "REQUEST"]
            .iter()
            .any(|field| shape.contains(field))
}

fn ends_field(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'|' | b',' | b';' | b'"')
}

/// Appends the shape of a field in quotes or brackets; returns its length.
fn push_enclosed(shape: &mut String, text: &[u8], open: u8) -> usize {
    let close = match open {
        b'[' => b']',
        b'(' => b')',
        b'<' => b'>',
        b'{' => b'}',
        quote => quote,
    };
    // The last brace: those between are of nested objects.
    let end = match open {
        b'{' => text.iter().rposition(|&byte| byte == close),
        _ => (1..text.len()).find(|&at| text[at] == close && text[at - 1] != b'\\'),
    };
    let inside = &text[1..end.unwrap_or(text.len())];
    shape.push(char::from(open));
    shape.push_str(kind(inside));
    if end.is_some() {
        shape.push(char::from(close));
    }
    end.map_or(text.len(), |end| end + 1)
}

/// What a field is.
fn kind(field: &[u8]) -> &'static str {
    let text = std::str::from_utf8(field).unwrap_or_default();
    let is_number = || {
        field
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-'))
    };
    match field {
        b"" => "",
        b"-" => "-",
        _ if text.parse::<IpAddr>().is_ok() || text.parse::<SocketAddr>().is_ok() => "ADDRESS",
        _ if is_time(field) => "TIME",
        _ if is_number() => "NUMBER",
        _ if is_request(field) => "REQUEST",
        _ if field.contains(&b' ') => "TEXT",
        [b'/', ..] => "PATH",
        _ if memchr::memmem::find(field, b"://").is_some() => "URL",
        _ => "WORD",
    }
}

/// Whether a field is a date, a time of day, or both.
fn is_time(field: &[u8]) -> bool {
    let words = field
        .split(|byte| !byte.is_ascii_alphabetic())
        .filter(|word| !word.is_empty());
    let count = |bytes: &[u8]| field.iter().filter(|byte| bytes.contains(byte)).count();
    let is_named = |word: &[u8]| {
        NAMES_IN_TIMES
            .iter()
            .any(|name| name.eq_ignore_ascii_case(word))
    };
    field
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b":/-.,+ ".contains(byte))
        && words.into_iter().all(is_named)
        && count(b"0123456789") >= 4
        && (count(b":") >= 2 || count(b"-") == 2 || count(b"/") == 2)
}

/// Whether a field is the first line of a request: a method in capitals, and a target.
fn is_request(field: &[u8]) -> bool {
    let mut words = field.split(|&byte| byte == b' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    (3..=16).contains(&method.len())
        && method.iter().all(u8::is_ascii_uppercase)
        && (target.starts_with(b"/")
            || memchr::memmem::find(target, b"://").is_some()
            || target == b"*")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_named() {
        for (line, shape) in [
            (
                r#"203.0.113.7 - bob [02/Nov/2026:08:01:00 +0000] "GET /?password=x HTTP/1.1" 200 5 "-" "a b""#,
                r#"ADDRESS - WORD [TIME] "REQUEST" NUMBER NUMBER "-" "TEXT""#,
            ),
            (
                "2026-11-02T08:01:00.5Z|GET|/login?token=x|[2001:db8::1]:80|0.5",
                "TIME|WORD|PATH|[ADDRESS]WORD|NUMBER",
            ),
            ("Mon\t2026-11-02\t08:01:00", r"WORD\tTIME\tTIME"),
            (r#"{"password":"hunter2"}"#, "{WORD}"),
            (r#"x "no end"#, r#"WORD "TEXT"#),
            ("user=bob; https://a.example/, (a)", "WORD; URL, (WORD)"),
            ("", ""),
        ] {
            assert_eq!(line_shape(line.as_bytes()), shape, "{line}");
        }
        assert_eq!(
            line_shape("x ".repeat(100).as_bytes()),
            "WORD ".repeat(40).trim_end().to_owned() + "..."
        );
    }

    #[test]
    fn lines_of_logs_have_a_time_an_address_or_a_request() {
        for (line, expected) in [
            ("Nov  2 08:01:00 web kernel: x", true),
            ("a 203.0.113.7 b", true),
            ("\"GET / HTTP/1.1\" 200", true),
            ("1793606460.123 12 /x", true),
            (r#"{"ts":1}"#, true),
            ("{", false),
            ("# Rules of 7 products, version 1.2", false),
            ("Commandline: apt-get install -y nginx", false),
            ("", false),
        ] {
            assert_eq!(may_be_log_line(line.as_bytes()), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn nothing_of_the_line_is_shown(line in any::<Vec<u8>>(), text in r#"[ a-z0-9"'{}()<>|,;:/=\[\]\\-]{0,80}"#) {
            const WORDS: [&str; 9] = ["ADDRESS", "TIME", "NUMBER", "REQUEST", "TEXT", "PATH", "URL", "WORD", "\\t"];
            for line in [&line, text.as_bytes()] {
                let shape = line_shape(line);
                let rest = WORDS.iter().fold(shape.clone(), |rest, word| rest.replace(word, ""));
                prop_assert!(rest.bytes().all(|byte| b" -\"'[](){}<>|,;.".contains(&byte)), "{shape}");
            }
        }
    }
}
