//! What servers, proxies and people call the fields of an access log in JSON.
//!
//! Data only. Names are in lower case, without anything but letters and digits: `remote_addr`, `remoteAddr` and `$remote_addr` are
//! one. Within a kind they have ranks: of two fields the lower rank is believed, of equals the first. From [`LOW_CONFIDENCE`] on a name says
//! too little to be believed within an object of which nothing is known. Headers that a client may write itself (`X-Forwarded-For`,
//! `X-Real-IP`, `Client-IP`) are no clients.
//!
//! Sources: nginx, variables of `ngx_http_core_module` and `ngx_http_log_module`; Caddy, docs/logging and docs/caddyfile/directives/log;
//! Traefik, observability/access-logs; Envoy and Istio, `configuration/observability/access_log`; Google Cloud, `LogEntry` and `HttpRequest`;
//! AWS, API Gateway `$context` variables, `CloudFront` standard logging, WAF log fields, Application Load Balancer access logs;
//! Azure Application Gateway and Front Door, access logs; Cloudflare Logpush, HTTP requests; Fastly, custom log formats; Kong,
//! file-log; Elastic Common Schema; OpenTelemetry, HTTP attributes; pino-http; morgan; Echo; Tomcat, `JsonAccessLogValve`.

use super::role::{JsonField, ObjectKind};

/// The first rank of names that are not believed everywhere.
pub(super) const LOW_CONFIDENCE: u8 = 4;

type Names = [(JsonField, u8, &'static str)];

/// Names at the top of a line, and within objects that only group fields.
pub(super) const ANYWHERE: &Names = &[
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
    (JsonField::Host, LOW_CONFIDENCE, "host domain"),
    (JsonField::Host, 5, "servername site"),
    (JsonField::Time, 1, "startutc timelocal timeiso8601 requesttimestamp edgestarttimestamp starttime"),
    (JsonField::Time, 2, "timestamp datetime startlocal eventtime accesstime startedat requestreceived"),
    (JsonField::Time, 3, "msec requesttime requesttimeepoch logtime localtime asctime receivedat"),
    (JsonField::Time, LOW_CONFIDENCE, "time ts date"),
    (JsonField::Time, 5, "receivetimestamp edgeendtimestamp"),
    (JsonField::Request, 1, "requestline httprequestline"),
    (JsonField::Request, 2, "request httprequest"),
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
    (JsonField::Path, 3, "uri"),
    (JsonField::Path, LOW_CONFIDENCE, "url"),
    (JsonField::Path, 5, "path"),
    (JsonField::Path, 6, "documenturi"),
    (JsonField::Path, 7, "resourcepath"),
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
    (JsonField::Bytes, 1, "bodybytessent downstreamcontentsize edgeresponsebytes scbytes httpresponsebodybytes"),
    (JsonField::Bytes, 2, "bytessent sentbytes responsesize responselength responsebytes responsebodysize bytesout byteswritten"),
    (JsonField::Bytes, 3, "bodysent bodybytes respsize respbytes bytesbodysent responsecontentlength rescontentlength"),
    (JsonField::Bytes, LOW_CONFIDENCE, "bytes size"),
    (JsonField::Bytes, 5, "contentlength length"),
    (JsonField::Referer, 1, "httpreferer httpreferrer csreferer clientrequestreferer requestreferer requestreferrer httprequestreferrer"),
    (JsonField::Referer, 3, "referer referrer"),
    (JsonField::UserAgent, 1, "httpuseragent csuseragent clientrequestuseragent requestuseragent useragentoriginal"),
    (JsonField::UserAgent, 2, "useragent"),
    (JsonField::UserAgent, LOW_CONFIDENCE, "agent ua"),
];

/// Names within an object that is the request; else those that stand anywhere.
pub(super) const REQUEST: &Names = &[
    (JsonField::Client, 1, "clientip"),
    (JsonField::Client, 2, "remoteip remoteaddr remoteaddress"),
    (JsonField::Client, 3, "ip"),
    (JsonField::Host, 1, "host"),
    (JsonField::Host, 3, "hostname"),
    (JsonField::Request, 1, "line firstline"),
    (JsonField::Sent, 1, "uri originalurl"),
    (JsonField::Sent, 2, "url"),
    (JsonField::Protocol, 2, "proto protocol"),
    (JsonField::Protocol, 3, "version"),
    // How large the request was.
    (JsonField::None, 0, "bytes size length contentlength bodybytes requestsize"),
];

/// Names within an object that is the response.
pub(super) const RESPONSE: &Names = &[
    (JsonField::Status, 2, "status statuscode httpstatus code"),
    (JsonField::Bytes, 2, "bytes size length bodysize bodybytes bytessent responsesize"),
    (JsonField::Bytes, 3, "contentlength"),
];

/// Names of headers of the request.
pub(super) const HEADERS: &Names = &[
    (JsonField::UserAgent, 3, "useragent"),
    (JsonField::Referer, LOW_CONFIDENCE, "referer referrer"),
    (JsonField::Host, 6, "host authority"),
];

/// Names within an object that is the address asked for.
pub(super) const URL: &Names = &[
    (JsonField::Target, 1, "original full"),
    (JsonField::Path, 1, "path"),
    (JsonField::Query, 2, "query"),
    (JsonField::Host, 3, "domain host hostname"),
];

/// Names within an object that is the client.
pub(super) const PEER: &Names = &[(JsonField::Client, 3, "ip address addr remoteip")];

/// Names within an object that is the client's program.
pub(super) const AGENT: &Names = &[(JsonField::UserAgent, 1, "original raw string")];

/// Names of objects and what is within them. What a client or the server's inside fills is closed; of others nothing is known.
pub(super) const OBJECTS: &[(ObjectKind, &str)] = &[
    (ObjectKind::Anywhere, "nginx apache access accesslog fields nginxfields data jsonpayload properties network event log record"),
    (ObjectKind::Anywhere, "details context httplog"),
    (ObjectKind::Http, "http"),
    (ObjectKind::Request, "request req httprequest clientrequest"),
    (ObjectKind::Response, "response res resp httpresponse"),
    (ObjectKind::Headers, "headers header requestheaders reqheaders httpheaders"),
    (ObjectKind::Url, "url uri"),
    (ObjectKind::Peer, "client source remote clientinfo peer identity"),
    (ObjectKind::Agent, "useragent agent"),
    (ObjectKind::Closed, "query querystring queryparams queryparameters querystringparameters params parameters args body requestbody"),
    (ObjectKind::Closed, "cookies cookie form session user tls ssl server upstream destination backend origin target geo geoip"),
    (ObjectKind::Closed, "responseheaders respheaders resheaders labels tags error err exception host service container kubernetes"),
    (ObjectKind::Closed, "docker process cloud file input fileset observer"),
];

/// What a header's name begins with where it stands among the other fields: `request_header_user_agent`.
pub(super) const HEADER_PREFIXES: &[&str] = &["requestheaders", "requestheader", "reqheaders", "reqheader", "headers", "header"];
