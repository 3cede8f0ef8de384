//! What a member of a JSON object stands for, told by its name and by the object that it lies in.
//!
//! Slow by itself, and pure: [`KeyCache`](super::KeyCache) remembers the answers of the line before.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::names::{AGENT, ANYWHERE, HEADER_PREFIXES, HEADERS, LOW_CONFIDENCE, OBJECTS, PEER, REQUEST, RESPONSE, URL};
use crate::formats::FieldKind;

/// Which value of a line a member may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum JsonField {
    Client,
    Host,
    Time,
    Date,
    TimeOfDay,
    Request,
    Method,
    /// The target exactly as it was sent.
    Sent,
    /// Path and query, or a whole address.
    Target,
    /// The path; the query may follow it or stand elsewhere.
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    None,
}

/// How many slots hold a value.
pub(super) const SLOTS: usize = JsonField::None as usize;

/// What kind of object a member lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ObjectKind {
    /// The line itself, or an object that only groups fields.
    Anywhere,
    /// `http` of the Elastic Common Schema.
    Http,
    Request,
    Response,
    Headers,
    Url,
    Peer,
    Agent,
    /// An object of which nothing is known.
    Unknown,
    /// An object in which nothing is looked for.
    Closed,
}

/// What a member stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRole {
    pub slot: JsonField,
    /// The lower is believed; 0 where the user said so.
    pub rank: u8,
    /// What its members lie in, where it is an object.
    pub within: ObjectKind,
    /// Whether it names the real client.
    pub forwarded: bool,
}

impl KeyRole {
    pub(super) const NOTHING: Self = Self { slot: JsonField::None, rank: u8::MAX, within: ObjectKind::Closed, forwarded: false };
}

/// Knows all names.
#[derive(Debug, Clone)]
pub(super) struct KeyRoles {
    names: HashMap<(ObjectKind, &'static str), (JsonField, u8)>,
    objects: HashMap<&'static str, ObjectKind>,
    /// What the user said: a slot, and the dotted path of the member.
    user_fields: Vec<(JsonField, String)>,
    /// The field that names the real client: its normalized_name name, and the dotted paths that it may have.
    forwarded: Option<(String, Vec<String>)>,
    fingerprint: u64,
}

impl KeyRoles {
    pub(super) fn new(user_fields: &[(FieldKind, String)]) -> Self {
        let lists = [
            (ObjectKind::Anywhere, ANYWHERE),
            (ObjectKind::Request, REQUEST),
            (ObjectKind::Response, RESPONSE),
            (ObjectKind::Headers, HEADERS),
            (ObjectKind::Url, URL),
            (ObjectKind::Peer, PEER),
            (ObjectKind::Agent, AGENT),
        ];
        let names = lists.iter().flat_map(|(context, list)| {
            list.iter().flat_map(move |(slot, rank, names)| names.split(' ').map(move |name| ((*context, name), (*slot, *rank))))
        });
        let objects = OBJECTS.iter().flat_map(|(context, names)| names.split(' ').map(move |name| (name, *context)));
        let user_fields = user_fields.iter().map(|(kind, path)| (JsonField::of(kind), path.clone()));
        let user_fields: Vec<_> = user_fields.filter(|(slot, _)| *slot != JsonField::None).collect();
        let mut roles = Self { names: names.collect(), objects: objects.collect(), user_fields, forwarded: None, fingerprint: 0 };
        roles.update_fingerprint();
        roles
    }

    /// Looks for the field that names the real client too, by its name or by one of the paths.
    pub(super) fn set_forwarded(&mut self, name: &str, mut paths: Vec<String>) {
        paths.push(name.to_owned());
        self.forwarded = Some((normalized_name(name.as_bytes(), &mut [0; MAX_NAME]).unwrap_or_default().to_owned(), paths));
        self.update_fingerprint();
    }

    /// Tells roles that answer differently from one another.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn update_fingerprint(&mut self) {
        self.fingerprint = xxh3_64(format!("{:?} {:?}", self.user_fields, self.forwarded).as_bytes());
    }

    /// What the member `key` stands for, which lies in `context`, in the objects `path`.
    pub(super) fn of(&self, context: ObjectKind, path: &[&[u8]], key: &[u8]) -> KeyRole {
        let mut buffers = [0; MAX_NAME];
        let name = normalized_name(key, &mut buffers);
        let mut role =
            name.map_or(KeyRole { within: default_object_kind(context), ..KeyRole::NOTHING }, |name| self.by_name(context, name));
        if let Some((slot, _)) = self.user_fields.iter().find(|(_, user_fields)| is_path(user_fields.as_bytes(), path, key)) {
            (role.slot, role.rank) = (*slot, 0);
        }
        role.forwarded = self.is_forwarded(context, path, key, name.unwrap_or_default());
        role
    }

    fn by_name(&self, context: ObjectKind, name: &str) -> KeyRole {
        let within = match (context, self.objects.get(name)) {
            (ObjectKind::Closed | ObjectKind::Headers, _) | (ObjectKind::Response, Some(ObjectKind::Headers)) => ObjectKind::Closed,
            (ObjectKind::Response, _) => ObjectKind::Response,
            (_, Some(context)) => *context,
            _ => ObjectKind::Unknown,
        };
        let (slot, rank) = self.slot(context, name).unwrap_or((JsonField::None, 0));
        KeyRole { slot, rank, within, forwarded: false }
    }

    fn slot(&self, context: ObjectKind, name: &str) -> Option<(JsonField, u8)> {
        let get = |context, name| self.names.get(&(context, name)).copied();
        match context {
            ObjectKind::Anywhere => get(ObjectKind::Anywhere, name).or_else(|| {
                let header = HEADER_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
                get(ObjectKind::Headers, header)
            }),
            ObjectKind::Http if name == "version" => Some((JsonField::Protocol, 3)),
            ObjectKind::Http => get(ObjectKind::Anywhere, name),
            ObjectKind::Request => get(ObjectKind::Request, name).or_else(|| get(ObjectKind::Anywhere, name)),
            ObjectKind::Unknown => {
                get(ObjectKind::Anywhere, name).filter(|(_, rank)| *rank < LOW_CONFIDENCE).map(|(slot, rank)| (slot, rank + 8))
            }
            ObjectKind::Closed => None,
            other => get(other, name),
        }
    }
}

impl KeyRoles {
    fn is_forwarded(&self, context: ObjectKind, path: &[&[u8]], key: &[u8], normalized_name: &str) -> bool {
        let Some((name, paths)) = &self.forwarded else { return false };
        let named = || match context {
            ObjectKind::Closed => false,
            ObjectKind::Headers => normalized_name == name,
            _ => normalized_name == name || HEADER_NAME_PREFIXES.iter().any(|prefix| normalized_name.strip_prefix(prefix) == Some(name)),
        };
        paths.iter().any(|user_fields| is_path(user_fields.as_bytes(), path, key)) || (!name.is_empty() && named())
    }
}

/// What nginx, Traefik and others write before a header's name.
const HEADER_NAME_PREFIXES: [&str; 4] = ["http", "request", "requestheader", "header"];

/// What an object is in which nothing is known to lie.
fn default_object_kind(context: ObjectKind) -> ObjectKind {
    match context {
        ObjectKind::Closed | ObjectKind::Headers => ObjectKind::Closed,
        _ => ObjectKind::Unknown,
    }
}

/// The longest name that is looked up.
const MAX_NAME: usize = 48;

/// A name without anything but letters and digits, in lower case; `None` where it is longer than any that is known, or foreign.
fn normalized_name<'a>(key: &[u8], buffers: &'a mut [u8; MAX_NAME]) -> Option<&'a str> {
    let mut length = 0;
    for byte in key.iter().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || **b == b'\\') {
        *buffers.get_mut(length).filter(|_| byte.is_ascii_alphanumeric())? = byte.to_ascii_lowercase();
        length += 1;
    }
    std::str::from_utf8(&buffers[..length]).ok()
}

/// Whether the member `key` in the objects `path` is the one that is written `user_fields`, with dots between the names.
fn is_path(user_fields: &[u8], path: &[&[u8]], key: &[u8]) -> bool {
    let mut rest = user_fields;
    for name in path {
        let Some(behind) = rest.strip_prefix(*name).and_then(|r| r.strip_prefix(b".")) else { return false };
        rest = behind;
    }
    rest == key
}

impl JsonField {
    fn of(kind: &FieldKind) -> Self {
        match kind {
            FieldKind::Client => Self::Client,
            FieldKind::Host => Self::Host,
            FieldKind::Time => Self::Time,
            FieldKind::Date => Self::Date,
            FieldKind::TimeOfDay => Self::TimeOfDay,
            FieldKind::Request => Self::Request,
            FieldKind::Method => Self::Method,
            FieldKind::Target => Self::Target,
            FieldKind::Path => Self::Path,
            FieldKind::Query => Self::Query,
            FieldKind::Protocol => Self::Protocol,
            FieldKind::Status => Self::Status,
            FieldKind::Bytes => Self::Bytes,
            FieldKind::Referer => Self::Referer,
            FieldKind::UserAgent => Self::UserAgent,
            FieldKind::Header(_) | FieldKind::Other => Self::None,
        }
    }

    /// What it means.
    pub(super) fn kind(self) -> FieldKind {
        match self {
            Self::Client => FieldKind::Client,
            Self::Host => FieldKind::Host,
            Self::Time => FieldKind::Time,
            Self::Date => FieldKind::Date,
            Self::TimeOfDay => FieldKind::TimeOfDay,
            Self::Request => FieldKind::Request,
            Self::Method => FieldKind::Method,
            Self::Sent | Self::Target => FieldKind::Target,
            Self::Path => FieldKind::Path,
            Self::Query => FieldKind::Query,
            Self::Protocol => FieldKind::Protocol,
            Self::Status => FieldKind::Status,
            Self::Bytes => FieldKind::Bytes,
            Self::Referer => FieldKind::Referer,
            Self::UserAgent => FieldKind::UserAgent,
            Self::None => FieldKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::json::role::*;

    fn slot(path: &[&str], key: &str) -> (JsonField, u8) {
        let roles = KeyRoles::new(&[]);
        let mut context = ObjectKind::Anywhere;
        let mut above = Vec::new();
        for name in path {
            context = roles.of(context, &above, name.as_bytes()).within;
            above.push(name.as_bytes());
        }
        let role = roles.of(context, &above, key.as_bytes());
        (role.slot, role.rank)
    }

    #[test]
    fn a_name_is_known_however_it_is_spelled() {
        for key in ["remote_addr", "remoteAddr", "RemoteAddr", "$remote_addr", "remote-addr", "REMOTE_ADDR"] {
            assert_eq!(slot(&[], key), (JsonField::Client, 1), "{key}");
        }
        for (key, expected) in [
            ("cs(User-Agent)", JsonField::UserAgent),
            (":authority", JsonField::Host),
            ("@timestamp", JsonField::Time),
            ("http.request.method", JsonField::Method),
            ("request_header_User-Agent", JsonField::UserAgent),
            ("http_x_forwarded_for", JsonField::None),
            ("http_client_ip", JsonField::None),
            ("remote_user", JsonField::None),
            ("upstream_status", JsonField::None),
            (r"ip\u0070", JsonField::None),
            ("ipü", JsonField::None),
            ("", JsonField::None),
            (&"x".repeat(1000), JsonField::None),
        ] {
            assert_eq!(slot(&[], key).0, expected, "{key}");
        }
    }

    #[test]
    fn an_object_says_what_its_members_are() {
        for (path, key, expected) in [
            (&["request"][..], "remote_ip", JsonField::Client),
            (&["request", "headers"], "User-Agent", JsonField::UserAgent),
            (&["request", "headers"], "remote_ip", JsonField::None),
            (&["request"], "size", JsonField::None),
            (&["response"], "size", JsonField::Bytes),
            (&["response", "headers"], "status", JsonField::None),
            (&["http", "request"], "method", JsonField::Method),
            (&["http", "response", "body"], "bytes", JsonField::Bytes),
            (&["http"], "version", JsonField::Protocol),
            (&["user_agent"], "original", JsonField::UserAgent),
            (&["source"], "ip", JsonField::Client),
            (&["destination"], "ip", JsonField::None),
            (&["req", "query"], "remote_addr", JsonField::None),
            (&["body"], "request_uri", JsonField::None),
            (&["log", "file"], "path", JsonField::None),
            (&["whatever"], "path", JsonField::None),
            (&["whatever"], "request_uri", JsonField::Target),
            (&["whatever", "request"], "uri", JsonField::Sent),
        ] {
            assert_eq!(slot(path, key).0, expected, "{path:?} {key}");
        }
    }

    #[test]
    fn what_the_user_says_is_believed_first() {
        let user_fields =
            [(FieldKind::Client, "a.b".to_owned()), (FieldKind::Target, "x.y.z".to_owned()), (FieldKind::Host, "body.h".to_owned())];
        let roles = KeyRoles::new(&user_fields);
        let of = |context, path: &[&[u8]], key: &str| {
            let role = roles.of(context, path, key.as_bytes());
            (role.slot, role.rank)
        };
        assert_eq!(of(ObjectKind::Anywhere, &[], "a.b"), (JsonField::Client, 0));
        assert_eq!(of(ObjectKind::Unknown, &[b"a"], "b"), (JsonField::Client, 0));
        assert_eq!(of(ObjectKind::Unknown, &[b"x", b"y"], "z"), (JsonField::Target, 0));
        assert_eq!(of(ObjectKind::Unknown, &[b"x.y"], "z"), (JsonField::Target, 0));
        assert_eq!(of(ObjectKind::Closed, &[b"body"], "h"), (JsonField::Host, 0));
        assert_eq!(of(ObjectKind::Anywhere, &[], "b").0, JsonField::None);
        assert_ne!(roles.fingerprint(), KeyRoles::new(&[]).fingerprint());
    }

    #[test]
    fn no_name_has_two_places() {
        let roles = KeyRoles::new(&[]);
        let lists = [ANYWHERE, REQUEST, RESPONSE, HEADERS, URL, PEER, AGENT];
        let words = lists.iter().flat_map(|list| list.iter()).map(|(_, _, names)| names.split(' ').count());
        assert_eq!(roles.names.len(), words.sum::<usize>());
        let words = OBJECTS.iter().map(|(_, names)| names.split(' ').count());
        assert_eq!(roles.objects.len(), words.sum::<usize>());
        for name in roles.names.keys().map(|(_, name)| name).chain(roles.objects.keys()) {
            assert_eq!(normalized_name(name.as_bytes(), &mut [0; MAX_NAME]), Some(*name));
        }
    }
}
