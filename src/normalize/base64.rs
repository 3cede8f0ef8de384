//! Values in Base64 that hold text.
//!
//! Both alphabets, with padding and without. A value that holds anything but printable text is no text, and nearly all
//! tokens, hashes and long words end there at their first bytes. Unwrapped once: what is wrapped twice is not looked for.

/// The shortest value that is unwrapped, with its padding: `<script>` takes so many.
const SHORTEST: usize = 12;

/// Whether a value is long enough to be unwrapped.
pub(super) fn has_candidate(text: &[u8]) -> bool {
    let mut rest = text;
    let mut in_query = false;
    while rest.len() >= SHORTEST {
        let length = value(rest, in_query);
        if length + padding(&rest[length..]) >= SHORTEST {
            return true;
        }
        in_query |= rest[length..].first() == Some(&b'?');
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    false
}

/// Writes the text of each value, with `=` before it as parameters have it and `&` between them; whether there is any.
pub(super) fn unwrap(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = text;
    let mut in_query = false;
    while !rest.is_empty() {
        let length = value(rest, in_query);
        if length + padding(&rest[length..]) >= SHORTEST && length % 4 != 1 {
            push_text(&rest[..length], out);
        }
        in_query |= rest.get(length) == Some(&b'?');
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    !out.is_empty()
}

/// The length of the value at the start of a text. In a path, a slash ends it.
fn value(text: &[u8], in_query: bool) -> usize {
    text.iter().take_while(|&&b| sextet(b).is_some() && (in_query || b != b'/')).count()
}

/// The padding at the start of a text.
fn padding(text: &[u8]) -> usize {
    text.iter().take(2).take_while(|&&b| b == b'=').count()
}

/// Appends what a value holds, if that is text.
fn push_text(value: &[u8], out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(if before == 0 { b"=" } else { b"&=" });
    let (mut bits, mut held) = (0_u32, 0);
    for sextet in value.iter().filter_map(|&b| sextet(b)) {
        bits = bits << 6 | u32::from(sextet);
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) as u8;
            // A line break ends what `echo` was given to wrap; within, it is more likely a word that happens to decode.
            if !matches!(byte, b' '..=b'~' | b'\t' | b'\n') || out.last() == Some(&b'\n') {
                return out.truncate(before);
            }
            out.push(byte);
        }
    }
}

fn sextet(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwraps_what_holds_text() {
        for (text, expected) in [
            ("a=PHNjcmlwdD4=", "=<script>"),
            ("a=PHNjcmlwdD4", ""),
            ("a=PHNjcmlwdD4gIA", "=<script>  "),
            ("/x/L2V0Yy9wYXNzd2Q=/y", "=/etc/passwd"),
            ("?a=Pz8_Pz8_Pz8_&b=Pz8/Pz8/Pz8/", "=?????????&=?????????"),
            ("/Pz8/Pz8/Pz8/", ""),
            ("a=internationalization", ""),
            ("a=d41d8cd98f00b204e9800998ecf8427e", ""),
            ("", ""),
        ] {
            let mut out = Vec::new();
            assert_eq!(unwrap(text.as_bytes(), &mut out), !expected.is_empty(), "{text}");
            assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
            assert!(expected.is_empty() || has_candidate(text.as_bytes()), "{text}");
        }
    }
}
