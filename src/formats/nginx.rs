//! Parses nginx `log_format` strings.
//!
//! Source: nginx `ngx_http_log_module`, `ngx_http_core_module`, `ngx_http_realip_module`,
//! `ngx_http_upstream_module`. Unknown variables are accepted without a meaning, because
//! configurations may define their own. A few names do not exist in nginx and are fields of other
//! products.

use super::FieldKind;
use super::items::{Author, FieldItem, FieldShape, FormatError, FormatItem};

/// `2026-11-02T08:01:00+00:00`.
const ISO_LEN: u16 = 25;

/// Splits a format into literal texts and fields.
pub(super) fn items(format: &str) -> Result<Vec<FormatItem>, FormatError> {
    let mut items = Vec::new();
    let mut rest = format;
    while let Some((text, after)) = rest.split_once('$') {
        items.push(FormatItem::Text(text.as_bytes().to_vec()));
        let (name, follows) = name(after)?;
        items.push(FormatItem::Field(variable(name).by(author(name))));
        rest = follows;
    }
    items.push(FormatItem::Text(rest.as_bytes().to_vec()));
    Ok(items)
}

/// The name after a dollar sign, and the rest.
fn name(text: &str) -> Result<(&str, &str), FormatError> {
    let found = || format!("${}", text.chars().take(20).collect::<String>());
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let (name, follows) = match text.strip_prefix('{') {
        Some(inside) => inside
            .split_once('}')
            .ok_or_else(|| FormatError::Unclosed {
                found: found(),
                expected: '}',
            })?,
        None => text.split_at(
            text.bytes()
                .position(|b| !is_letter(b))
                .unwrap_or(text.len()),
        ),
    };
    if name.is_empty() || !name.bytes().all(is_letter) {
        return Err(FormatError::NoName { found: found() });
    }
    Ok((name, follows))
}

fn variable(name: &str) -> FieldItem {
    let field = |kind| FieldItem::new(format!("${name}"), kind);
    match name {
        "remote_addr" => field(FieldKind::Client),
        "realip_remote_addr" => field(FieldKind::Client).ranked(1),
        "remote_host" => field(FieldKind::Client).ranked(2),
        // In Envoy's log, which writes this header itself.
        "x_forwarded_for" => {
            field(FieldKind::Header("x-forwarded-for".into())).shaped(FieldShape::List)
        }
        "proxy_protocol_addr" => field(FieldKind::Header("proxy-protocol-addr".into())),
        "time_local" => field(FieldKind::Time).shaped(FieldShape::Clf),
        "time_iso8601" => field(FieldKind::Time)
            .shaped(FieldShape::WrittenWide(ISO_LEN))
            .ranked(1),
        "time" => field(FieldKind::Time).shaped(FieldShape::Written).ranked(1),
        "msec" => field(FieldKind::Time).shaped(FieldShape::Written).ranked(2),
        "date" => field(FieldKind::Date),
        "time_of_day" => field(FieldKind::TimeOfDay),
        "request" => field(FieldKind::Request),
        "absolute_request" => field(FieldKind::Request).shaped(FieldShape::RequestUrl),
        "request_method" => field(FieldKind::Method),
        "request_uri" => field(FieldKind::Target),
        "url" => field(FieldKind::Target).shaped(FieldShape::Url),
        "uri" | "document_uri" => field(FieldKind::Path),
        "args" | "query_string" => field(FieldKind::Query),
        "is_args" => field(FieldKind::Other).shaped(FieldShape::QueryMark),
        "server_protocol" => field(FieldKind::Protocol),
        "status" => field(FieldKind::Status).shaped(FieldShape::Number),
        "body_bytes_sent" => field(FieldKind::Bytes).shaped(FieldShape::Number),
        "bytes_sent" => field(FieldKind::Bytes).shaped(FieldShape::Number).ranked(1),
        "host" => field(FieldKind::Host),
        "http_host" => field(FieldKind::Host).ranked(1),
        "server_name" => field(FieldKind::Host).ranked(2),
        "http_referer" => field(FieldKind::Referer),
        "http_user_agent" => field(FieldKind::UserAgent),
        "remote_user" => field(FieldKind::User),
        "connection" | "connection_requests" | "request_length" | "request_time" | "pid" => {
            field(FieldKind::Other).shaped(FieldShape::Number)
        }
        _ => field_by_affix(name, field),
    }
}

/// Variables that are recognized by a prefix or suffix of their name.
fn field_by_affix(name: &str, field: impl Fn(FieldKind) -> FieldItem) -> FieldItem {
    if let Some(words) = words_of_time(name) {
        return field(FieldKind::Time)
            .shaped(FieldShape::WrittenWords(words))
            .ranked(1);
    }
    match name.strip_prefix("http_") {
        Some(header) => field(FieldKind::Header(
            header.replace('_', "-").to_ascii_lowercase(),
        ))
        .shaped(FieldShape::List),
        None if name.starts_with("upstream_") => field(FieldKind::Other).shaped(FieldShape::List),
        None if name == "port" || name.ends_with("_port") => {
            field(FieldKind::Other).shaped(FieldShape::Port)
        }
        None => field(FieldKind::Other),
    }
}

/// The number of words of a time in `$time2` to `$time9`.
fn words_of_time(name: &str) -> Option<u16> {
    match name.strip_prefix("time")?.as_bytes() {
        [digit @ b'2'..=b'9'] => Some(u16::from(digit - b'0')),
        _ => None,
    }
}

/// Variables that the client does not choose, apart from those with such a beginning or end: see
/// [`author`]. A method has only capital letters, dashes and underscores, else nginx does not log
/// it. `$proxy_host` and `$document_root` are not here, because a configuration may make them of
/// the host.
const BY_SERVER: &str = "remote_addr realip_remote_addr remote_host proxy_protocol_addr time_local time_iso8601 time msec date time_of_day \
    request_method \
    server_protocol status body_bytes_sent bytes_sent server_name scheme https hostname server_addr nginx_version pid pipe \
    connection connection_requests connection_time request_length request_time request_completion request_id gzip_ratio \
    limit_rate limit_req_status limit_conn_status ssl_protocol ssl_cipher ssl_curve ssl_session_id ssl_session_reused \
    ssl_early_data ssl_client_verify protocol session_time bytes_received http2 http3 \
    is_args type elb x_forwarded_for";

/// Who chooses the text of a variable.
fn author(name: &str) -> Author {
    let of_upstream = |field: &str| {
        !["http_", "cookie_", "trailer_"]
            .iter()
            .any(|prefix| field.starts_with(prefix))
    };
    let is_by_server = BY_SERVER
        .split_ascii_whitespace()
        .any(|known| known == name)
        || words_of_time(name).is_some()
        || name.strip_prefix("upstream_").is_some_and(of_upstream)
        || ["geoip_", "tcpinfo_", "connections_"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || !name.starts_with("http_") && (name == "port" || name.ends_with("_port"));
    if is_by_server {
        Author::Server
    } else {
        Author::Client
    }
}
