//! Access logs in JSON, one object a line, with names of any kind.
//!
//! Fields are known by what servers, proxies and people call them, or as the user says. Nothing is believed because of its value, and
//! what a client may fill (headers, queries, bodies, cookies) names no client. A line is read in one pass; one that is broken, or that
//! tells of no request, has no fields. Texts stay as they are written but for the escapes that
//! [`unescape`](crate::normalize::unescape) does not know.

mod escapes;
mod found;
mod keys;
mod layout;
mod names;
mod reader;
mod role;
mod short;
mod walk;

#[cfg(test)]
mod tests;

pub(super) use keys::Keys;
pub(super) use layout::Layouts;

use memchr::memchr;

use self::found::Found;
use self::reader::{Collect, Path};
use self::role::{Role, Roles};
use self::walk::Walk;
use super::{Fields, Meaning};
use crate::formats::room::Room;
use crate::formats::values::Values;

/// Reads JSON lines.
#[derive(Debug, Clone)]
pub struct Json {
    roles: Roles,
    /// Where the user says that other headers are.
    headers: Vec<(Meaning, String)>,
}

impl Json {
    /// Knows fields by their names alone.
    #[must_use]
    pub fn by_meaning() -> Self {
        Self::with_fields(&[])
    }

    /// Believes first what the user says: which member is which field, by its name or by its path with dots between the names
    /// (`request.headers.User-Agent`; elements of arrays have no name). The rest is known by its names.
    #[must_use]
    pub fn with_fields(given: &[(Meaning, String)]) -> Self {
        let headers = given.iter().filter(|(meaning, _)| matches!(meaning, Meaning::Header(_)));
        Self { roles: Roles::new(given), headers: headers.cloned().collect() }
    }

    /// Fills [`Fields::forwarded`] from that header (`x-forwarded-for`, under whatever name a server writes it), or from a member of
    /// that name or path.
    #[must_use]
    pub fn with_forwarded(mut self, header: &Meaning) -> Self {
        let paths = self.headers.iter().filter(|(meaning, _)| meaning == header).map(|(_, path)| path.clone());
        self.roles.set_forwarded(header.as_str(), paths.collect());
        self
    }

    /// The fields of a line. `None` where it is no JSON object or a broken one, or tells of no request: it names neither a request line,
    /// nor a target with a client, a method or a status, nor a client with a status.
    #[must_use]
    pub fn read<'a>(&self, line: &'a [u8], room: &'a mut Room) -> Option<Fields<'a>> {
        // In one place: it is too large to be handed on.
        let mut found = Found::new();
        if !room.layouts.read(&self.roles, line, &mut found) {
            self.walk(line, room, &mut found)?;
        }
        found.fields(room)
    }

    /// Tells the fields of a line that is like the one before and has no backslash, where that goes the short way: what
    /// [`read`](Self::read) would say; whether it did. `first_quote` says where the first quote stands from a place on.
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub(super) fn tell_short(
        &self,
        line: &[u8],
        first_quote: impl Fn(usize) -> Option<usize>,
        room: &mut Room,
        tell: impl FnOnce(&Fields<'_>),
    ) -> bool {
        let mut values = Values::new(line);
        let is_short = memchr(b'\\', line).is_none() && room.layouts.read_short(&self.roles, line, first_quote, &mut values);
        if is_short {
            tell(&short::fields(&values, &mut room.time));
        }
        is_short
    }

    /// Finds the values of a line that is like none before.
    fn walk<'a>(&self, line: &'a [u8], room: &mut Room, found: &mut Found<'a>) -> Option<()> {
        reader::read(&self.roles, line, &mut room.keys, found)?;
        room.layouts.learn(&self.roles, line, &mut room.keys);
        Some(())
    }

    /// Every value of a line with its dotted path and what it is taken for; of several that are taken for the same, the one of the
    /// strongest name counts. For people to look at: slow.
    #[must_use]
    pub fn split<'a>(&self, line: &'a [u8]) -> Option<Vec<(String, &'a [u8], Meaning)>> {
        let mut parts = Parts(Vec::new());
        reader::read(&self.roles, line, &mut Keys::default(), &mut parts)?;
        Some(parts.0)
    }
}

/// Collects every value.
struct Parts<'a>(Vec<(String, &'a [u8], Meaning)>);

impl<'a> Collect<'a> for Parts<'a> {
    fn value(&mut self, path: Path<'_, 'a>, role: Role, walk: &Walk<'a>) {
        let names: Vec<_> = path.names().map(String::from_utf8_lossy).collect();
        self.0.push((names.join("."), walk.value, role.slot.meaning()));
    }
}
