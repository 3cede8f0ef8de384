//! Parts of a hit that the formats of other tools name alike: the address of the client, the parts of the target, the host.
//!
//! Returns text that is safe to print. Parts that a request does not have are `None`; nothing is guessed.

use std::borrow::Cow;

use crate::analysis::labels;
use crate::analysis::model::ReportedHit;
use crate::client::Client;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::rules::{Rule, RuleSet};

/// The parts of a target that is a path: `/index.php?id=1`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TargetParts {
    /// The whole target.
    pub whole: String,
    /// Before the first `?`; `None` where the target does not begin with `/`.
    pub path: Option<String>,
    /// After it.
    pub query: Option<String>,
}

impl TargetParts {
    /// The parts of a target as logged, secrets masked.
    pub(crate) fn new(target: &[u8]) -> Self {
        let whole = redacted(target).into_owned();
        if !whole.starts_with('/') {
            return Self { whole, ..Self::default() };
        }
        let (path, query) = whole.split_once('?').map_or((&*whole, None), |(path, query)| (path, Some(query.to_owned())));
        Self { path: Some(path.to_owned()), query, whole }
    }
}

/// The text of the client's address; `None` where the client is other text, such as a network or a pseudonym.
pub(crate) fn address(client: Client<'_>) -> Option<String> {
    client.address().map(|address| address.to_string())
}

/// The host without its port.
pub(crate) fn host_name<'a>(hit: &ReportedHit<'a>) -> Option<Cow<'a, str>> {
    let host = hit.host?;
    let is_port = |port: &[u8]| !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    let name = match host.iter().rposition(|&b| b == b':') {
        // An IPv6 address without brackets has no port.
        Some(at) if is_port(&host[at + 1..]) && (!host[..at].contains(&b':') || host[..at].ends_with(b"]")) => &host[..at],
        _ => host,
    };
    (!name.is_empty()).then(|| redacted(name))
}

/// The version of the protocol: `1.1` of `HTTP/1.1`.
pub(crate) fn http_version<'a>(hit: &ReportedHit<'a>) -> Option<Cow<'a, str>> {
    hit.protocol.strip_prefix(b"HTTP/").filter(|version| !version.is_empty()).map(escape)
}

/// Text that may be empty.
pub(crate) fn unless_empty(text: &[u8]) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then(|| redacted(text))
}

/// The most severe rule of a hit, the first of several.
pub(crate) fn worst_rule<'r>(hit: &ReportedHit<'_>, rules: &'r RuleSet) -> Option<&'r Rule> {
    labels::worst(rules, hit.rules)
}

/// The title of a rule.
pub(crate) fn title(rule: &Rule) -> Cow<'_, str> {
    escape(rule.title.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::render::hit_fields::*;

    #[test]
    fn a_host_loses_its_port_only() {
        let of = |host: &'static [u8]| host_name(&ReportedHit { host: Some(host), ..fixture::hit() }).map(Cow::into_owned);
        for (host, name) in [
            (&b"shop.example:8080"[..], Some("shop.example")),
            (b"[2001:db8::1]:443", Some("[2001:db8::1]")),
            (b"2001:db8::1", Some("2001:db8::1")),
            (b"a:b", Some("a:b")),
            (b"", None),
            (b":80", None),
        ] {
            assert_eq!(of(host).as_deref(), name, "{}", host.escape_ascii());
        }
    }

    #[test]
    fn only_a_path_has_parts() {
        let parts = TargetParts::new(b"/a?token=abc&b?c");
        assert_eq!((parts.path.as_deref(), parts.query.as_deref()), (Some("/a"), Some("token=***&b?c")));
        let whole = TargetParts::new(b"http://example.com/a?b");
        assert_eq!((whole.path, whole.query), (None, None));
        assert_eq!(TargetParts::new(b"").whole, "");
    }
}
