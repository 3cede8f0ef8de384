//! The keys of a JSON line: which field a key is, decided by its name and the object that contains it.
//!
//! Lookups are slow and pure, so [`KeyCache`] stores the keys of the last line and their roles: a server writes the same keys in
//! the same order, and most keys need no lookup. The cache affects only the speed, never the result.
//!
//! Names are normalized to lower-case letters and digits: `remote_addr`, `remoteAddr` and `$remote_addr` are equal. Of several
//! keys for one field, the lowest rank is used; of equal ranks, and of a key that is written twice, the first. Only the client is
//! unknown if two keys of the best rank have different addresses. Names from [`LOW_CONFIDENCE`] on are too vague to be used in
//! unknown objects. Headers that clients can send (`X-Forwarded-For`, `X-Real-IP`, `Client-IP`) are never the client address.
//!
//! A client chooses the names of its headers, parameters and cookies, and so some keys. A key that names a header, as Traefik's
//! `request_Uri` or `req.headers.Uri`, is only the agent, the referer, the host or the forwarded client, as are the members of
//! `headers`; the members of queries, parameters and cookies are nothing. A request has no members of unknown objects, which may be
//! what the client sent. The forwarded client is in the header with exactly its name: `X--Forwarded-For` is another one. Keys in
//! the payload of an envelope ([`ENVELOPES`]) are used only if the envelope itself has no request.
//!
//! Sources: nginx, variables of `ngx_http_core_module` and `ngx_http_log_module`; Caddy, docs/logging and
//! docs/caddyfile/directives/log; Traefik, observability/access-logs; Envoy and Istio, `configuration/observability/access_log`;
//! Google Cloud, `LogEntry` and `HttpRequest`; AWS, API Gateway `$context` variables, `CloudFront` standard logging, WAF log
//! fields, Application Load Balancer access logs; Azure Application Gateway and Front Door, access logs; Cloudflare Logpush, HTTP
//! requests; Fastly, custom log formats; Kong, file-log; Elastic Common Schema; OpenTelemetry, HTTP attributes; pino-http;
//! morgan; Echo; Tomcat, `JsonAccessLogValve`.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::tokenizer::MemberName;
use crate::formats::FieldKind;

/// The field of a value.
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
    /// The target exactly as the client sent it.
    Sent,
    /// Path and query, or an absolute URL.
    Target,
    /// The path; the query may follow or be a separate field.
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referer,
    UserAgent,
    User,
    /// The header of proxies with the addresses of clients, which is only used where no client is logged.
    Forwarded,
    None,
}

/// The number of fields.
pub(super) const SLOTS: usize = JsonField::None as usize;

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
    /// Unknown: only specific key names are used.
    Unknown,
    /// Closed: nothing in it is used.
    Closed,
    /// A body: of a response its size is used, of anything else nothing. Only the kind of a key.
    Body,
}

/// The role of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyRole {
    pub slot: JsonField,
    /// Lower ranks are preferred; 0 if configured by the user.
    pub rank: u8,
    /// The kind of the object under this key.
    pub within: ObjectKind,
    /// Whether it is the field of the forwarded client.
    pub forwarded: bool,
}

impl KeyRole {
    pub(super) const NOTHING: Self = Self { slot: JsonField::None, rank: u8::MAX, within: ObjectKind::Closed, forwarded: false };
}

/// All known roles.
#[derive(Debug, Clone)]
pub(super) struct KeyRoles {
    names: HashMap<(ObjectKind, &'static str), (JsonField, u8)>,
    objects: HashMap<&'static str, ObjectKind>,
    /// The configured fields, with their dotted paths.
    user_fields: Vec<(JsonField, String)>,
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
            list.iter().flat_map(move |(slot, rank, names)| names.split(' ').map(move |name| ((*context, name), (*slot, *rank))))
        });
        let objects = OBJECTS.iter().flat_map(|(context, names)| names.split(' ').map(move |name| (name, *context)));
        let user_fields = user_fields.iter().map(|(kind, path)| (JsonField::from_kind(kind), path.clone()));
        let user_fields: Vec<_> = user_fields.filter(|(slot, _)| *slot != JsonField::None).collect();
        let mut roles = Self { names: names.collect(), objects: objects.collect(), user_fields, forwarded: None, fingerprint: 0 };
        roles.update_fingerprint();
        roles
    }

    /// Also recognizes the field of the forwarded client, by its name or by one of the paths.
    pub(super) fn set_forwarded(&mut self, name: &str, mut paths: Vec<String>) {
        paths.push(name.to_owned());
        self.forwarded = Some((normalized_name(name.as_bytes(), &mut [0; MAX_NAME]).unwrap_or_default().to_owned(), paths));
        self.update_fingerprint();
    }

    /// Identifies a set of roles; sets with different answers have different fingerprints.
    pub(super) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn update_fingerprint(&mut self) {
        self.fingerprint = xxh3_64(format!("{:?} {:?}", self.user_fields, self.forwarded).as_bytes());
    }

    /// The role of `key` in an object of kind `context` at `path`.
    pub(super) fn role(&self, context: ObjectKind, path: &[&[u8]], key: &[u8]) -> KeyRole {
        let mut buffers = [0; MAX_NAME];
        let (kind, member) = member_of_dotted(context, key);
        let name = normalized_name(member, &mut buffers);
        let mut role =
            name.map_or(KeyRole { within: object_kind(kind, None), ..KeyRole::NOTHING }, |name| self.by_key(kind, path, member, name));
        if let Some((slot, _)) = self.user_fields.iter().find(|(_, user_fields)| is_path(user_fields.as_bytes(), path, key)) {
            (role.slot, role.rank) = (*slot, 0);
        }
        role.forwarded = self.is_forwarded(kind, path, key, name.unwrap_or_default());
        role
    }

    /// The role of a key by its name, which may be that of a header or of a member of an envelope.
    fn by_key(&self, context: ObjectKind, path: &[&[u8]], key: &[u8], name: &str) -> KeyRole {
        let mut role = self.by_name(context, name);
        if role.slot == JsonField::Forwarded && context == ObjectKind::Headers && !key.eq_ignore_ascii_case(b"x-forwarded-for") {
            role.slot = JsonField::None;
        }
        if header_of_key(key).is_some() {
            let is_of_headers = matches!(role.slot, JsonField::UserAgent | JsonField::Referer | JsonField::Host);
            role = KeyRole { slot: if is_of_headers { role.slot } else { JsonField::None }, within: ObjectKind::Closed, ..role };
        }
        if path.iter().any(|above| normalized_name(above, &mut [0; MAX_NAME]).is_some_and(|above| ENVELOPES.contains(&above))) {
            role.rank = role.rank.saturating_add(IN_ENVELOPE);
        }
        role
    }

    fn by_name(&self, context: ObjectKind, name: &str) -> KeyRole {
        let within = object_kind(context, self.objects.get(name).copied().or_else(|| kind_by_word(name)));
        let (slot, rank) = self.slot(context, name).unwrap_or((JsonField::None, 0));
        KeyRole { slot, rank, within, forwarded: false }
    }

    fn slot(&self, context: ObjectKind, name: &str) -> Option<(JsonField, u8)> {
        let get = |context, name| self.names.get(&(context, name)).copied();
        match context {
            ObjectKind::Anywhere => get(ObjectKind::Anywhere, name).or_else(|| {
                let within = |prefixes: &[&str]| prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
                within(HEADER_PREFIXES)
                    .and_then(|header| get(ObjectKind::Headers, header))
                    .or_else(|| within(PRODUCTS).and_then(|name| get(ObjectKind::Anywhere, name)))
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
        let is_header = |header: &[u8]| paths.last().is_some_and(|name| header.eq_ignore_ascii_case(name.as_bytes()));
        let named = || match context {
            ObjectKind::Closed => false,
            ObjectKind::Headers => is_header(member_of_dotted(context, key).1),
            _ if let Some(header) = header_of_key(key) => is_header(header),
            _ => normalized_name == name || HEADER_NAME_PREFIXES.iter().any(|prefix| normalized_name.strip_prefix(prefix) == Some(name)),
        };
        paths.iter().any(|user_fields| is_path(user_fields.as_bytes(), path, key)) || (!name.is_empty() && named())
    }
}

/// Objects with what an application logged, in the record of a proxy: Google Cloud.
const ENVELOPES: [&str; 1] = ["jsonpayload"];

/// Added to the rank of a key in an envelope; greater than all other ranks.
pub(super) const IN_ENVELOPE: u8 = 16;

/// The header of the request or the response that a key names, as Traefik and CGI write it: `request_User-Agent`,
/// `HTTP_USER_AGENT`. Go writes a letter that begins a word of a header in upper case and the others in lower case, so
/// `request_method` and `request_URI` name no header, and `request__uri` names `_uri`.
fn header_of_key(key: &[u8]) -> Option<&[u8]> {
    let of_cgi = key.strip_prefix(b"HTTP_").filter(|header| !header.iter().any(u8::is_ascii_lowercase));
    of_cgi.or_else(|| {
        let header = [&b"request_"[..], b"downstream_", b"origin_"].iter().find_map(|prefix| key.strip_prefix(*prefix))?;
        let is_other = matches!(header, [] | [b'a'..=b'z', ..] | [b'A'..=b'Z', b'A'..=b'Z', ..]);
        (!is_other).then_some(header)
    })
}

/// The kind of object that a dotted key names, and the key in it, if clients choose the keys of such objects:
/// `Headers` and `Uri` of `req.headers.Uri`. Otherwise `context` and the whole key.
fn member_of_dotted(context: ObjectKind, key: &[u8]) -> (ObjectKind, &[u8]) {
    let dots = memchr::memchr_iter(b'.', key);
    let starts = std::iter::once(0).chain(dots.clone().map(|dot| dot + 1));
    let mut kinds = starts.zip(dots).filter_map(|(start, dot)| {
        let kind = kind_by_word(normalized_name(&key[start..dot], &mut [0; MAX_NAME])?)?;
        Some((object_kind(context, Some(kind)), &key[dot + 1..]))
    });
    kinds.next().unwrap_or((context, key))
}

/// The kind of an object in which clients choose the keys, by the word in its name that says so: `multiValueHeaders`,
/// `pathParameters`. Of a response, nothing is used.
fn kind_by_word(name: &str) -> Option<ObjectKind> {
    let has = |word: &str| name.contains(word);
    if has("header") || has("trailer") {
        return Some(if name.starts_with("res") { ObjectKind::Closed } else { ObjectKind::Headers });
    }
    ["cookie", "query", "param"].into_iter().any(has).then_some(ObjectKind::Closed)
}

/// Prefixes that nginx, Traefik and others write before header names.
const HEADER_NAME_PREFIXES: [&str; 4] = ["http", "request", "requestheader", "header"];

/// The kind of an object within one of kind `context`, by the kind that its key has; `None` for an unknown key.
fn object_kind(context: ObjectKind, named: Option<ObjectKind>) -> ObjectKind {
    match (context, named) {
        // In a request, what the client sent may be in `data` or in any other object.
        (ObjectKind::Closed | ObjectKind::Headers, _)
        | (ObjectKind::Response, Some(ObjectKind::Headers | ObjectKind::Closed))
        | (ObjectKind::Request, None | Some(ObjectKind::Anywhere)) => ObjectKind::Closed,
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
    for byte in key.iter().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii() || **b == b'\\') {
        *buffers.get_mut(length).filter(|_| byte.is_ascii_alphanumeric())? = byte.to_ascii_lowercase();
        length += 1;
    }
    std::str::from_utf8(&buffers[..length]).ok()
}

/// Whether `key` in the objects `path` is the dotted path `user_fields`.
fn is_path(user_fields: &[u8], path: &[&[u8]], key: &[u8]) -> bool {
    let mut rest = user_fields;
    for name in path {
        let Some(after) = rest.strip_prefix(*name).and_then(|r| r.strip_prefix(b".")) else { return false };
        rest = after;
    }
    rest == key
}

impl JsonField {
    fn from_kind(kind: &FieldKind) -> Self {
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
            FieldKind::User => Self::User,
            FieldKind::Header(_) | FieldKind::Other => Self::None,
        }
    }

    /// The field kind.
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
            Self::User => FieldKind::User,
            Self::Forwarded => FieldKind::Header("x-forwarded-for".to_owned()),
            Self::None => FieldKind::Other,
        }
    }
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
        self.entries.get(self.next).map_or(b"", |entry| self.name(entry))
    }

    /// The role of `key` within `scope`, and the scope of its members. Keys that are not cached are looked up.
    #[inline]
    pub(super) fn role(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
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
    fn look_up_other(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
        if self.learning {
            return self.learn(scope, key, look_up);
        }
        let ahead = self.entries.iter().enumerate().skip(self.next).take(LOOK_AHEAD);
        let found = ahead.into_iter().find(|(_, entry)| entry.within == scope && self.name(entry) == key.name);
        if let Some((at, role)) = found.map(|(at, entry)| (at, entry.role)) {
            return self.hit(at, role);
        }
        self.misses += 1;
        (look_up(key.name), KeyScope::Elsewhere)
    }

    fn learn(&mut self, scope: KeyScope, key: MemberName<'_>, look_up: impl Fn(&[u8]) -> KeyRole) -> (KeyRole, KeyScope) {
        if key.name.is_empty() || key.name.len() > MAX_KEY_LEN || self.entries.len() == MAX_KEYS || scope == KeyScope::Elsewhere {
            return (look_up(key.name), KeyScope::Elsewhere);
        }
        let start = self.names.len();
        // The role is that of the copy: a memory-mapped file may change between two reads.
        self.names.extend_from_slice(key.name);
        let role = look_up(self.names.get(start..).unwrap_or_default());
        self.entries.push(KeyEntry { start: start as u32, end: self.names.len() as u32, within: scope, role });
        self.hit(self.entries.len() - 1, role)
    }

    #[inline]
    fn name(&self, entry: &KeyEntry) -> &[u8] {
        self.names.get(entry.start as usize..entry.end as usize).unwrap_or_default()
    }
}

/// The first rank that is not used everywhere.
const LOW_CONFIDENCE: u8 = 4;

type Names = [(JsonField, u8, &'static str)];

/// The rank of `host`, which is `%h` in logs that were converted from the Common Log Format.
pub(super) const REMOTE_HOST: u8 = LOW_CONFIDENCE;

/// Keys at the top level and in objects that only group fields.
const ANYWHERE: &Names = &[
    (JsonField::Client, 1, "remoteaddr remoteip remoteaddress clienthost cip downstreamremoteaddresswithoutport"),
    (JsonField::Client, 2, "clientip clientaddr clientaddress remotehost downstreamremoteaddress sourceip sourceaddress srcip"),
    (JsonField::Client, 3, "requestclientip requestremoteip requestremoteaddr httprequestremoteip httprequestclientip identitysourceip"),
    (
        JsonField::Client,
        3,
        "downstreamdirectremoteaddress netpeerip netsockpeeraddr peeraddr peeraddress networkclientip viewerip visitorip",
    ),
    (JsonField::Client, LOW_CONFIDENCE, "ip client ipaddress ipaddr remote peer"),
    (JsonField::Host, 1, "requesthost xhostheader clientrequesthost authority requestauthority requesthostname"),
    (JsonField::Host, 2, "httphost cshost httprequesthost"),
    (JsonField::Host, 3, "vhost virtualhost urldomain originalhost domainname"),
    (JsonField::Host, REMOTE_HOST, "host"),
    (JsonField::Host, 5, "servername site domain"),
    (JsonField::Time, 1, "startutc timelocal timeiso8601 requesttimestamp edgestarttimestamp starttime"),
    (JsonField::Time, 2, "timestamp datetime startlocal eventtime accesstime startedat requestreceived"),
    (JsonField::Time, 3, "msec requesttime requesttimeepoch logtime localtime asctime receivedat"),
    (JsonField::Time, LOW_CONFIDENCE, "time ts date"),
    (JsonField::Time, 5, "receivetimestamp edgeendtimestamp t"),
    (JsonField::Request, 1, "requestline httprequestline"),
    (JsonField::Request, 2, "request httprequest"),
    (JsonField::Request, 3, "requestedurl"),
    (JsonField::Method, 1, "requestmethod httpmethod clientrequestmethod csmethod requestverb requesthttpverb httprequestmethod"),
    (JsonField::Method, 3, "verb httpverb"),
    (JsonField::Method, LOW_CONFIDENCE, "method"),
    (
        JsonField::Target,
        1,
        "requesturi requesturl originalurl originaluri requesttarget clientrequesturi xenvoyoriginpath xenvoyoriginalpath",
    ),
    (JsonField::Target, 1, "httptarget httpurl urloriginal urlfull fullurl csuri httprequesturl httprequesturi"),
    (JsonField::Path, 1, "requestpath clientrequestpath csuristem urlpath httppath httprequestpath requesturipath"),
    (JsonField::Path, 3, "uri requesteduri"),
    (JsonField::Path, LOW_CONFIDENCE, "url"),
    (JsonField::Path, 5, "path"),
    (JsonField::Path, 6, "documenturi"),
    (JsonField::Path, 7, "resourcepath"),
    (JsonField::Path, 8, "routekey"),
    (JsonField::Query, 1, "requestquery"),
    (JsonField::Query, 2, "querystring args urlquery csuriquery requestquerystring clientrequestquery uriquery requestargs"),
    (JsonField::Query, 3, "uriparam"),
    (JsonField::Query, LOW_CONFIDENCE, "query"),
    (JsonField::Protocol, 1, "serverprotocol requestprotocol clientrequestprotocol csprotocolversion httpversion requestproto"),
    (JsonField::Protocol, 2, "requesthttpversion httpprotocol requesthttpprotocol"),
    (JsonField::Protocol, LOW_CONFIDENCE, "protocol proto"),
    (JsonField::Status, 1, "downstreamstatus edgeresponsestatus elbstatuscode scstatus httpresponsestatuscode"),
    (JsonField::Status, 2, "statuscode httpstatus httpstatuscode responsestatus responsecode responsestatuscode httpcode respstatus"),
    (JsonField::Status, 3, "responsecodesent"),
    (JsonField::Status, LOW_CONFIDENCE, "status"),
    (JsonField::Status, 6, "targetstatuscode"),
    (JsonField::Status, 7, "code"),
    (JsonField::Bytes, 1, "bodybytessent downstreamcontentsize edgeresponsebytes scbytes httpresponsebodybytes"),
    (
        JsonField::Bytes,
        2,
        "bytessent sentbytes responsesize responselength responsebytes responsebodysize bytesout byteswritten writtenbytes",
    ),
    (JsonField::Bytes, 3, "bodysent bodybytes respsize respbytes bytesbodysent responsecontentlength rescontentlength"),
    (JsonField::Bytes, LOW_CONFIDENCE, "bytes size"),
    (JsonField::Bytes, 5, "contentlength length"),
    (JsonField::Bytes, 2, "haproxybytesread"),
    (JsonField::Referer, 1, "httpreferer httpreferrer csreferer clientrequestreferer requestreferer requestreferrer httprequestreferrer"),
    (JsonField::Referer, 3, "referer referrer"),
    (JsonField::UserAgent, 1, "httpuseragent csuseragent clientrequestuseragent requestuseragent useragentoriginal"),
    (JsonField::UserAgent, 2, "useragent"),
    (JsonField::UserAgent, LOW_CONFIDENCE, "agent ua"),
    (JsonField::User, 1, "remoteuser clientusername csusername authuser authenticateduser useridentity remoteusername"),
    (JsonField::User, 2, "username httpauthuser requestuser clientuser"),
    (JsonField::User, LOW_CONFIDENCE, "user userid"),
    (JsonField::Forwarded, 1, "xforwardedfor httpxforwardedfor proxyaddxforwardedfor requestxforwardedfor"),
    (JsonField::Forwarded, 2, "forwardedfor xff httpxff"),
    (JsonField::Forwarded, 3, "xrealip httpxrealip realip"),
    // The name of the server that the proxy passed the request to.
    (JsonField::None, 0, "haproxyservername"),
];

/// Keys in an object of the request, in addition to those above.
const REQUEST: &Names = &[
    (JsonField::Client, 1, "clientip"),
    (JsonField::Client, 2, "remoteip remoteaddr remoteaddress"),
    (JsonField::Client, 3, "ip"),
    (JsonField::Host, 1, "host"),
    (JsonField::Host, 3, "hostname"),
    (JsonField::Request, 1, "line firstline"),
    (JsonField::Sent, 1, "uri originalurl"),
    (JsonField::Sent, 2, "url"),
    // More specific than one outside of the request, which may lack the query.
    (JsonField::Path, LOW_CONFIDENCE, "path"),
    (JsonField::Protocol, 2, "proto protocol"),
    (JsonField::Protocol, 3, "version"),
    // The size of the request.
    (JsonField::None, 0, "bytes size length contentlength bodybytes requestsize"),
];

/// Keys in an object of the response.
const RESPONSE: &Names = &[
    (JsonField::Status, 2, "status statuscode httpstatus code"),
    (JsonField::Bytes, 2, "bytes size length bodysize bodybytes bytessent responsesize"),
    (JsonField::Bytes, 3, "contentlength"),
];

/// Header names of the request.
const HEADERS: &Names = &[
    (JsonField::UserAgent, 3, "useragent"),
    (JsonField::Referer, LOW_CONFIDENCE, "referer referrer"),
    (JsonField::Host, 6, "host authority"),
    (JsonField::Forwarded, 1, "xforwardedfor"),
];

/// Keys in an object of the URL.
const URL: &Names = &[
    (JsonField::Target, 1, "original full"),
    (JsonField::Path, 1, "path"),
    (JsonField::Query, 2, "query"),
    (JsonField::Host, 3, "domain host hostname"),
];

/// Keys in an object of the client.
const PEER: &Names = &[(JsonField::Client, 3, "ip address addr remoteip")];

/// Keys in an object of the user agent.
const AGENT: &Names = &[(JsonField::UserAgent, 1, "original raw string")];

/// Keys in an object of the user.
const USER: &Names = &[(JsonField::User, 3, "name id")];

/// Keys of objects, and the kind of the object, in addition to those of [`kind_by_word`]. Objects that the client or server
/// internals fill are closed; other objects are unknown.
const OBJECTS: &[(ObjectKind, &str)] = &[
    (ObjectKind::Anywhere, "nginx apache access accesslog fields nginxfields data jsonpayload properties network event log record"),
    (ObjectKind::Anywhere, "details context httplog state"),
    (ObjectKind::Http, "http"),
    (ObjectKind::Request, "request req httprequest clientrequest proxy"),
    (ObjectKind::Response, "response res resp httpresponse"),
    (ObjectKind::Url, "url uri"),
    (ObjectKind::Peer, "client source remote clientinfo peer identity"),
    (ObjectKind::Agent, "useragent agent"),
    (ObjectKind::User, "user"),
    // Objects of connections in a request, which a client does not fill.
    (ObjectKind::Unknown, "connection socket info"),
    (ObjectKind::Body, "body"),
    (ObjectKind::Closed, "args requestbody form session tls ssl server upstream destination backend origin target geo geoip"),
    (ObjectKind::Closed, "labels tags error err exception host service container kubernetes"),
    (ObjectKind::Closed, "docker process cloud file input fileset observer latencies timings metrics"),
];

/// Products that write their names before those of their own fields: `haproxy_clientIP`, `nginx_remote_addr`.
const PRODUCTS: &[&str] = &["haproxy", "nginx", "apache", "httpd", "envoy", "traefik", "caddy"];

/// Prefixes of header names among other keys: `request_header_user_agent`.
const HEADER_PREFIXES: &[&str] = &["requestheaders", "requestheader", "reqheaders", "reqheader", "headers", "header"];

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(path: &[&str], key: &str) -> (JsonField, u8) {
        let roles = KeyRoles::new(&[]);
        let mut context = ObjectKind::Anywhere;
        let mut above = Vec::new();
        for name in path {
            context = roles.role(context, &above, name.as_bytes()).within;
            above.push(name.as_bytes());
        }
        let role = roles.role(context, &above, key.as_bytes());
        (role.slot, role.rank)
    }

    #[test]
    fn key_names_are_normalized() {
        for key in ["remote_addr", "remoteAddr", "RemoteAddr", "$remote_addr", "remote-addr", "REMOTE_ADDR"] {
            assert_eq!(slot(&[], key), (JsonField::Client, 1), "{key}");
        }
        for (key, expected) in [
            ("cs(User-Agent)", JsonField::UserAgent),
            (":authority", JsonField::Host),
            ("@timestamp", JsonField::Time),
            ("http.request.method", JsonField::Method),
            ("request_header_User-Agent", JsonField::UserAgent),
            ("http_x_forwarded_for", JsonField::Forwarded),
            ("http_client_ip", JsonField::None),
            ("remote_user", JsonField::User),
            ("haproxy_clientIP", JsonField::Client),
            ("haproxy_bytesRead", JsonField::Bytes),
            ("haproxy_serverName", JsonField::None),
            ("nginx_remote_addr", JsonField::Client),
            ("mysql_remote_addr", JsonField::None),
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
    fn the_object_determines_the_role() {
        for (path, key, expected) in [
            (&["request"][..], "remote_ip", JsonField::Client),
            (&["request", "headers"], "User-Agent", JsonField::UserAgent),
            (&["request", "headers"], "remote_ip", JsonField::None),
            (&["request"], "size", JsonField::None),
            (&["response"], "size", JsonField::Bytes),
            (&["response", "headers"], "status", JsonField::None),
            (&["http", "request"], "method", JsonField::Method),
            (&["http", "response", "body"], "bytes", JsonField::Bytes),
            (&["http", "response", "query"], "status", JsonField::None),
            (&["http", "response", "x", "params"], "status", JsonField::None),
            (&["http"], "version", JsonField::Protocol),
            (&["user_agent"], "original", JsonField::UserAgent),
            (&["user"], "name", JsonField::User),
            (&["user"], "ip", JsonField::None),
            (&["latencies"], "request", JsonField::None),
            (&["request", "headers"], "X-Forwarded-For", JsonField::Forwarded),
            (&["response", "headers"], "X-Forwarded-For", JsonField::None),
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
    fn configured_fields_are_preferred() {
        let user_fields =
            [(FieldKind::Client, "a.b".to_owned()), (FieldKind::Target, "x.y.z".to_owned()), (FieldKind::Host, "body.h".to_owned())];
        let roles = KeyRoles::new(&user_fields);
        let of = |context, path: &[&[u8]], key: &str| {
            let role = roles.role(context, path, key.as_bytes());
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
    fn no_name_is_listed_twice() {
        let roles = KeyRoles::new(&[]);
        let lists = [ANYWHERE, REQUEST, RESPONSE, HEADERS, URL, PEER, AGENT, USER];
        let words = lists.iter().flat_map(|list| list.iter()).map(|(_, _, names)| names.split(' ').count());
        assert_eq!(roles.names.len(), words.sum::<usize>());
        let words = OBJECTS.iter().map(|(_, names)| names.split(' ').count());
        assert_eq!(roles.objects.len(), words.sum::<usize>());
        for name in roles.names.keys().map(|(_, name)| name).chain(roles.objects.keys()) {
            assert_eq!(normalized_name(name.as_bytes(), &mut [0; MAX_NAME]), Some(*name));
        }
    }
}
