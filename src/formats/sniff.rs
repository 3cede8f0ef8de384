//! Knows other logs by their first line, so that a message can say what a file is and not only what it is not.

use crate::client::Client;
use memchr::memmem::find;

/// What a line that has no frame looks like; `None` where nothing is known.
#[must_use]
pub fn recognize(line: &[u8]) -> Option<&'static str> {
    match line {
        [b'{', ..] => Some("JSON lines"),
        [b'#', rest @ ..] if rest.starts_with(b"Fields:") || rest.starts_with(b"Software:") || rest.starts_with(b"Version:") => {
            Some("a W3C extended log")
        }
        _ if is_error_log(line) => Some("a server's error log"),
        _ if is_binary(line) => Some("binary data"),
        _ if find(line, b"] \"").is_some() => Some("an access log behind the prefix of another writer"),
        _ => None,
    }
}

/// Whether a line is of an nginx or Apache error log: `2026/11/02 08:01:00 [error] ...`, `[Mon Nov 02 08:01:00.1 2026] [core:error] ...`.
#[must_use]
pub fn is_error_log(line: &[u8]) -> bool {
    shaped_like(line, b"0000/00/00 00:00:00 [") || shaped_like(line, b"[Aaa Aaa 00 00:00:00")
}

/// Bytes that decide whether a text is binary data.
const BINARY_HEAD: usize = 1024;
/// Fewer say nothing: of so many random bytes seven are controls.
const BINARY_LEAST: usize = 64;
/// One control in so many bytes. Random bytes have one in nine, and text has none: what a client sends is escaped by nearly all
/// servers, and where it is not, some lines parse.
const BINARY_SHARE: usize = 20;

/// Whether a text that begins so is binary data. NULs do not count: a hole in a log has them.
#[must_use]
pub fn is_binary(head: &[u8]) -> bool {
    let bytes = head.iter().take(BINARY_HEAD).filter(|byte| **byte != 0);
    let (mut all, mut controls) = (0, 0);
    for byte in bytes {
        all += 1;
        controls += usize::from(matches!(byte, 1..=8 | 0x0b | 0x0c | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f));
    }
    all >= BINARY_LEAST && controls * BINARY_SHARE > all
}

/// Whether `line` begins like `shape`, in which `0` stands for a digit and `a` and `A` for a letter.
fn shaped_like(line: &[u8], shape: &[u8]) -> bool {
    line.len() >= shape.len()
        && line.iter().zip(shape).all(|(b, s)| match s {
            b'0' => b.is_ascii_digit(),
            b'a' | b'A' => b.is_ascii_alphabetic(),
            other => b == other,
        })
}

/// Lines that are looked at: a proxy writes the field into each of them.
const LINES: usize = 20;
/// Quoted fields of a combined line: the request, the referer and the user agent, which the client wrote.
const OWN_FIELDS: usize = 3;

/// Whether one of the first lines has such a field.
#[must_use]
pub fn has_forwarded(lines: &[u8]) -> bool {
    lines.split(|&byte| byte == b'\n').take(LINES).any(|line| if line.first() == Some(&b'{') { in_json(line) } else { in_quotes(line) })
}

/// `"http_x_forwarded_for": "192.0.2.7, 10.0.0.1"`, whatever the key is called.
fn in_json(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    let value = find(&lower, b"forwarded").and_then(|at| Some(&lower[at + find(&lower[at..], b":")?..]));
    value.is_some_and(|value| Client::addresses_in(&value[..value.len().min(100)]).next().is_some())
}

/// `"192.0.2.7, 10.0.0.1"` after the user agent.
fn in_quotes(line: &[u8]) -> bool {
    let quoted = line.split(|&byte| byte == b'"').skip(1).step_by(2).skip(OWN_FIELDS);
    let is_address = |part: &[u8]| Client::parse_address(part.trim_ascii()).is_some();
    quoted.into_iter().any(|field| field.split(|&byte| byte == b',').all(is_address))
}

#[cfg(test)]
mod tests {
    use crate::formats::sniff::*;

    #[test]
    fn random_bytes_are_binary_and_texts_are_not() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let bytes: Vec<u8> = (0..2000).map(|_| random()).collect();
        assert!(is_binary(&bytes) && is_binary(&bytes[..300]));
        let with = |controls: usize, all: usize| [vec![1; controls], vec![b'x'; all - controls]].concat();
        assert!(is_binary(&with(4, 64)) && !is_binary(&with(63, 63)));
        assert!(is_binary(&with(52, 1024)) && !is_binary(&with(51, 1024)));
        // What follows does not count, and neither does a hole.
        assert!(!is_binary(&[with(0, 1024), with(1000, 1000)].concat()));
        assert!(!is_binary(&[vec![0; 1000], with(3, 64)].concat()));
        let other = "Журнал: \t\x1b[31mошибка\x1b[0m\r\n".repeat(9);
        assert!(!is_binary(other.as_bytes()) && !is_binary(&[0xc6; 500]));
    }

    #[test]
    fn knows_its_neighbours() {
        for (line, name) in [
            ("2026/11/02 08:01:00 [error] 12#12: *1 open()", Some("a server's error log")),
            ("[Mon Nov 02 08:01:00.123456 2026] [core:error] [pid 1]", Some("a server's error log")),
            (r#"{"time":"2026"}"#, Some("JSON lines")),
            ("#Fields: date time", Some("a W3C extended log")),
            ("# a heading", None),
            ("hello", None),
        ] {
            assert_eq!(recognize(line.as_bytes()), name, "{line}");
        }
    }

    #[test]
    fn a_field_of_addresses_after_the_user_agent() {
        let combined = r#"10.0.0.1 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
        for (behind, has) in [
            ("", false),
            (r#" "-""#, false),
            (r#" "192.0.2.7""#, true),
            (r#" "192.0.2.7, 2001:db8::1" 0.004"#, true),
            (r#" 0.1 "upstream""#, false),
        ] {
            assert_eq!(has_forwarded(format!("{combined}{behind}").as_bytes()), has, "{behind}");
        }
        // What a client wrote itself is none.
        assert!(!has_forwarded(combined.replace("\"x\"", "\"192.0.2.7\"").as_bytes()));
        assert!(has_forwarded(br#"{"remote_addr":"10.0.0.1","http_x_forwarded_for":"192.0.2.7"}"#));
        assert!(!has_forwarded(br#"{"remote_addr":"10.0.0.1","http_x_forwarded_for":"-","request":"GET / HTTP/1.1"}"#));
        assert!(!has_forwarded(br#"{"remote_addr":"10.0.0.1"}"#));
        assert!(!has_forwarded(format!("{}{combined} \"192.0.2.7\"", format!("{combined}\n").repeat(20)).as_bytes()));
    }
}
