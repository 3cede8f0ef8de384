//! Access logs in JSON, one object a line, with names of any kind.
//!
//! Fields are known by what servers, proxies and people call them, or as the user says. Nothing is believed because of its value, and
//! what a client may fill (headers, queries, bodies, cookies) names no client. A line is read in one pass; one that is broken, or that
//! tells of no request, has no fields. Texts stay as they are written but for the escapes that
//! [`unescape`](crate::normalize::unescape) does not know.

mod collector;
mod escapes;
mod fast_layout;
mod key_cache;
mod layout_cache;
mod names;
mod role;
mod tokenizer;
mod visitor;

#[cfg(test)]
mod tests;

pub(super) use key_cache::KeyCache;
pub(super) use layout_cache::LayoutCache;

use memchr::memchr;

use self::collector::FieldCollector;
use self::role::{KeyRole, KeyRoles};
use self::tokenizer::Tokenizer;
use self::visitor::{KeyPath, ValueVisitor};
use super::{FieldKind, Fields};
use crate::formats::fast_values::FastValues;
use crate::formats::fields::FieldBuffers;

/// Reads JSON lines.
#[derive(Debug, Clone)]
pub struct JsonLineParser {
    roles: KeyRoles,
    /// Where the user says that other headers are.
    headers: Vec<(FieldKind, String)>,
}

impl JsonLineParser {
    /// Knows fields by their names alone.
    #[must_use]
    pub fn by_meaning() -> Self {
        Self::with_fields(&[])
    }

    /// Believes first what the user says: which member is which field, by its name or by its path with dots between the names
    /// (`request.headers.User-Agent`; elements of arrays have no name). The rest is known by its names.
    #[must_use]
    pub fn with_fields(given: &[(FieldKind, String)]) -> Self {
        let headers = given.iter().filter(|(kind, _)| matches!(kind, FieldKind::Header(_)));
        Self { roles: KeyRoles::new(given), headers: headers.cloned().collect() }
    }

    /// Fills [`Fields::forwarded`] from that header (`x-forwarded-for`, under whatever name a server writes it), or from a member of
    /// that name or path.
    #[must_use]
    pub fn with_forwarded(mut self, header: &FieldKind) -> Self {
        let paths = self.headers.iter().filter(|(kind, _)| kind == header).map(|(_, path)| path.clone());
        self.roles.set_forwarded(header.as_str(), paths.collect());
        self
    }

    /// The fields of a line. `None` where it is no JSON object or a broken one, or tells of no request: it names neither a request line,
    /// nor a target with a client, a method or a status, nor a client with a status.
    #[must_use]
    pub fn read<'a>(&self, line: &'a [u8], buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        // In one place: it is too large to be handed on.
        let mut found = FieldCollector::new();
        if !buffers.layouts.read(&self.roles, line, &mut found) {
            self.walk(line, buffers, &mut found)?;
        }
        found.fields(buffers)
    }

    /// Tells the fields of a line that is like the one before and has no backslash, where that goes the short way: what
    /// [`read`](Self::read) would say; whether it did. `first_quote` says where the first quote stands from a place on.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn read_fast(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        buffers: &mut FieldBuffers,
        tell: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = FastValues::new(line);
        let is_short = memchr(b'\\', line).is_none() && buffers.layouts.read_fast(&self.roles, line, first_quote, &mut values);
        if is_short {
            tell(&fast_layout::fields(&values, &mut buffers.time));
        }
        is_short
    }

    /// Finds the values of a line that is like none before.
    fn walk<'a>(&self, line: &'a [u8], buffers: &mut FieldBuffers, found: &mut FieldCollector<'a>) -> Option<()> {
        visitor::visit(&self.roles, line, &mut buffers.keys, found)?;
        buffers.layouts.learn(&self.roles, line, &mut buffers.keys);
        Some(())
    }

    /// Every value of a line with its dotted path and what it is taken for; of several that are taken for the same, the one of the
    /// strongest name counts. For people to look at: slow.
    #[must_use]
    pub fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<(String, &'a [u8], FieldKind)>> {
        let mut parts = ValueList(Vec::new());
        visitor::visit(&self.roles, line, &mut KeyCache::default(), &mut parts)?;
        Some(parts.0)
    }
}

/// Collects every value.
struct ValueList<'a>(Vec<(String, &'a [u8], FieldKind)>);

impl<'a> ValueVisitor<'a> for ValueList<'a> {
    fn value(&mut self, path: KeyPath<'_, 'a>, role: KeyRole, walk: &Tokenizer<'a>) {
        let names: Vec<_> = path.names().map(String::from_utf8_lossy).collect();
        self.0.push((names.join("."), walk.value, role.slot.kind()));
    }
}
