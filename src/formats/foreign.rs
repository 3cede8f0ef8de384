//! Knows other logs by their first line, so that a message can say what a file is and not only what it is not.

/// What a line that has no frame looks like; `None` where nothing is known.
#[must_use]
pub fn recognise(line: &[u8]) -> Option<&'static str> {
    match line {
        [b'{', ..] => Some("JSON lines"),
        [b'#', rest @ ..] if rest.starts_with(b"Fields:") || rest.starts_with(b"Software:") || rest.starts_with(b"Version:") => {
            Some("a W3C extended log")
        }
        _ if is_error_log(line) => Some("a server's error log"),
        _ if is_binary(line) => Some("binary data"),
        _ if memchr::memmem::find(line, b"] \"").is_some() => Some("an access log behind the prefix of another writer"),
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

#[cfg(test)]
mod tests {
    use crate::formats::foreign::*;

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
            assert_eq!(recognise(line.as_bytes()), name, "{line}");
        }
    }
}
