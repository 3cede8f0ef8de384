//! What servers, proxies and people call the fields of an access log in JSON.
//!
//! Data only. Names are in lower case, without anything but letters and digits: `remote_addr`, `remoteAddr` and `$remote_addr` are
//! one. Within a meaning they have ranks: of two fields the lower rank is believed, of equals the first. From [`VAGUE`] on a name says
//! too little to be believed within an object of which nothing is known. Headers that a client may write itself (`X-Forwarded-For`,
//! `X-Real-IP`, `Client-IP`) are no clients.
//!
//! Sources: nginx, variables of `ngx_http_core_module` and `ngx_http_log_module`; Caddy, docs/logging and docs/caddyfile/directives/log;
//! Traefik, observability/access-logs; Envoy and Istio, `configuration/observability/access_log`; Google Cloud, `LogEntry` and `HttpRequest`;
//! AWS, API Gateway `$context` variables, `CloudFront` standard logging, WAF log fields, Application Load Balancer access logs;
//! Azure Application Gateway and Front Door, access logs; Cloudflare Logpush, HTTP requests; Fastly, custom log formats; Kong,
//! file-log; Elastic Common Schema; OpenTelemetry, HTTP attributes; pino-http; morgan; Echo; Tomcat, `JsonAccessLogValve`.

use super::role::{Context, Slot};

/// The first rank of names that are not believed everywhere.
pub(super) const VAGUE: u8 = 4;

type Names = [(Slot, u8, &'static str)];

/// Names at the top of a line, and within objects that only group fields.
pub(super) const ANYWHERE: &Names = &[
    (Slot::Client, 1, "remoteaddr remoteip remoteaddress clienthost cip downstreamremoteaddresswithoutport"),
    (Slot::Client, 2, "clientip clientaddr clientaddress remotehost downstreamremoteaddress sourceip sourceaddress srcip"),
    (Slot::Client, 3, "requestclientip requestremoteip requestremoteaddr httprequestremoteip httprequestclientip identitysourceip"),
    (Slot::Client, 3, "downstreamdirectremoteaddress netpeerip netsockpeeraddr peeraddr peeraddress networkclientip viewerip visitorip"),
    (Slot::Client, VAGUE, "ip client ipaddress ipaddr remote peer"),
    (Slot::Host, 1, "requesthost xhostheader clientrequesthost authority requestauthority requesthostname"),
    (Slot::Host, 2, "httphost cshost httprequesthost"),
    (Slot::Host, 3, "vhost virtualhost urldomain originalhost domainname"),
    (Slot::Host, VAGUE, "host domain"),
    (Slot::Host, 5, "servername site"),
    (Slot::Time, 1, "startutc timelocal timeiso8601 requesttimestamp edgestarttimestamp starttime"),
    (Slot::Time, 2, "timestamp datetime startlocal eventtime accesstime startedat requestreceived"),
    (Slot::Time, 3, "msec requesttime requesttimeepoch logtime localtime asctime receivedat"),
    (Slot::Time, VAGUE, "time ts date"),
    (Slot::Time, 5, "receivetimestamp edgeendtimestamp"),
    (Slot::Request, 1, "requestline httprequestline"),
    (Slot::Request, 2, "request httprequest"),
    (Slot::Method, 1, "requestmethod httpmethod clientrequestmethod csmethod requestverb requesthttpverb httprequestmethod"),
    (Slot::Method, 3, "verb httpverb"),
    (Slot::Method, VAGUE, "method"),
    (Slot::Target, 1, "requesturi requesturl originalurl originaluri requesttarget clientrequesturi xenvoyoriginpath xenvoyoriginalpath"),
    (Slot::Target, 1, "httptarget httpurl urloriginal urlfull fullurl csuri httprequesturl httprequesturi"),
    (Slot::Path, 1, "requestpath clientrequestpath csuristem urlpath httppath httprequestpath requesturipath"),
    (Slot::Path, 3, "uri"),
    (Slot::Path, VAGUE, "url"),
    (Slot::Path, 5, "path"),
    (Slot::Path, 6, "documenturi"),
    (Slot::Path, 7, "resourcepath"),
    (Slot::Query, 1, "requestquery"),
    (Slot::Query, 2, "querystring args urlquery csuriquery requestquerystring clientrequestquery uriquery requestargs"),
    (Slot::Query, 3, "uriparam"),
    (Slot::Query, VAGUE, "query"),
    (Slot::Protocol, 1, "serverprotocol requestprotocol clientrequestprotocol csprotocolversion httpversion requestproto"),
    (Slot::Protocol, 2, "requesthttpversion httpprotocol requesthttpprotocol"),
    (Slot::Protocol, VAGUE, "protocol proto"),
    (Slot::Status, 1, "downstreamstatus edgeresponsestatus elbstatuscode scstatus httpresponsestatuscode"),
    (Slot::Status, 2, "statuscode httpstatus httpstatuscode responsestatus responsecode responsestatuscode httpcode respstatus"),
    (Slot::Status, 3, "responsecodesent"),
    (Slot::Status, VAGUE, "status"),
    (Slot::Status, 6, "targetstatuscode"),
    (Slot::Bytes, 1, "bodybytessent downstreamcontentsize edgeresponsebytes scbytes httpresponsebodybytes"),
    (Slot::Bytes, 2, "bytessent sentbytes responsesize responselength responsebytes responsebodysize bytesout byteswritten"),
    (Slot::Bytes, 3, "bodysent bodybytes respsize respbytes bytesbodysent responsecontentlength rescontentlength"),
    (Slot::Bytes, VAGUE, "bytes size"),
    (Slot::Bytes, 5, "contentlength length"),
    (Slot::Referer, 1, "httpreferer httpreferrer csreferer clientrequestreferer requestreferer requestreferrer httprequestreferrer"),
    (Slot::Referer, 3, "referer referrer"),
    (Slot::UserAgent, 1, "httpuseragent csuseragent clientrequestuseragent requestuseragent useragentoriginal"),
    (Slot::UserAgent, 2, "useragent"),
    (Slot::UserAgent, VAGUE, "agent ua"),
];

/// Names within an object that is the request; else those that stand anywhere.
pub(super) const REQUEST: &Names = &[
    (Slot::Client, 1, "clientip"),
    (Slot::Client, 2, "remoteip remoteaddr remoteaddress"),
    (Slot::Client, 3, "ip"),
    (Slot::Host, 1, "host"),
    (Slot::Host, 3, "hostname"),
    (Slot::Request, 1, "line firstline"),
    (Slot::Sent, 1, "uri originalurl"),
    (Slot::Sent, 2, "url"),
    (Slot::Protocol, 2, "proto protocol"),
    (Slot::Protocol, 3, "version"),
    // How large the request was.
    (Slot::None, 0, "bytes size length contentlength bodybytes requestsize"),
];

/// Names within an object that is the response.
pub(super) const RESPONSE: &Names = &[
    (Slot::Status, 2, "status statuscode httpstatus code"),
    (Slot::Bytes, 2, "bytes size length bodysize bodybytes bytessent responsesize"),
    (Slot::Bytes, 3, "contentlength"),
];

/// Names of headers of the request.
pub(super) const HEADERS: &Names =
    &[(Slot::UserAgent, 3, "useragent"), (Slot::Referer, VAGUE, "referer referrer"), (Slot::Host, 6, "host authority")];

/// Names within an object that is the address asked for.
pub(super) const URL: &Names =
    &[(Slot::Target, 1, "original full"), (Slot::Path, 1, "path"), (Slot::Query, 2, "query"), (Slot::Host, 3, "domain host hostname")];

/// Names within an object that is the client.
pub(super) const PEER: &Names = &[(Slot::Client, 3, "ip address addr remoteip")];

/// Names within an object that is the client's program.
pub(super) const AGENT: &Names = &[(Slot::UserAgent, 1, "original raw string")];

/// Names of objects and what is within them. What a client or the server's inside fills is closed; of others nothing is known.
pub(super) const OBJECTS: &[(Context, &str)] = &[
    (Context::Anywhere, "nginx apache access accesslog fields nginxfields data jsonpayload properties network event log record"),
    (Context::Anywhere, "details context httplog"),
    (Context::Http, "http"),
    (Context::Request, "request req httprequest clientrequest"),
    (Context::Response, "response res resp httpresponse"),
    (Context::Headers, "headers header requestheaders reqheaders httpheaders"),
    (Context::Url, "url uri"),
    (Context::Peer, "client source remote clientinfo peer identity"),
    (Context::Agent, "useragent agent"),
    (Context::Closed, "query querystring queryparams queryparameters querystringparameters params parameters args body requestbody"),
    (Context::Closed, "cookies cookie form session user tls ssl server upstream destination backend origin target geo geoip"),
    (Context::Closed, "responseheaders respheaders resheaders labels tags error err exception host service container kubernetes"),
    (Context::Closed, "docker process cloud file input fileset observer"),
];

/// What a header's name begins with where it stands among the other fields: `request_header_user_agent`.
pub(super) const HEADER_PREFIXES: &[&str] = &["requestheaders", "requestheader", "reqheaders", "reqheader", "headers", "header"];
