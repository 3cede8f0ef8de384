//! Parses access logs in JSON, one object per line, with any key names.
//!
//! Fields are recognized by the key names of servers, proxies and common conventions, or as
//! configured. Values are never used to guess a field, and keys under the client's control
//! (headers, queries, bodies, cookies) are never the client address. A line is parsed in one pass;
//! a malformed line, or one that describes no request, has no fields. Texts are kept as written,
//! except for escapes that [`unescape`](crate::text::normalize::unescape) does not decode.

mod envelope;
mod keys;
mod layout_cache;
mod tokenizer;
mod values;

pub(super) use self::envelope::{is_request, may_be_line, unescape_line};
pub(super) use self::keys::KeyCache;
pub(super) use layout_cache::LayoutCache;

use memchr::memchr;

use self::keys::KeyRoles;
use self::values::FieldCollector;
use super::fast_values::FastValues;
use super::{FieldKind, Fields};
use crate::formats::fields::FieldBuffers;
use crate::log::client::Client;

/// Parses JSON lines.
#[derive(Debug, Clone)]
pub struct JsonLineParser {
    roles: KeyRoles,
    /// Headers at paths that the user configured.
    headers: Vec<(FieldKind, String)>,
}

impl Default for JsonLineParser {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonLineParser {
    /// Recognizes fields by their key names.
    #[must_use]
    pub fn new() -> Self {
        Self::with_fields(&[])
    }

    /// Recognizes the configured fields first, each by its key or its dotted path
    /// (`request.headers.User-Agent`; array elements have no key). Other fields are recognized by
    /// their key names.
    #[must_use]
    pub fn with_fields(fields: &[(FieldKind, String)]) -> Self {
        let headers = fields
            .iter()
            .filter(|(kind, _)| matches!(kind, FieldKind::Header(_)));
        Self {
            roles: KeyRoles::new(fields),
            headers: headers.cloned().collect(),
        }
    }

    /// Reads [`Fields::forwarded`] from this header (`x-forwarded-for`, under any usual key name),
    /// or from a member with that key or path.
    #[must_use]
    pub fn with_forwarded(mut self, header: &FieldKind) -> Self {
        let paths = self
            .headers
            .iter()
            .filter(|(kind, _)| kind == header)
            .map(|(_, path)| path.clone());
        self.roles.set_forwarded(header.as_str(), paths.collect());
        self
    }

    /// Parses a line. `None` if it is not a valid JSON object or describes no request: it must have
    /// a request line, or a target with a client, a method or a status, or a client with a status
    /// and a key for the target.
    #[must_use]
    pub fn read<'a>(&self, line: &'a [u8], buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        // Filled in place, because it is too large to return.
        let mut collector = FieldCollector::new();
        if !buffers.layouts.read(&self.roles, line, &mut collector) {
            self.walk(line, buffers, &mut collector)?;
        }
        collector.fields(&mut buffers.texts)
    }

    /// Parses a line with a known layout and without a backslash on the fast path, and emits the
    /// same fields as [`read`](Self::read); `false` if it cannot. `first_quote` returns the
    /// position of the first quote from an offset on.
    #[expect(
        clippy::inline_always,
        reason = "in the line loop; so large an answer would go through memory"
    )]
    #[inline(always)]
    pub(super) fn read_fast(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        buffers: &mut FieldBuffers,
        emit: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = FastValues::new(line);
        let is_short = memchr(b'\\', line).is_none()
            && buffers
                .layouts
                .read_fast(&self.roles, line, first_quote, &mut values);
        if is_short {
            emit(&layout_cache::fields(&values, &mut buffers.texts.time));
        }
        is_short
    }

    /// Tokenizes a line without a known layout.
    fn walk<'a>(
        &self,
        line: &'a [u8],
        buffers: &mut FieldBuffers,
        found: &mut FieldCollector<'a>,
    ) -> Option<()> {
        values::visit(&self.roles, line, &mut buffers.keys, |_, role, walk| {
            found.add(role, walk.value, walk.escaped);
        })?;
        buffers.layouts.learn(&self.roles, line, &mut buffers.keys);
        Some(())
    }

    /// Every value of a line with its dotted path and field kind. Of several values of one kind,
    /// the one with the best key name is used. For display: slow.
    #[must_use]
    pub fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<(String, &'a [u8], FieldKind)>> {
        let mut parts = Vec::new();
        let keys = &mut KeyCache::default();
        values::visit(&self.roles, line, keys, |path, role, walk| {
            let names: Vec<_> = path.names().map(String::from_utf8_lossy).collect();
            parts.push((names.join("."), walk.value, role.slot.kind()));
        })?;
        Some(parts)
    }
}

/// Whether a key with the word `forwarded` has addresses.
pub(super) fn has_forwarded(line: &[u8]) -> bool {
    let is_named =
        |name: &[u8]| memchr::memmem::find(&name.to_ascii_lowercase(), b"forwarded").is_some();
    let mut is_found = false;
    let (roles, keys) = (KeyRoles::new(&[]), &mut KeyCache::default());
    let visited = values::visit(&roles, line, keys, |path, _, walk| {
        is_found |= path.names().any(is_named) && Client::addresses_in(walk.value).next().is_some();
    });
    visited.is_some() && is_found
}

#[cfg(test)]
mod tests;
