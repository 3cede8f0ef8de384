//! The keys of a JSON line: which field a key is, decided by its name and the object that contains
//! it.
//!
//! Lookups are slow and pure, so [`KeyCache`] stores the keys of the last line and their roles: a
//! server writes the same keys in the same order, and most keys need no lookup. The cache affects
//! only the speed, never the result.
//!
//! Names are normalized to lower-case letters and digits: `remote_addr`, `remoteAddr` and
//! `$remote_addr` are equal. Of several keys for one field, the lowest rank is used; of equal
//! ranks, and of a key that is written twice, the first. Only the client is unknown if two keys of
//! the best rank have different addresses. Names from [`LOW_CONFIDENCE`] on are too vague to be
//! used in unknown objects. Headers that clients can send (`X-Forwarded-For`, `X-Real-IP`,
//! `Client-IP`) are never the client address.
//!
//! A client chooses the names of its headers, parameters and cookies, and so some keys. A key that
//! names a header, as Traefik's `request_Uri` or `req.headers.Uri`, is only the agent, the referer,
//! the host or the forwarded client, as are the members of `headers`; the members of queries,
//! parameters and cookies are nothing. A request has no members of unknown objects, which may be
//! what the client sent. The forwarded client is in the header with exactly its name:
//! `X--Forwarded-For` is another one. Keys in unknown objects, and in those that an application
//! fills ([`PAYLOADS`]), are used only if the line has no request outside of them: they may be a
//! body that the client sent, as of
//! `{"method":"POST","url":"/","post":{"remote_addr":"192.0.2.1"}}`.
//!
//! Sources: nginx, variables of `ngx_http_core_module` and `ngx_http_log_module`; Caddy,
//! docs/logging and docs/caddyfile/directives/log; Traefik, observability/access-logs; Envoy and
//! Istio, `configuration/observability/access_log`; Google Cloud, `LogEntry` and `HttpRequest`;
//! AWS, API Gateway `$context` variables, `CloudFront` standard logging, WAF log fields,
//! Application Load Balancer access logs; Azure Application Gateway and Front Door, access logs;
//! Cloudflare Logpush, HTTP requests; Fastly, custom log formats; Kong, file-log; Elastic Common
//! Schema; OpenTelemetry, HTTP attributes; pino-http; morgan; Echo; Tomcat, `JsonAccessLogValve`.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::tokenizer::MemberName;
use crate::formats::FieldKind;
use crate::formats::fields::FieldSlot;

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ObjectKind {
    /// The top level, or an object that only groups fields.
    Anywhere,
    /// `http` of the Elastic Common Schema.
    Http,
    Request,
    Response,
    Headers,
    Url,
    Peer,
    Agent,
    User,
    /// The connection of a request: only the client is used.
    Connection,
    /// Unknown: only specific key names are used, if it is no [payload](is_payload) beside a
    /// request.
    Unknown,
    /// Closed: nothing in it is used.
    Closed,
    /// The body of a response: only its size is used. Of any other body nothing is.
    Body,
}

/// The role of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRole {
    pub slot: FieldSlot,
    /// Lower ranks are preferred; 0 if configured by the user.
    pub rank: u8,
    /// The kind of the object under this key.
    pub within: ObjectKind,
    /// Whether it is the field of the forwarded client.
    pub forwarded: bool,
}

impl KeyRole {
    pub(super) const NOTHING: Self = Self {
        slot: FieldSlot::Unused,
        rank: u8::MAX,
        within: ObjectKind::Closed,
        forwarded: false,
    };
}

/// All known roles.
#[derive(Debug, Clone)]
pub(super) struct KeyRoles {
    names: HashMap<(ObjectKind, &'static str), (FieldSlot, u8)>,
    objects: HashMap<&'static str, ObjectKind>,
    /// The configured fields, with their dotted paths.
    user_fields: Vec<(FieldSlot, String)>,
    /// The field of the forwarded client: its normalized name and its possible dotted paths.
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
            (ObjectKind::User, USER),
        ];
        let names = lists.iter().flat_map(|(context, list)| {
            list.iter().flat_map(move |(slot, rank, names)| {
                names
                    .split(' ')
                    .map(move |name| ((*context, name), (*slot, *rank)))
            })
        });
        let objects = OBJECTS
            .iter()
            .flat_map(|(context, names)| names.split(' ').map(move |name| (name, *context)));
        let user_fields = user_fields
            .iter()
            .map(|(kind, path)| (FieldSlot::from_kind(kind), path.clone()));
        let user_fields: Vec<_> = user_fields
            .filter(|(slot, _)| *slot != FieldSlot::Unused)
            .collect();
        let mut roles = Self {
            names: names.collect(),
            objects: objects.collect(),
            user_fields,
            forwarded: None,
            fingerprint: 0,
        };
        roles.update_fingerprint();
        roles
    }

    /// Also recognizes the field of the forwarded client, by its name or by one of the paths.
    pub(super) fn set_forwarded(&mut self, name: &str, mut paths: Vec<String>) {
        paths.push(name.to_owned());
        self.forwarded = Some((
            normalized_name(name.as_bytes(), &mut [0; MAX_NAME])
                .unwrap_or_default()
                .to_owned(),
            paths,
        ));
        self.update_fingerprint();
    }

    /// Identifies a set of roles; sets with different answers have different fingerprints.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn update_fingerprint(&mut self) {
        self.fingerprint =
            xxh3_64(format!("{:?} {:?}", self.user_fields, self.forwarded).as_bytes());
    }

    /// The role of `key` in an object of kind `context` at `path`, which may be in a payload.
    pub(super) fn role(
        &self,
        context: ObjectKind,
        path: &[&[u8]],
        in_payload: bool,
        key: &[u8],
    ) -> KeyRole {
        let mut buffers = [0; MAX_NAME];
        let (kind, member) = member_of_dotted(context, key);
        let name = normalized_name(member, &mut buffers);
        let mut role = name.map_or(
            KeyRole {
                within: object_kind(kind, None),
                ..KeyRole::NOTHING
            },
            |name| self.by_key(kind, member, name),
        );
        if in_payload && !self.is_forwarded_path(path, key) {
            role.rank = role.rank.saturating_add(IN_PAYLOAD);
        }
        if let Some((slot, _)) = self
            .user_fields
            .iter()
            .find(|(_, user_fields)| is_path(user_fields.as_bytes(), path, key))
        {
            (role.slot, role.rank) = (*slot, 0);
        }
        role.forwarded = self.is_forwarded(kind, path, key, name.unwrap_or_default());
        role
    }

    /// The role of a key by its name, which may be that of a header.
    fn by_key(&self, context: ObjectKind, key: &[u8], name: &str) -> KeyRole {
        let mut role = self.by_name(context, name);
        if role.slot == FieldSlot::Forwarded
            && context == ObjectKind::Headers
            && !key.eq_ignore_ascii_case(b"x-forwarded-for")
        {
            role.slot = FieldSlot::Unused;
        }
        if header_of_key(key).is_some() {
            let is_of_headers = matches!(
                role.slot,
                FieldSlot::UserAgent | FieldSlot::Referer | FieldSlot::Host
            );
            role = KeyRole {
                slot: if is_of_headers {
                    role.slot
                } else {
                    FieldSlot::Unused
                },
                within: ObjectKind::Closed,
                ..role
            };
        }
        role
    }

    fn by_name(&self, context: ObjectKind, name: &str) -> KeyRole {
        let within = object_kind(
            context,
            self.objects
                .get(name)
                .copied()
                .or_else(|| kind_by_word(name)),
        );
        let (slot, rank) = self.slot(context, name).unwrap_or((FieldSlot::Unused, 0));
        KeyRole {
            slot,
            rank,
            within,
            forwarded: false,
        }
    }

    fn slot(&self, context: ObjectKind, name: &str) -> Option<(FieldSlot, u8)> {
        let get = |context, name| self.names.get(&(context, name)).copied();
        match context {
            ObjectKind::Anywhere => get(ObjectKind::Anywhere, name).or_else(|| {
                let within = |prefixes: &[&str]| {
                    prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))
                };
                within(HEADER_PREFIXES)
                    .and_then(|header| get(ObjectKind::Headers, header))
                    .or_else(|| within(PRODUCTS).and_then(|name| get(ObjectKind::Anywhere, name)))
            }),
            ObjectKind::Http if name == "version" => Some((FieldSlot::Protocol, 3)),
            ObjectKind::Http => get(ObjectKind::Anywhere, name),
            ObjectKind::Request => {
                get(ObjectKind::Request, name).or_else(|| get(ObjectKind::Anywhere, name))
            }
            ObjectKind::Connection | ObjectKind::Unknown => get(ObjectKind::Anywhere, name)
                .filter(|(slot, rank)| {
                    *rank < LOW_CONFIDENCE
                        && (context == ObjectKind::Unknown || *slot == FieldSlot::Client)
                })
                .map(|(slot, rank)| (slot, rank + 8)),
            ObjectKind::Closed => None,
            ObjectKind::Body => {
                get(ObjectKind::Response, name).filter(|(slot, _)| *slot == FieldSlot::Bytes)
            }
            other => get(other, name),
        }
    }
}

impl KeyRoles {
    fn is_forwarded(
        &self,
        context: ObjectKind,
        path: &[&[u8]],
        key: &[u8],
        normalized_name: &str,
    ) -> bool {
        let Some((name, paths)) = &self.forwarded else {
            return false;
        };
        let is_header = |header: &[u8]| {
            paths
                .last()
                .is_some_and(|name| header.eq_ignore_ascii_case(name.as_bytes()))
        };
        let named = || match context {
            ObjectKind::Closed | ObjectKind::Connection => false,
            ObjectKind::Headers => is_header(member_of_dotted(context, key).1),
            _ if let Some(header) = header_of_key(key) => is_header(header),
            _ => {
                normalized_name == name
                    || HEADER_NAME_PREFIXES
                        .iter()
                        .any(|prefix| normalized_name.strip_prefix(prefix) == Some(name))
            }
        };
        self.is_forwarded_path(path, key) || (!name.is_empty() && named())
    }

    /// Whether the user named this key as that of the forwarded client.
    fn is_forwarded_path(&self, path: &[&[u8]], key: &[u8]) -> bool {
        let mut paths = self.forwarded.iter().flat_map(|(_, paths)| paths);
        paths.any(|user_field| is_path(user_field.as_bytes(), path, key))
    }
}

/// Objects with whatever an application logged: its own fields, or what a client sent.
const PAYLOADS: [&str; 10] = [
    "jsonpayload",
    "properties",
    "fields",
    "data",
    "event",
    "log",
    "record",
    "details",
    "context",
    "state",
];

/// Whether the members of an object of this kind and name are used only if the line has no request
/// outside of it.
pub(super) fn is_payload(kind: ObjectKind, name: &[u8]) -> bool {
    kind == ObjectKind::Unknown
        || normalized_name(name, &mut [0; MAX_NAME]).is_some_and(|name| PAYLOADS.contains(&name))
}

/// Added to the rank of a key in a payload; greater than all other ranks.
pub(super) const IN_PAYLOAD: u8 = 16;

/// The header of the request or the response that a key names, as Traefik and CGI write it:
/// `request_User-Agent`, `HTTP_USER_AGENT`. Go writes a letter that begins a word of a header in
/// upper case and the others in lower case, so `request_method` and `request_URI` name no header,
/// and `request__uri` names `_uri`.
fn header_of_key(key: &[u8]) -> Option<&[u8]> {
    let of_cgi = key
        .strip_prefix(b"HTTP_")
        .filter(|header| !header.iter().any(u8::is_ascii_lowercase));
    of_cgi.or_else(|| {
        let header = [&b"request_"[..], b"downstream_", b"origin_"]
            .iter()
            .find_map(|prefix| key.strip_prefix(*prefix))?;
        let is_other = matches!(
            header,
            [] | [b'a'..=b'z', ..] | [b'A'..=b'Z', b'A'..=b'Z', ..]
        );
        (!is_other).then_some(header)
    })
}

/// The kind of object that a dotted key names, and the key in it, if clients choose the keys of
/// such objects: `Headers` and `Uri` of `req.headers.Uri`. Otherwise `context` and the whole key.
fn member_of_dotted(context: ObjectKind, key: &[u8]) -> (ObjectKind, &[u8]) {
    let dots = memchr::memchr_iter(b'.', key);
    let starts = std::iter::once(0).chain(dots.clone().map(|dot| dot + 1));
    let mut kinds = starts.zip(dots).filter_map(|(start, dot)| {
        let kind = kind_by_word(normalized_name(&key[start..dot], &mut [0; MAX_NAME])?)?;
        let kind = if key.starts_with(b"res") {
            ObjectKind::Closed
        } else {
            kind
        };
        Some((object_kind(context, Some(kind)), &key[dot + 1..]))
    });
    kinds.next().unwrap_or((context, key))
}

/// The kind of an object in which clients choose the keys, by the word in its name that says so:
/// `multiValueHeaders`, `pathParameters`. Of a response, nothing is used.
fn kind_by_word(name: &str) -> Option<ObjectKind> {
    let has = |word: &str| name.contains(word);
    if has("header") || has("trailer") {
        return Some(if name.starts_with("res") {
            ObjectKind::Closed
        } else {
            ObjectKind::Headers
        });
    }
    ["cookie", "query", "param"]
        .into_iter()
        .any(has)
        .then_some(ObjectKind::Closed)
}

/// Prefixes that nginx, Traefik and others write before header names.
const HEADER_NAME_PREFIXES: [&str; 4] = ["http", "request", "requestheader", "header"];

/// The kind of an object within one of kind `context`, by the kind that its key has; `None` for an
/// unknown key.
fn object_kind(context: ObjectKind, named: Option<ObjectKind>) -> ObjectKind {
    match (context, named) {
        // In a request, what the client sent may be in `data` or in any other object.
        (
            ObjectKind::Closed | ObjectKind::Headers | ObjectKind::Connection | ObjectKind::Body,
            _,
        )
        | (ObjectKind::Response, Some(ObjectKind::Headers | ObjectKind::Closed))
        | (ObjectKind::Request, None | Some(ObjectKind::Anywhere)) => ObjectKind::Closed,
        (ObjectKind::Response, Some(ObjectKind::Body)) => ObjectKind::Body,
        (ObjectKind::Response, _) => ObjectKind::Response,
        (_, Some(ObjectKind::Body)) => ObjectKind::Closed,
        (_, Some(kind)) => kind,
        (_, None) => ObjectKind::Unknown,
    }
}

/// The longest normalized name.
const MAX_NAME: usize = 48;

/// A normalized name: lower-case letters and digits. `None` if it is too long or not ASCII.
fn normalized_name<'a>(key: &[u8], buffers: &'a mut [u8; MAX_NAME]) -> Option<&'a str> {
    let mut length = 0;
    for byte in key
        .iter()
        .filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || **b == b'\\')
    {
        *buffers
            .get_mut(length)
            .filter(|_| byte.is_ascii_alphanumeric())? = byte.to_ascii_lowercase();
        length += 1;
    }
    std::str::from_utf8(&buffers[..length]).ok()
}

/// Whether `key` in the objects `path` is the dotted path `user_fields`.
fn is_path(user_fields: &[u8], path: &[&[u8]], key: &[u8]) -> bool {
    let mut rest = user_fields;
    for name in path {
        let Some(after) = rest.strip_prefix(*name).and_then(|r| r.strip_prefix(b".")) else {
            return false;
        };
        rest = after;
    }
    rest == key
}

/// The maximum number and length of cached keys.
const MAX_KEYS: usize = 128;
const MAX_KEY_LEN: usize = 64;
/// How far ahead a key is searched for if others are missing.
const LOOK_AHEAD: usize = 8;

/// Caches the keys of a line.
#[derive(Debug, Default, Clone)]
pub(in crate::formats) struct KeyCache {
    /// The fingerprint of the roles that the entries are based on.
    roles_fingerprint: u64,
    entries: Vec<KeyEntry>,
    names: Vec<u8>,
    /// The index of the expected entry.
    next: usize,
    misses: usize,
    learning: bool,
}

#[derive(Debug, Clone, Copy)]
struct KeyEntry {
    start: u32,
    end: u32,
    within: KeyScope,
    role: KeyRole,
}

/// The object that contains a key, identified by the entry of the object's own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyScope {
    /// The top level.
    Line,
    /// The object of that entry.
    Entry(u16),
    /// An object that is not cached.
    Elsewhere,
}

impl KeyCache {
    /// Starts a line.
    pub(super) fn begin(&mut self, roles_fingerprint: u64) {
        // If a quarter of the keys is new, the format has changed.
        if roles_fingerprint != self.roles_fingerprint || self.misses > 2 + self.entries.len() / 4 {
            self.entries.clear();
            self.names.clear();
            self.roles_fingerprint = roles_fingerprint;
        }
        (self.next, self.misses, self.learning) = (0, 0, self.entries.is_empty());
    }

    /// The expected key; empty if there is none.
    #[inline]
    pub(super) fn expected(&self) -> &[u8] {
        self.entries
            .get(self.next)
            .map_or(b"", |entry| self.name(entry))
    }

    /// The role of `key` within `scope`, and the scope of its members. Keys that are not cached are
    /// looked up.
    #[inline]
    pub(super) fn role(
        &mut self,
        scope: KeyScope,
        key: MemberName<'_>,
        look_up: impl Fn(&[u8]) -> KeyRole,
    ) -> (KeyRole, KeyScope) {
        match self.entries.get(self.next) {
            Some(entry) if key.expected && entry.within == scope => self.hit(self.next, entry.role),
            _ => self.look_up_other(scope, key, look_up),
        }
    }

    fn hit(&mut self, at: usize, role: KeyRole) -> (KeyRole, KeyScope) {
        self.next = at + 1;
        (role, KeyScope::Entry(at as u16))
    }

    #[inline(never)]
    fn look_up_other(
        &mut self,
        scope: KeyScope,
        key: MemberName<'_>,
        look_up: impl Fn(&[u8]) -> KeyRole,
    ) -> (KeyRole, KeyScope) {
        if self.learning {
            return self.learn(scope, key, look_up);
        }
        let ahead = self
            .entries
            .iter()
            .enumerate()
            .skip(self.next)
            .take(LOOK_AHEAD);
        let found = ahead
            .into_iter()
            .find(|(_, entry)| entry.within == scope && self.name(entry) == key.name);
        if let Some((at, role)) = found.map(|(at, entry)| (at, entry.role)) {
            return self.hit(at, role);
        }
        self.misses += 1;
        (look_up(key.name), KeyScope::Elsewhere)
    }

    fn learn(
        &mut self,
        scope: KeyScope,
        key: MemberName<'_>,
        look_up: impl Fn(&[u8]) -> KeyRole,
    ) -> (KeyRole, KeyScope) {
        if key.name.is_empty()
            || key.name.len() > MAX_KEY_LEN
            || self.entries.len() == MAX_KEYS
            || scope == KeyScope::Elsewhere
        {
            return (look_up(key.name), KeyScope::Elsewhere);
        }
        let start = self.names.len();
        // The role is that of the copy: a memory-mapped file may change between two reads.
        self.names.extend_from_slice(key.name);
        let role = look_up(&self.names[start..]);
        self.entries.push(KeyEntry {
            start: start as u32,
            end: self.names.len() as u32,
            within: scope,
            role,
        });
        self.hit(self.entries.len() - 1, role)
    }

    #[inline]
    fn name(&self, entry: &KeyEntry) -> &[u8] {
        &self.names[entry.start as usize..entry.end as usize]
    }
}

/// The first rank that is not used everywhere.
const LOW_CONFIDENCE: u8 = 4;

type Names = [(FieldSlot, u8, &'static str)];

/// The rank of `host`, which is `%h` in logs that were converted from the Common Log Format.
pub(super) const REMOTE_HOST: u8 = LOW_CONFIDENCE;

/// Keys at the top level and in objects that only group fields.
const ANYWHERE: &Names = &[
    (
        FieldSlot::Client,
        1,
        "remoteaddr remoteip remoteaddress clienthost cip downstreamremoteaddresswithoutport",
    ),
    (
        FieldSlot::Client,
        2,
        "clientip clientaddr clientaddress remotehost downstreamremoteaddress sourceip sourceaddress srcip idorigh",
    ),
    (
        FieldSlot::Client,
        3,
        "requestclientip requestremoteip requestremoteaddr httprequestremoteip httprequestclientip identitysourceip",
    ),
    (
        FieldSlot::Client,
        3,
        "downstreamdirectremoteaddress netpeerip netsockpeeraddr peeraddr peeraddress networkclientip viewerip visitorip",
    ),
    (
        FieldSlot::Client,
        LOW_CONFIDENCE,
        "ip client ipaddress ipaddr remote peer",
    ),
    (
        FieldSlot::Host,
        1,
        "requesthost xhostheader clientrequesthost authority requestauthority requesthostname",
    ),
    (FieldSlot::Host, 2, "httphost cshost httprequesthost"),
    (
        FieldSlot::Host,
        3,
        "vhost virtualhost urldomain originalhost domainname",
    ),
    (FieldSlot::Host, REMOTE_HOST, "host"),
    (FieldSlot::Host, 5, "servername site domain"),
    (
        FieldSlot::Time,
        1,
        "startutc timelocal timeiso8601 requesttimestamp edgestarttimestamp starttime",
    ),
    (
        FieldSlot::Time,
        2,
        "timestamp datetime startlocal eventtime accesstime startedat requestreceived",
    ),
    (
        FieldSlot::Time,
        3,
        "msec requesttime requesttimeepoch logtime localtime asctime receivedat",
    ),
    (FieldSlot::Time, LOW_CONFIDENCE, "time ts date"),
    (FieldSlot::Time, 5, "receivetimestamp edgeendtimestamp t"),
    (FieldSlot::Request, 1, "requestline httprequestline"),
    (FieldSlot::Request, 2, "request httprequest"),
    (FieldSlot::Request, 3, "requestedurl"),
    (
        FieldSlot::Method,
        1,
        "requestmethod httpmethod clientrequestmethod csmethod requestverb requesthttpverb httprequestmethod",
    ),
    (FieldSlot::Method, 3, "verb httpverb"),
    (FieldSlot::Method, LOW_CONFIDENCE, "method"),
    (
        FieldSlot::Target,
        1,
        "requesturi requesturl originalurl originaluri requesttarget clientrequesturi xenvoyoriginpath xenvoyoriginalpath",
    ),
    (
        FieldSlot::Target,
        1,
        "httptarget httpurl urloriginal urlfull fullurl csuri httprequesturl httprequesturi",
    ),
    (
        FieldSlot::Path,
        1,
        "requestpath clientrequestpath csuristem urlpath httppath httprequestpath requesturipath",
    ),
    (FieldSlot::Path, 3, "uri requesteduri"),
    (FieldSlot::Path, LOW_CONFIDENCE, "url"),
    (FieldSlot::Path, 5, "path"),
    (FieldSlot::Path, 6, "documenturi"),
    (FieldSlot::Path, 7, "resourcepath"),
    (FieldSlot::Path, 8, "routekey"),
    (FieldSlot::Query, 1, "requestquery"),
    (
        FieldSlot::Query,
        2,
        "querystring args urlquery csuriquery requestquerystring clientrequestquery uriquery requestargs",
    ),
    (FieldSlot::Query, 3, "uriparam"),
    (FieldSlot::Query, LOW_CONFIDENCE, "query"),
    (
        FieldSlot::Protocol,
        1,
        "serverprotocol requestprotocol clientrequestprotocol csprotocolversion httpversion requestproto",
    ),
    (
        FieldSlot::Protocol,
        2,
        "requesthttpversion httpprotocol requesthttpprotocol",
    ),
    (FieldSlot::Protocol, LOW_CONFIDENCE, "protocol proto"),
    (
        FieldSlot::Status,
        1,
        "downstreamstatus edgeresponsestatus elbstatuscode scstatus httpresponsestatuscode",
    ),
    (
        FieldSlot::Status,
        2,
        "statuscode httpstatus httpstatuscode responsestatus responsecode responsestatuscode httpcode respstatus",
    ),
    (FieldSlot::Status, 3, "responsecodesent"),
    (FieldSlot::Status, LOW_CONFIDENCE, "status"),
    (FieldSlot::Status, 6, "targetstatuscode"),
    (FieldSlot::Status, 7, "code"),
    (
        FieldSlot::Bytes,
        1,
        "bodybytessent downstreamcontentsize edgeresponsebytes scbytes httpresponsebodybytes",
    ),
    (
        FieldSlot::Bytes,
        2,
        "bytessent sentbytes responsesize responselength responsebytes responsebodysize bytesout byteswritten writtenbytes",
    ),
    (
        FieldSlot::Bytes,
        3,
        "bodysent bodybytes respsize respbytes bytesbodysent responsecontentlength rescontentlength",
    ),
    (FieldSlot::Bytes, LOW_CONFIDENCE, "bytes size"),
    (FieldSlot::Bytes, 5, "contentlength length"),
    (FieldSlot::Bytes, 2, "haproxybytesread"),
    (
        FieldSlot::Referer,
        1,
        "httpreferer httpreferrer csreferer clientrequestreferer requestreferer requestreferrer httprequestreferrer",
    ),
    (FieldSlot::Referer, 3, "referer referrer"),
    (
        FieldSlot::UserAgent,
        1,
        "httpuseragent csuseragent clientrequestuseragent requestuseragent useragentoriginal",
    ),
    (FieldSlot::UserAgent, 2, "useragent"),
    (FieldSlot::UserAgent, LOW_CONFIDENCE, "agent ua"),
    (
        FieldSlot::User,
        1,
        "remoteuser clientusername csusername authuser authenticateduser useridentity remoteusername",
    ),
    (
        FieldSlot::User,
        2,
        "username httpauthuser requestuser clientuser",
    ),
    (FieldSlot::User, LOW_CONFIDENCE, "user userid"),
    (
        FieldSlot::Forwarded,
        1,
        "xforwardedfor httpxforwardedfor proxyaddxforwardedfor requestxforwardedfor",
    ),
    (FieldSlot::Forwarded, 2, "forwardedfor xff httpxff"),
    (FieldSlot::Forwarded, 3, "xrealip httpxrealip realip"),
    // The name of the server that the proxy passed the request to.
    (FieldSlot::Unused, 0, "haproxyservername"),
];

/// Keys in an object of the request, in addition to those above.
const REQUEST: &Names = &[
    (FieldSlot::Client, 1, "clientip"),
    (FieldSlot::Client, 2, "remoteip remoteaddr remoteaddress"),
    (FieldSlot::Client, 3, "ip"),
    (FieldSlot::Host, 1, "host"),
    (FieldSlot::Host, 3, "hostname"),
    (FieldSlot::Request, 1, "line firstline"),
    (FieldSlot::Sent, 1, "uri originalurl"),
    (FieldSlot::Sent, 2, "url"),
    // More specific than one outside of the request, which may lack the query.
    (FieldSlot::Path, LOW_CONFIDENCE, "path"),
    (FieldSlot::Protocol, 2, "proto protocol"),
    (FieldSlot::Protocol, 3, "version"),
    // The size of the request.
    (
        FieldSlot::Unused,
        0,
        "bytes size length contentlength bodybytes requestsize",
    ),
];

/// Keys in an object of the response.
const RESPONSE: &Names = &[
    (FieldSlot::Status, 2, "status statuscode httpstatus code"),
    (
        FieldSlot::Bytes,
        2,
        "bytes size length bodysize bodybytes bytessent responsesize",
    ),
    (FieldSlot::Bytes, 3, "contentlength"),
];

/// Header names of the request.
const HEADERS: &Names = &[
    (FieldSlot::UserAgent, 3, "useragent"),
    (FieldSlot::Referer, LOW_CONFIDENCE, "referer referrer"),
    (FieldSlot::Host, 6, "host authority"),
    (FieldSlot::Forwarded, 1, "xforwardedfor"),
];

/// Keys in an object of the URL.
const URL: &Names = &[
    (FieldSlot::Target, 1, "original full"),
    (FieldSlot::Path, 1, "path"),
    (FieldSlot::Query, 2, "query"),
    (FieldSlot::Host, 3, "domain host hostname"),
];

/// Keys in an object of the client.
const PEER: &Names = &[(FieldSlot::Client, 3, "ip address addr remoteip")];

/// Keys in an object of the user agent.
const AGENT: &Names = &[(FieldSlot::UserAgent, 1, "original raw string")];

/// Keys in an object of the user.
const USER: &Names = &[(FieldSlot::User, 3, "name id")];

/// Keys of objects, and the kind of the object, in addition to those of [`kind_by_word`]. Objects
/// that the client or server internals fill are closed; other objects are unknown.
const OBJECTS: &[(ObjectKind, &str)] = &[
    (
        ObjectKind::Anywhere,
        "nginx apache access accesslog fields nginxfields data jsonpayload properties network event log record",
    ),
    (
        ObjectKind::Anywhere,
        "details context httplog state requestcontext",
    ),
    (ObjectKind::Http, "http"),
    (
        ObjectKind::Request,
        "request req httprequest clientrequest proxy",
    ),
    (ObjectKind::Response, "response res resp httpresponse"),
    (ObjectKind::Url, "url uri"),
    (
        ObjectKind::Peer,
        "client source remote clientinfo peer identity",
    ),
    (ObjectKind::Agent, "useragent agent"),
    (ObjectKind::User, "user"),
    (ObjectKind::Connection, "connection socket info"),
    (ObjectKind::Body, "body"),
    (
        ObjectKind::Closed,
        "args requestbody form session tls ssl server upstream destination backend origin target geo geoip",
    ),
    (
        ObjectKind::Closed,
        "labels tags error err exception host service container kubernetes",
    ),
    (
        ObjectKind::Closed,
        "docker process cloud file input fileset observer latencies timings metrics",
    ),
];

/// Products that write their names before those of their own fields: `haproxy_clientIP`,
/// `nginx_remote_addr`.
const PRODUCTS: &[&str] = &[
    "haproxy", "nginx", "apache", "httpd", "envoy", "traefik", "caddy",
];

/// Prefixes of header names among other keys: `request_header_user_agent`.
const HEADER_PREFIXES: &[&str] = &[
    "requestheaders",
    "requestheader",
    "reqheaders",
    "reqheader",
    "headers",
    "header",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(path: &[&str], key: &str) -> (FieldSlot, u8) {
        let roles = KeyRoles::new(&[]);
        let mut context = ObjectKind::Anywhere;
        let mut above = Vec::new();
        for name in path {
            context = roles.role(context, &above, false, name.as_bytes()).within;
            above.push(name.as_bytes());
        }
        let role = roles.role(context, &above, false, key.as_bytes());
        (role.slot, role.rank)
    }

    #[test]
    fn key_names_are_normalized() {
        for key in [
            "remote_addr",
            "remoteAddr",
            "RemoteAddr",
            "$remote_addr",
            "remote-addr",
            "REMOTE_ADDR",
        ] {
            assert_eq!(slot(&[], key), (FieldSlot::Client, 1), "{key}");
        }
        for (key, expected) in [
            ("cs(User-Agent)", FieldSlot::UserAgent),
            (":authority", FieldSlot::Host),
            ("@timestamp", FieldSlot::Time),
            ("http.request.method", FieldSlot::Method),
            ("request_header_User-Agent", FieldSlot::UserAgent),
            ("http_x_forwarded_for", FieldSlot::Forwarded),
            ("http_client_ip", FieldSlot::Unused),
            ("remote_user", FieldSlot::User),
            ("haproxy_clientIP", FieldSlot::Client),
            ("haproxy_bytesRead", FieldSlot::Bytes),
            ("haproxy_serverName", FieldSlot::Unused),
            ("nginx_remote_addr", FieldSlot::Client),
            ("mysql_remote_addr", FieldSlot::Unused),
            ("upstream_status", FieldSlot::Unused),
            (r"ip\u0070", FieldSlot::Unused),
            ("ipü", FieldSlot::Unused),
            ("res.headers.Host", FieldSlot::Unused),
            ("", FieldSlot::Unused),
            (&"x".repeat(1000), FieldSlot::Unused),
        ] {
            assert_eq!(slot(&[], key).0, expected, "{key}");
        }
    }

    #[test]
    fn the_object_determines_the_role() {
        for (path, key, expected) in [
            (&["request"][..], "remote_ip", FieldSlot::Client),
            (&["request", "headers"], "User-Agent", FieldSlot::UserAgent),
            (&["request", "headers"], "remote_ip", FieldSlot::Unused),
            (&["request"], "size", FieldSlot::Unused),
            (&["response"], "size", FieldSlot::Bytes),
            (&["response", "headers"], "status", FieldSlot::Unused),
            (&["http", "request"], "method", FieldSlot::Method),
            (&["http", "response", "body"], "bytes", FieldSlot::Bytes),
            (&["http", "response", "query"], "status", FieldSlot::Unused),
            (
                &["http", "response", "x", "params"],
                "status",
                FieldSlot::Unused,
            ),
            (&["http"], "version", FieldSlot::Protocol),
            (&["user_agent"], "original", FieldSlot::UserAgent),
            (&["user"], "name", FieldSlot::User),
            (&["user"], "ip", FieldSlot::Unused),
            (&["latencies"], "request", FieldSlot::Unused),
            (
                &["request", "headers"],
                "X-Forwarded-For",
                FieldSlot::Forwarded,
            ),
            (
                &["response", "headers"],
                "X-Forwarded-For",
                FieldSlot::Unused,
            ),
            (&["source"], "ip", FieldSlot::Client),
            (&["destination"], "ip", FieldSlot::Unused),
            (&["req", "query"], "remote_addr", FieldSlot::Unused),
            (&["body"], "request_uri", FieldSlot::Unused),
            (&["log", "file"], "path", FieldSlot::Unused),
            (&["whatever"], "path", FieldSlot::Unused),
            (&["whatever"], "request_uri", FieldSlot::Target),
            (&["whatever", "request"], "uri", FieldSlot::Sent),
        ] {
            assert_eq!(slot(path, key).0, expected, "{path:?} {key}");
        }
    }

    #[test]
    fn configured_fields_are_preferred() {
        let user_fields = [
            (FieldKind::Client, "a.b".to_owned()),
            (FieldKind::Target, "x.y.z".to_owned()),
            (FieldKind::Host, "body.h".to_owned()),
        ];
        let roles = KeyRoles::new(&user_fields);
        let of = |context, path: &[&[u8]], key: &str| {
            let role = roles.role(context, path, true, key.as_bytes());
            (role.slot, role.rank)
        };
        assert_eq!(of(ObjectKind::Anywhere, &[], "a.b"), (FieldSlot::Client, 0));
        assert_eq!(
            of(ObjectKind::Unknown, &[b"a"], "b"),
            (FieldSlot::Client, 0)
        );
        assert_eq!(
            of(ObjectKind::Unknown, &[b"x", b"y"], "z"),
            (FieldSlot::Target, 0)
        );
        assert_eq!(
            of(ObjectKind::Unknown, &[b"x.y"], "z"),
            (FieldSlot::Target, 0)
        );
        assert_eq!(
            of(ObjectKind::Closed, &[b"body"], "h"),
            (FieldSlot::Host, 0)
        );
        assert_eq!(of(ObjectKind::Anywhere, &[], "b").0, FieldSlot::Unused);
        assert_ne!(roles.fingerprint(), KeyRoles::new(&[]).fingerprint());
    }

    #[test]
    fn no_name_is_listed_twice() {
        let roles = KeyRoles::new(&[]);
        let lists = [ANYWHERE, REQUEST, RESPONSE, HEADERS, URL, PEER, AGENT, USER];
        let words = lists
            .iter()
            .flat_map(|list| list.iter())
            .map(|(_, _, names)| names.split(' ').count());
        assert_eq!(roles.names.len(), words.sum::<usize>());
        let words = OBJECTS.iter().map(|(_, names)| names.split(' ').count());
        assert_eq!(roles.objects.len(), words.sum::<usize>());
        for name in roles
            .names
            .keys()
            .map(|(_, name)| name)
            .chain(roles.objects.keys())
        {
            assert_eq!(
                normalized_name(name.as_bytes(), &mut [0; MAX_NAME]),
                Some(*name)
            );
        }
    }
}
