//! One pass over a line: every value goes with its role to whoever collects them.

use super::key_cache::{KeyCache, KeyScope};
use super::role::{KeyRole, KeyRoles, ObjectKind};
use super::tokenizer::{JsonToken, MemberName, Tokenizer};

/// How deep members are looked at; what lies deeper is passed over.
const MAX_LEVELS: usize = 8;

/// Takes the values of a line in their order.
pub(super) trait ValueVisitor<'a> {
    /// A value, what it stands for, and where it lies.
    fn value(&mut self, path: KeyPath<'_, 'a>, role: KeyRole, walk: &Tokenizer<'a>);
}

/// Where a value lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyPath<'p, 'a> {
    levels: &'p [OpenLevel<'a>],
    name: &'a [u8],
}

impl<'a> KeyPath<'_, 'a> {
    /// The names, the outermost first; a member of an array has none.
    pub(super) fn names(self) -> impl Iterator<Item = &'a [u8]> {
        self.levels.iter().skip(1).map(|level| level.name).chain([self.name]).filter(|name| !name.is_empty())
    }
}

impl KeyPath<'_, '_> {
    /// Whether it lies in a pair of a name and a value.
    pub(super) fn is_pair(self) -> bool {
        matches!(self.levels.last(), Some(OpenLevel { kind: LevelKind::Pair(_), .. }))
    }
}

/// An object or an array that is open.
#[derive(Debug, Clone, Copy)]
struct OpenLevel<'a> {
    name: &'a [u8],
    context: ObjectKind,
    scope: KeyScope,
    kind: LevelKind<'a>,
}

#[derive(Debug, Clone, Copy)]
enum LevelKind<'a> {
    Object,
    /// The role of its first element; the others have none.
    Array(KeyRole),
    /// `{"name":"Host","value":"example.org"}`, and the name in it.
    Pair(&'a [u8]),
}

/// Reads a line; `None` where it is no JSON object, or a broken one.
pub(super) fn visit<'a>(roles: &KeyRoles, line: &'a [u8], keys: &mut KeyCache, visitor: &mut impl ValueVisitor<'a>) -> Option<()> {
    let mut walk = Tokenizer::new(line)?;
    let mut open = OpenLevels::new();
    keys.begin(roles.fingerprint());
    loop {
        match walk.next(keys.expected())? {
            JsonToken::Value => {
                let (role, _) = open.role(roles, keys, walk.key);
                let name = open.pair_name(walk.key.name, walk.value);
                visitor.value(KeyPath { levels: open.levels(), name }, role, &walk);
            }
            step @ (JsonToken::Object | JsonToken::Array) => {
                let (role, scope) = open.role(roles, keys, walk.key);
                open.enter(walk.key.name, role, scope, step == JsonToken::Array);
            }
            JsonToken::Close => open.leave(),
            JsonToken::End => return Some(()),
        }
    }
}

/// The objects and arrays that are open.
struct OpenLevels<'a> {
    levels: [OpenLevel<'a>; MAX_LEVELS],
    depth: usize,
    /// How many more are open than levels are kept.
    skipped_levels: usize,
}

impl<'a> OpenLevels<'a> {
    fn new() -> Self {
        let line = OpenLevel { name: b"", context: ObjectKind::Anywhere, scope: KeyScope::Line, kind: LevelKind::Object };
        Self { levels: [line; MAX_LEVELS], depth: 1, skipped_levels: 0 }
    }

    fn levels(&self) -> &[OpenLevel<'a>] {
        &self.levels[..self.depth]
    }

    /// What the next value stands for, and the scope of what lies in it.
    #[inline]
    fn role(&mut self, roles: &KeyRoles, keys: &mut KeyCache, key: MemberName<'a>) -> (KeyRole, KeyScope) {
        let level = &mut self.levels[self.depth - 1];
        match &mut level.kind {
            _ if self.skipped_levels > 0 => (KeyRole::NOTHING, KeyScope::Elsewhere),
            LevelKind::Object => {
                let (context, scope) = (level.context, level.scope);
                keys.role(scope, key, |name| self.look_up(roles, context, name))
            }
            LevelKind::Array(first) => (std::mem::replace(first, KeyRole::NOTHING), KeyScope::Elsewhere),
            LevelKind::Pair(header) if key.name == b"value" => {
                let header = *header;
                (self.look_up(roles, ObjectKind::Headers, header), KeyScope::Elsewhere)
            }
            LevelKind::Pair(_) => (KeyRole::NOTHING, KeyScope::Elsewhere),
        }
    }

    fn look_up(&self, roles: &KeyRoles, context: ObjectKind, name: &[u8]) -> KeyRole {
        let mut path = [&b""[..]; MAX_LEVELS];
        let mut length = 0;
        for level in self.levels().iter().filter(|level| !level.name.is_empty()) {
            path[length] = level.name;
            length += 1;
        }
        roles.of(context, &path[..length], name)
    }

    /// Keeps the name in a pair for the value that follows; the name that a value goes by.
    #[inline]
    fn pair_name(&mut self, name: &'a [u8], text: &'a [u8]) -> &'a [u8] {
        match &mut self.levels[self.depth - 1].kind {
            LevelKind::Pair(header) if name == b"name" => *header = text,
            LevelKind::Pair(header) if name == b"value" => return header,
            _ => {}
        }
        name
    }

    fn enter(&mut self, name: &'a [u8], role: KeyRole, scope: KeyScope, array: bool) {
        if self.depth == MAX_LEVELS || self.skipped_levels > 0 {
            self.skipped_levels += 1;
            return;
        }
        let above = &self.levels[self.depth - 1];
        let in_headers = matches!(above.kind, LevelKind::Array(_)) && above.context == ObjectKind::Headers;
        let (context, kind) = match (array, above.kind) {
            // What lies in the elements of an array is another list, and not of this request.
            (false, LevelKind::Array(_)) if in_headers => (ObjectKind::Headers, LevelKind::Pair(b"")),
            (false, LevelKind::Array(_)) | (true, LevelKind::Array(_) | LevelKind::Pair(_)) => (ObjectKind::Closed, LevelKind::Object),
            (true, _) => (role.within, LevelKind::Array(role)),
            (false, _) => (role.within, LevelKind::Object),
        };
        let kind = if array && !matches!(kind, LevelKind::Array(_)) { LevelKind::Array(KeyRole::NOTHING) } else { kind };
        self.levels[self.depth] = OpenLevel { name, context, scope, kind };
        self.depth += 1;
    }

    fn leave(&mut self) {
        if self.skipped_levels > 0 {
            self.skipped_levels -= 1;
        } else {
            // The line itself is left with the last step.
            self.depth = self.depth.max(2) - 1;
        }
    }
}
