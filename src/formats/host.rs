//! The virtual host of a field: which texts are one.

/// The longest host name (RFC 1035).
const MAX_HOST: usize = 253;

/// Bytes that are allowed in a host name; other bytes could end the field.
const HOST_BYTES: [bool; 256] = {
    let mut bytes = [true; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] =
            byte > 0x20 && !matches!(byte as u8, b'"' | b'\\' | b'[' | b']' | b':' | 0x7f);
        byte += 1;
    }
    bytes
};

/// The host of a field with an optional port. `None` if it is empty, too long, or has a byte that
/// hosts do not have. An IPv6 address has brackets.
#[must_use]
pub(crate) fn host(field: &[u8]) -> Option<&[u8]> {
    let end = match field {
        [b'[', inside @ ..] => inside.iter().position(
            |b| !matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b':' | b'.' | b'%'),
        ),
        _ => Some(
            field
                .iter()
                .position(|b| !HOST_BYTES[usize::from(*b)])
                .unwrap_or(field.len()),
        ),
    };
    let (host, port) = match field {
        [b'[', ..] => field
            .split_at_checked(end? + 2)
            .filter(|(host, _)| host.ends_with(b"]"))?,
        _ => field.split_at_checked(end?)?,
    };
    let port_is_fine = match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (port_is_fine && !host.is_empty() && host.len() <= MAX_HOST && host != b"-").then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_hosts_are_accepted() {
        for (field, expected) in [
            ("example.org", Some("example.org")),
            ("example.org:443", Some("example.org")),
            ("example.org:", Some("example.org")),
            ("[2001:db8::1]:443", Some("[2001:db8::1]")),
            ("_", Some("_")),
            ("b\u{fc}cher.example", Some("b\u{fc}cher.example")),
            ("2001:db8::1", None),
            ("example.org:http", None),
            ("[::1]x", None),
            ("[a b]", None),
            ("a b", None),
            ("a\"b", None),
            (r"a\x22", None),
            ("-", None),
            (":80", None),
            ("", None),
        ] {
            assert_eq!(
                host(field.as_bytes()),
                expected.map(str::as_bytes),
                "{field}"
            );
        }
        assert_eq!(host(&[b'a'; 254]), None);
    }
}
