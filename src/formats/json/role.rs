//! What a member of a JSON object stands for, told by its name and by the object that it lies in.
//!
//! Slow by itself, and pure: [`Keys`](super::Keys) remembers the answers of the line before.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::names::{AGENT, ANYWHERE, HEADER_PREFIXES, HEADERS, OBJECTS, PEER, REQUEST, RESPONSE, URL, VAGUE};
use crate::formats::Meaning;

/// Which value of a line a member may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Slot {
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
pub(super) const SLOTS: usize = Slot::None as usize;

/// What kind of object a member lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Context {
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
pub(super) struct Role {
    pub slot: Slot,
    /// The lower is believed; 0 where the user said so.
    pub rank: u8,
    /// What its members lie in, where it is an object.
    pub within: Context,
    /// Whether it names the real client.
    pub forwarded: bool,
}

impl Role {
    pub(super) const NOTHING: Self = Self { slot: Slot::None, rank: u8::MAX, within: Context::Closed, forwarded: false };
}

/// Knows all names.
#[derive(Debug, Clone)]
pub(super) struct Roles {
    names: HashMap<(Context, &'static str), (Slot, u8)>,
    objects: HashMap<&'static str, Context>,
    /// What the user said: a slot, and the dotted path of the member.
    given: Vec<(Slot, String)>,
    /// The field that names the real client: its plain name, and the dotted paths that it may have.
    forwarded: Option<(String, Vec<String>)>,
    mark: u64,
}

impl Roles {
    pub(super) fn new(given: &[(Meaning, String)]) -> Self {
        let lists = [
            (Context::Anywhere, ANYWHERE),
            (Context::Request, REQUEST),
            (Context::Response, RESPONSE),
            (Context::Headers, HEADERS),
            (Context::Url, URL),
            (Context::Peer, PEER),
            (Context::Agent, AGENT),
        ];
        let names = lists.iter().flat_map(|(context, list)| {
            list.iter().flat_map(move |(slot, rank, names)| names.split(' ').map(move |name| ((*context, name), (*slot, *rank))))
        });
        let objects = OBJECTS.iter().flat_map(|(context, names)| names.split(' ').map(move |name| (name, *context)));
        let given = given.iter().map(|(meaning, path)| (Slot::of(meaning), path.clone()));
        let given: Vec<_> = given.filter(|(slot, _)| *slot != Slot::None).collect();
        let mut roles = Self { names: names.collect(), objects: objects.collect(), given, forwarded: None, mark: 0 };
        roles.mark();
        roles
    }

    /// Looks for the field that names the real client too, by its name or by one of the paths.
    pub(super) fn set_forwarded(&mut self, name: &str, mut paths: Vec<String>) {
        paths.push(name.to_owned());
        self.forwarded = Some((plain(name.as_bytes(), &mut [0; LONGEST]).unwrap_or_default().to_owned(), paths));
        self.mark();
    }

    /// Tells roles that answer differently from one another.
    pub(super) fn mark_of(&self) -> u64 {
        self.mark
    }

    fn mark(&mut self) {
        self.mark = xxh3_64(format!("{:?} {:?}", self.given, self.forwarded).as_bytes());
    }

    /// What the member `key` stands for, which lies in `context`, in the objects `path`.
    pub(super) fn of(&self, context: Context, path: &[&[u8]], key: &[u8]) -> Role {
        let mut room = [0; LONGEST];
        let name = plain(key, &mut room);
        let mut role = name.map_or(Role { within: inside(context), ..Role::NOTHING }, |name| self.by_name(context, name));
        if let Some((slot, _)) = self.given.iter().find(|(_, given)| is_path(given.as_bytes(), path, key)) {
            (role.slot, role.rank) = (*slot, 0);
        }
        role.forwarded = self.is_forwarded(context, path, key, name.unwrap_or_default());
        role
    }

    fn by_name(&self, context: Context, name: &str) -> Role {
        let within = match (context, self.objects.get(name)) {
            (Context::Closed | Context::Headers, _) | (Context::Response, Some(Context::Headers)) => Context::Closed,
            (Context::Response, _) => Context::Response,
            (_, Some(context)) => *context,
            _ => Context::Unknown,
        };
        let (slot, rank) = self.slot(context, name).unwrap_or((Slot::None, 0));
        Role { slot, rank, within, forwarded: false }
    }

    fn slot(&self, context: Context, name: &str) -> Option<(Slot, u8)> {
        let get = |context, name| self.names.get(&(context, name)).copied();
        match context {
            Context::Anywhere => get(Context::Anywhere, name).or_else(|| {
                let header = HEADER_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
                get(Context::Headers, header)
            }),
            Context::Http if name == "version" => Some((Slot::Protocol, 3)),
            Context::Http => get(Context::Anywhere, name),
            Context::Request => get(Context::Request, name).or_else(|| get(Context::Anywhere, name)),
            Context::Unknown => get(Context::Anywhere, name).filter(|(_, rank)| *rank < VAGUE).map(|(slot, rank)| (slot, rank + 8)),
            Context::Closed => None,
            other => get(other, name),
        }
    }
}

impl Roles {
    fn is_forwarded(&self, context: Context, path: &[&[u8]], key: &[u8], plain: &str) -> bool {
        let Some((name, paths)) = &self.forwarded else { return false };
        let named = || match context {
            Context::Closed => false,
            Context::Headers => plain == name,
            _ => plain == name || HEADER_WRITTEN.iter().any(|prefix| plain.strip_prefix(prefix) == Some(name)),
        };
        paths.iter().any(|given| is_path(given.as_bytes(), path, key)) || (!name.is_empty() && named())
    }
}

/// What nginx, Traefik and others write before a header's name.
const HEADER_WRITTEN: [&str; 4] = ["http", "request", "requestheader", "header"];

/// What an object is in which nothing is known to lie.
fn inside(context: Context) -> Context {
    match context {
        Context::Closed | Context::Headers => Context::Closed,
        _ => Context::Unknown,
    }
}

/// The longest name that is looked up.
const LONGEST: usize = 48;

/// A name without anything but letters and digits, in lower case; `None` where it is longer than any that is known, or foreign.
fn plain<'a>(key: &[u8], room: &'a mut [u8; LONGEST]) -> Option<&'a str> {
    let mut length = 0;
    for byte in key.iter().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || **b == b'\\') {
        *room.get_mut(length).filter(|_| byte.is_ascii_alphanumeric())? = byte.to_ascii_lowercase();
        length += 1;
    }
    std::str::from_utf8(&room[..length]).ok()
}

/// Whether the member `key` in the objects `path` is the one that is written `given`, with dots between the names.
fn is_path(given: &[u8], path: &[&[u8]], key: &[u8]) -> bool {
    let mut rest = given;
    for name in path {
        let Some(behind) = rest.strip_prefix(*name).and_then(|r| r.strip_prefix(b".")) else { return false };
        rest = behind;
    }
    rest == key
}

impl Slot {
    fn of(meaning: &Meaning) -> Self {
        match meaning {
            Meaning::Client => Self::Client,
            Meaning::Host => Self::Host,
            Meaning::Time => Self::Time,
            Meaning::Date => Self::Date,
            Meaning::TimeOfDay => Self::TimeOfDay,
            Meaning::Request => Self::Request,
            Meaning::Method => Self::Method,
            Meaning::Target => Self::Target,
            Meaning::Path => Self::Path,
            Meaning::Query => Self::Query,
            Meaning::Protocol => Self::Protocol,
            Meaning::Status => Self::Status,
            Meaning::Bytes => Self::Bytes,
            Meaning::Referer => Self::Referer,
            Meaning::UserAgent => Self::UserAgent,
            Meaning::Header(_) | Meaning::Other => Self::None,
        }
    }

    /// What it means.
    pub(super) fn meaning(self) -> Meaning {
        match self {
            Self::Client => Meaning::Client,
            Self::Host => Meaning::Host,
            Self::Time => Meaning::Time,
            Self::Date => Meaning::Date,
            Self::TimeOfDay => Meaning::TimeOfDay,
            Self::Request => Meaning::Request,
            Self::Method => Meaning::Method,
            Self::Sent | Self::Target => Meaning::Target,
            Self::Path => Meaning::Path,
            Self::Query => Meaning::Query,
            Self::Protocol => Meaning::Protocol,
            Self::Status => Meaning::Status,
            Self::Bytes => Meaning::Bytes,
            Self::Referer => Meaning::Referer,
            Self::UserAgent => Meaning::UserAgent,
            Self::None => Meaning::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::json::role::*;

    fn slot(path: &[&str], key: &str) -> (Slot, u8) {
        let roles = Roles::new(&[]);
        let mut context = Context::Anywhere;
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
            assert_eq!(slot(&[], key), (Slot::Client, 1), "{key}");
        }
        for (key, expected) in [
            ("cs(User-Agent)", Slot::UserAgent),
            (":authority", Slot::Host),
            ("@timestamp", Slot::Time),
            ("http.request.method", Slot::Method),
            ("request_header_User-Agent", Slot::UserAgent),
            ("http_x_forwarded_for", Slot::None),
            ("http_client_ip", Slot::None),
            ("remote_user", Slot::None),
            ("upstream_status", Slot::None),
            (r"ip\u0070", Slot::None),
            ("ipü", Slot::None),
            ("", Slot::None),
            (&"x".repeat(1000), Slot::None),
        ] {
            assert_eq!(slot(&[], key).0, expected, "{key}");
        }
    }

    #[test]
    fn an_object_says_what_its_members_are() {
        for (path, key, expected) in [
            (&["request"][..], "remote_ip", Slot::Client),
            (&["request", "headers"], "User-Agent", Slot::UserAgent),
            (&["request", "headers"], "remote_ip", Slot::None),
            (&["request"], "size", Slot::None),
            (&["response"], "size", Slot::Bytes),
            (&["response", "headers"], "status", Slot::None),
            (&["http", "request"], "method", Slot::Method),
            (&["http", "response", "body"], "bytes", Slot::Bytes),
            (&["http"], "version", Slot::Protocol),
            (&["user_agent"], "original", Slot::UserAgent),
            (&["source"], "ip", Slot::Client),
            (&["destination"], "ip", Slot::None),
            (&["req", "query"], "remote_addr", Slot::None),
            (&["body"], "request_uri", Slot::None),
            (&["log", "file"], "path", Slot::None),
            (&["whatever"], "path", Slot::None),
            (&["whatever"], "request_uri", Slot::Target),
            (&["whatever", "request"], "uri", Slot::Sent),
        ] {
            assert_eq!(slot(path, key).0, expected, "{path:?} {key}");
        }
    }

    #[test]
    fn what_the_user_says_is_believed_first() {
        let given = [(Meaning::Client, "a.b".to_owned()), (Meaning::Target, "x.y.z".to_owned()), (Meaning::Host, "body.h".to_owned())];
        let roles = Roles::new(&given);
        let of = |context, path: &[&[u8]], key: &str| {
            let role = roles.of(context, path, key.as_bytes());
            (role.slot, role.rank)
        };
        assert_eq!(of(Context::Anywhere, &[], "a.b"), (Slot::Client, 0));
        assert_eq!(of(Context::Unknown, &[b"a"], "b"), (Slot::Client, 0));
        assert_eq!(of(Context::Unknown, &[b"x", b"y"], "z"), (Slot::Target, 0));
        assert_eq!(of(Context::Unknown, &[b"x.y"], "z"), (Slot::Target, 0));
        assert_eq!(of(Context::Closed, &[b"body"], "h"), (Slot::Host, 0));
        assert_eq!(of(Context::Anywhere, &[], "b").0, Slot::None);
        assert_ne!(roles.mark_of(), Roles::new(&[]).mark_of());
    }

    #[test]
    fn no_name_has_two_places() {
        let roles = Roles::new(&[]);
        let lists = [ANYWHERE, REQUEST, RESPONSE, HEADERS, URL, PEER, AGENT];
        let words = lists.iter().flat_map(|list| list.iter()).map(|(_, _, names)| names.split(' ').count());
        assert_eq!(roles.names.len(), words.sum::<usize>());
        let words = OBJECTS.iter().map(|(_, names)| names.split(' ').count());
        assert_eq!(roles.objects.len(), words.sum::<usize>());
        for name in roles.names.keys().map(|(_, name)| name).chain(roles.objects.keys()) {
            assert_eq!(plain(name.as_bytes(), &mut [0; LONGEST]), Some(*name));
        }
    }
}
