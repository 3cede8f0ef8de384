//! Requests typed instead of a log line: a request line, a path or a URL.

use crate::log_entry::{LogEntry, RequestLine};

/// A typed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequest {
    /// The request line.
    pub request: Vec<u8>,
    /// The host of a URL.
    pub host: Option<Vec<u8>>,
}

impl InputRequest {
    /// Parses a request line, a path or a URL; `None` if the text is none of them.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        if let Some((host, target)) = url(text) {
            return Some(Self { request: [b"GET ", target.as_slice(), b" HTTP/1.1"].concat(), host: Some(host) });
        }
        if text.starts_with(b"/") {
            return Some(Self { request: [b"GET ", text, b" HTTP/1.1"].concat(), host: None });
        }
        let line = RequestLine::parse(text);
        let is_method = !line.method.is_empty() && line.method.iter().all(|b| b.is_ascii_uppercase() || *b == b'_' || *b == b'-');
        let is_target = line.target.starts_with(b"/") || line.target == b"*" || memchr::memmem::find(line.target, b"://").is_some();
        let protocol: &[u8] = if line.protocol.is_empty() { b" HTTP/1.1" } else { b"" };
        (is_method && is_target).then(|| Self { request: [text, protocol].concat(), host: None })
    }

    /// The request as a log entry without an answer.
    #[must_use]
    pub fn record(&self) -> LogEntry<'_> {
        LogEntry { request: &self.request, host: self.host.as_deref(), ..LogEntry::default() }
    }
}

/// Host and target of a URL. Browsers do not send the fragment.
fn url(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let rest = text.strip_prefix(b"https://").or_else(|| text.strip_prefix(b"http://"))?;
    let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
    let end = memchr::memchr2(b'/', b'?', rest).unwrap_or(rest.len());
    let (host, target) = rest.split_at(end);
    let slash: &[u8] = if target.starts_with(b"/") { b"" } else { b"/" };
    (!host.is_empty()).then(|| (host.to_vec(), [slash, target].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_typed_requests() {
        for (text, request, host) in [
            ("GET /.env", "GET /.env HTTP/1.1", ""),
            ("POST /x HTTP/1.0", "POST /x HTTP/1.0", ""),
            ("OPTIONS *", "OPTIONS * HTTP/1.1", ""),
            ("GET http://example.org/", "GET http://example.org/ HTTP/1.1", ""),
            ("/a b?c=/d", "GET /a b?c=/d HTTP/1.1", ""),
            ("https://example.org:8080/a?b#c", "GET /a?b HTTP/1.1", "example.org:8080"),
            ("http://example.org", "GET / HTTP/1.1", "example.org"),
            ("http://example.org?a=/b", "GET /?a=/b HTTP/1.1", "example.org"),
        ] {
            let typed = InputRequest::read(text.as_bytes()).expect(text);
            assert_eq!(String::from_utf8_lossy(&typed.request), request);
            assert_eq!(typed.host.as_deref().unwrap_or_default(), host.as_bytes(), "{text}");
        }
        for text in ["", "hello", "hello /world", "GET", "GET x", "http://", "[error] GET /x", r"\x16\x03\x01"] {
            assert_eq!(InputRequest::read(text.as_bytes()), None, "{text}");
        }
    }
}
