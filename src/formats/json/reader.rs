//! One pass over a line: every value goes with its role to whoever collects them.

use super::keys::{Keys, Place};
use super::role::{Context, Role, Roles};
use super::walk::{Key, Step, Walk};

/// How deep members are looked at; what lies deeper is passed over.
const LEVELS: usize = 8;

/// Takes the values of a line in their order.
pub(super) trait Collect<'a> {
    /// A value, what it stands for, and where it lies.
    fn value(&mut self, path: Path<'_, 'a>, role: Role, walk: &Walk<'a>);
}

/// Where a value lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path<'p, 'a> {
    levels: &'p [Level<'a>],
    name: &'a [u8],
}

impl<'a> Path<'_, 'a> {
    /// The names, the outermost first; a member of an array has none.
    pub(super) fn names(self) -> impl Iterator<Item = &'a [u8]> {
        self.levels.iter().skip(1).map(|level| level.name).chain([self.name]).filter(|name| !name.is_empty())
    }
}

impl Path<'_, '_> {
    /// Whether it lies in a pair of a name and a value.
    pub(super) fn is_pair(self) -> bool {
        matches!(self.levels.last(), Some(Level { kind: Kind::Pair(_), .. }))
    }
}

/// An object or an array that is open.
#[derive(Debug, Clone, Copy)]
struct Level<'a> {
    name: &'a [u8],
    context: Context,
    place: Place,
    kind: Kind<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    Object,
    /// The role of its first element; the others have none.
    Array(Role),
    /// `{"name":"Host","value":"example.org"}`, and the name in it.
    Pair(&'a [u8]),
}

/// Reads a line; `None` where it is no JSON object, or a broken one.
pub(super) fn read<'a>(roles: &Roles, line: &'a [u8], keys: &mut Keys, collect: &mut impl Collect<'a>) -> Option<()> {
    let mut walk = Walk::new(line)?;
    let mut open = Open::new();
    keys.begin(roles.mark_of());
    loop {
        match walk.next(keys.expected())? {
            Step::Value => {
                let (role, _) = open.role(roles, keys, walk.key);
                let name = open.remember(walk.key.name, walk.value);
                collect.value(Path { levels: open.levels(), name }, role, &walk);
            }
            step @ (Step::Object | Step::Array) => {
                let (role, place) = open.role(roles, keys, walk.key);
                open.enter(walk.key.name, role, place, step == Step::Array);
            }
            Step::Close => open.leave(),
            Step::End => return Some(()),
        }
    }
}

/// The objects and arrays that are open.
struct Open<'a> {
    levels: [Level<'a>; LEVELS],
    depth: usize,
    /// How many more are open than levels are kept.
    beyond: usize,
}

impl<'a> Open<'a> {
    fn new() -> Self {
        let line = Level { name: b"", context: Context::Anywhere, place: Place::Line, kind: Kind::Object };
        Self { levels: [line; LEVELS], depth: 1, beyond: 0 }
    }

    fn levels(&self) -> &[Level<'a>] {
        &self.levels[..self.depth]
    }

    /// What the next value stands for, and the place of what lies in it.
    #[inline]
    fn role(&mut self, roles: &Roles, keys: &mut Keys, key: Key<'a>) -> (Role, Place) {
        let level = &mut self.levels[self.depth - 1];
        match &mut level.kind {
            _ if self.beyond > 0 => (Role::NOTHING, Place::Elsewhere),
            Kind::Object => {
                let (context, place) = (level.context, level.place);
                keys.role(place, key, |name| self.look_up(roles, context, name))
            }
            Kind::Array(first) => (std::mem::replace(first, Role::NOTHING), Place::Elsewhere),
            Kind::Pair(header) if key.name == b"value" => {
                let header = *header;
                (self.look_up(roles, Context::Headers, header), Place::Elsewhere)
            }
            Kind::Pair(_) => (Role::NOTHING, Place::Elsewhere),
        }
    }

    fn look_up(&self, roles: &Roles, context: Context, name: &[u8]) -> Role {
        let mut path = [&b""[..]; LEVELS];
        let mut length = 0;
        for level in self.levels().iter().filter(|level| !level.name.is_empty()) {
            path[length] = level.name;
            length += 1;
        }
        roles.of(context, &path[..length], name)
    }

    /// Keeps the name in a pair for the value that follows; the name that a value goes by.
    #[inline]
    fn remember(&mut self, name: &'a [u8], text: &'a [u8]) -> &'a [u8] {
        match &mut self.levels[self.depth - 1].kind {
            Kind::Pair(header) if name == b"name" => *header = text,
            Kind::Pair(header) if name == b"value" => return header,
            _ => {}
        }
        name
    }

    fn enter(&mut self, name: &'a [u8], role: Role, place: Place, array: bool) {
        if self.depth == LEVELS || self.beyond > 0 {
            self.beyond += 1;
            return;
        }
        let above = &self.levels[self.depth - 1];
        let in_headers = matches!(above.kind, Kind::Array(_)) && above.context == Context::Headers;
        let (context, kind) = match (array, above.kind) {
            // What lies in the elements of an array is another list, and not of this request.
            (false, Kind::Array(_)) if in_headers => (Context::Headers, Kind::Pair(b"")),
            (false, Kind::Array(_)) | (true, Kind::Array(_) | Kind::Pair(_)) => (Context::Closed, Kind::Object),
            (true, _) => (role.within, Kind::Array(role)),
            (false, _) => (role.within, Kind::Object),
        };
        let kind = if array && !matches!(kind, Kind::Array(_)) { Kind::Array(Role::NOTHING) } else { kind };
        self.levels[self.depth] = Level { name, context, place, kind };
        self.depth += 1;
    }

    fn leave(&mut self) {
        if self.beyond > 0 {
            self.beyond -= 1;
        } else {
            // The line itself is left with the last step.
            self.depth = self.depth.max(2) - 1;
        }
    }
}
