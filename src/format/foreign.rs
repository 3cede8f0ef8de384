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
        _ if memchr::memmem::find(line, b"] \"").is_some() => Some("an access log behind the prefix of another writer"),
        _ => None,
    }
}

/// Whether a line is of an nginx or Apache error log: `2026/11/02 08:01:00 [error] ...`, `[Mon Nov 02 08:01:00.1 2026] [core:error] ...`.
#[must_use]
pub fn is_error_log(line: &[u8]) -> bool {
    shaped_like(line, b"0000/00/00 00:00:00 [") || shaped_like(line, b"[Aaa Aaa 00 00:00:00")
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
    use super::*;

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
