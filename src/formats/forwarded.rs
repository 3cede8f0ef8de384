//! Whether lines have a field in which a proxy wrote for whom it asks.
//!
//! A glance at the first lines, for a hint: which field is read, `--client-from` says.

use memchr::memmem::find;

use crate::client::Client;

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
    use crate::formats::forwarded::*;

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
