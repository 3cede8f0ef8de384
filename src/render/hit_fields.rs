//! What the formats of other tools share: parts of a hit that they name alike, and a JSON object
//! whose fields have paths.
//!
//! Returns text that is safe to print. Parts that a request does not have are `None`; nothing is
//! guessed.

use std::borrow::Cow;

use serde::Serialize;

use crate::geoip::GeoInfo;
use crate::log::client::Client;
use crate::report::labels;
use crate::report::model::ReportedHit;
use crate::rules::Rule;
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// A JSON object that is written field by field: `put("http.request.method", "GET")` gives
/// `{"http":{"request":{"method":"GET"`. Fields of one inner object follow each other.
pub(crate) struct ObjectFields<'j> {
    json: &'j mut Vec<u8>,
    /// The names of the inner objects that are open.
    open: Vec<&'static str>,
    /// Whether the innermost object has no field yet.
    is_empty: bool,
    /// The object is a document: a line for each of its own fields, and for each row of its lists.
    is_document: bool,
}

impl<'j> ObjectFields<'j> {
    /// Appends an object as a line.
    pub(crate) fn line(json: &mut Vec<u8>, put: impl FnOnce(&mut ObjectFields<'_>)) {
        json.reserve(1024);
        ObjectFields::object(json, put);
        json.push(b'\n');
    }

    /// A document.
    pub(crate) fn document(put: impl FnOnce(&mut ObjectFields<'_>)) -> Vec<u8> {
        let mut json = b"{".to_vec();
        let mut fields = ObjectFields {
            json: &mut json,
            open: Vec::new(),
            is_empty: true,
            is_document: true,
        };
        put(&mut fields);
        fields.close(0);
        json.extend_from_slice(b"\n}\n");
        json
    }

    /// Appends an object.
    pub(crate) fn object(json: &'j mut Vec<u8>, put: impl FnOnce(&mut ObjectFields<'_>)) {
        json.push(b'{');
        let mut fields = ObjectFields {
            json,
            open: Vec::new(),
            is_empty: true,
            is_document: false,
        };
        put(&mut fields);
        fields.close(0);
        fields.json.push(b'}');
    }

    /// Closes the inner objects but the first `depth`.
    fn close(&mut self, depth: usize) {
        for _ in self.open.drain(depth..) {
            self.json.push(b'}');
            self.is_empty = false;
        }
    }

    /// Begins an inner object, which may stay empty, if it is not open.
    pub(crate) fn open(&mut self, path: &'static str) {
        let names = path.split('.');
        let known = names
            .clone()
            .zip(&self.open)
            .take_while(|(name, open)| name == *open)
            .count();
        self.close(known);
        for name in names.skip(known) {
            self.name(name);
            self.json.push(b'{');
            self.open.push(name);
            self.is_empty = true;
        }
    }

    fn name(&mut self, name: &'static str) {
        if !std::mem::take(&mut self.is_empty) {
            self.json.push(b',');
        }
        let (before, after): (&[u8], &[u8]) = if self.is_document && self.open.is_empty() {
            (b"\n  \"", b"\": ")
        } else {
            (b"\"", b"\":")
        };
        for part in [before, name.as_bytes(), after] {
            self.json.extend_from_slice(part);
        }
    }

    fn path(&mut self, path: &'static str) {
        if let Some((objects, name)) = path.rsplit_once('.') {
            self.open(objects);
            self.name(name);
        } else {
            self.close(0);
            self.name(path);
        }
    }

    /// Writes a field.
    pub(crate) fn put(&mut self, path: &'static str, value: impl Serialize) {
        self.path(path);
        // Writing to a `Vec` does not fail.
        let _ = serde_json::to_writer(&mut *self.json, &value);
    }

    /// Writes a field that has a value.
    pub(crate) fn put_some(&mut self, path: &'static str, value: Option<impl Serialize>) {
        if let Some(value) = value {
            self.put(path, value);
        }
    }

    /// Writes an object, whose paths begin in it.
    pub(crate) fn put_object(
        &mut self,
        path: &'static str,
        put: impl FnOnce(&mut ObjectFields<'_>),
    ) {
        self.path(path);
        ObjectFields::object(&mut *self.json, put);
    }

    /// Writes a list of objects.
    pub(crate) fn put_objects<T>(
        &mut self,
        path: &'static str,
        items: impl IntoIterator<Item = T>,
        put: impl Fn(&mut ObjectFields<'_>, T),
    ) {
        self.list(path, items, |json, item| {
            ObjectFields::object(json, |fields| put(fields, item));
        });
    }

    /// Writes a list of objects that know their fields.
    pub(crate) fn put_rows<T: Serialize>(
        &mut self,
        path: &'static str,
        rows: impl IntoIterator<Item = T>,
    ) {
        // Writing to a `Vec` does not fail.
        self.list(path, rows, |json, row| {
            drop(serde_json::to_writer(json, &row));
        });
    }

    fn list<T>(
        &mut self,
        path: &'static str,
        items: impl IntoIterator<Item = T>,
        write: impl Fn(&mut Vec<u8>, T),
    ) {
        self.path(path);
        let mut items = items.into_iter().peekable();
        let (row, end): (&[u8], &[u8]) = if self.is_document && items.peek().is_some() {
            (b"\n    ", b"\n  ]")
        } else {
            (b"", b"]")
        };
        self.json.push(b'[');
        for (number, item) in items.enumerate() {
            if number > 0 {
                self.json.push(b',');
            }
            self.json.extend_from_slice(row);
            write(&mut *self.json, item);
        }
        self.json.extend_from_slice(end);
    }

    /// Writes a list of objects that has any.
    pub(crate) fn put_any<T>(
        &mut self,
        path: &'static str,
        items: impl IntoIterator<Item = T>,
        put: impl Fn(&mut ObjectFields<'_>, T),
    ) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.put_objects(path, items, put);
        }
    }
}

/// A target as logged, secrets masked, and its parts if it is a path: what is before the first `?`,
/// and what is after it.
pub(crate) fn target_parts(target: LogText<'_>) -> (String, Option<String>, Option<String>) {
    let whole = target.to_string();
    if !whole.starts_with('/') {
        return (whole, None, None);
    }
    let (path, query) = match whole.split_once('?') {
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
        None => (whole.clone(), None),
    };
    (whole, Some(path), query)
}

/// The text of the client's address; `None` where the client is other text, such as a network or a
/// pseudonym.
pub(crate) fn address(client: Client<'_>) -> Option<String> {
    client.address().map(|address| address.to_string())
}

/// The host without its port.
pub(crate) fn host_name<'a>(hit: &ReportedHit<'a>) -> Option<LogText<'a>> {
    let host = hit.host?.raw();
    let is_port = |port: &[u8]| !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    let name = match host.iter().rposition(|&b| b == b':') {
        // An IPv6 address without brackets has no port.
        Some(at)
            if is_port(&host[at + 1..])
                && (!host[..at].contains(&b':') || host[..at].ends_with(b"]")) =>
        {
            &host[..at]
        }
        _ => host,
    };
    (!name.is_empty()).then_some(LogText::new(name))
}

/// The version of the protocol: `1.1` of `HTTP/1.1`.
pub(crate) fn http_version<'a>(hit: &ReportedHit<'a>) -> Option<Cow<'a, str>> {
    hit.protocol
        .raw()
        .strip_prefix(b"HTTP/")
        .filter(|version| !version.is_empty())
        .map(escape)
}

/// Text that may be empty.
pub(crate) fn unless_empty(text: LogText<'_>) -> Option<LogText<'_>> {
    (!text.is_empty()).then_some(text)
}

/// Writes what GeoIP databases have: country and city, number and name of the autonomous system.
pub(crate) fn put_geo(
    fields: &mut ObjectFields<'_>,
    geo: Option<&GeoInfo>,
    [country, city, asn, as_name]: [&'static str; 4],
) {
    let Some(geo) = geo else { return };
    fields.put_some(country, labels::geo_name(geo.country.as_ref()));
    fields.put_some(city, labels::geo_name(geo.city.as_ref()));
    fields.put_some(asn, geo.asn);
    fields.put_some(as_name, labels::geo_name(geo.as_name.as_ref()));
}

/// The title of a rule.
pub(crate) fn title(rule: &Rule) -> Cow<'_, str> {
    escape(rule.title.as_bytes())
}

/// The title of a rule with the products of a request:
/// `Device script with a known vulnerability (QNAP)`.
pub(crate) fn titled(rule: &Rule, products: &[&str]) -> String {
    let title = title(rule);
    if products.is_empty() {
        title.into_owned()
    } else {
        format!("{title} ({})", escape(products.join(", ").as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use crate::render::hit_fields::*;
    use crate::report::fixture;

    #[test]
    fn a_host_loses_its_port_only() {
        let of = |host: &'static [u8]| {
            host_name(&ReportedHit {
                host: Some(LogText::new(host)),
                ..fixture::hit()
            })
            .map(|host| host.to_string())
        };
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
        let (_, path, query) = target_parts(LogText::new(b"/a?token=abc&b?c"));
        assert_eq!(
            (path.as_deref(), query.as_deref()),
            (Some("/a"), Some("token=***&b?c"))
        );
        let (_, path, query) = target_parts(LogText::new(b"http://example.com/a?b"));
        assert_eq!((path, query), (None, None));
        assert_eq!(target_parts(LogText::new(b"")).0, "");
    }
}
