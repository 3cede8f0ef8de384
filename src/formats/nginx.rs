//! The variables of an nginx `log_format`, and what they mean.
//!
//! Source: nginx `ngx_http_log_module`, `ngx_http_core_module`, `ngx_http_realip_module`, `ngx_http_upstream_module`.
//! Names that are not known mean nothing: anybody may set variables. A few names are not of nginx and stand for what
//! other products log.

use super::Meaning;
use super::part::{Named, Part, Shape};
use super::plan::FormatError;

/// `2026-11-02T08:01:00+00:00`.
const ISO_LEN: u16 = 25;

/// Takes a format apart.
pub(super) fn parts(format: &str) -> Result<Vec<Part>, FormatError> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('$') {
        parts.push(Part::Text(text.as_bytes().to_vec()));
        let (name, follows) = name(behind)?;
        parts.push(Part::Field(variable(name)));
        rest = follows;
    }
    parts.push(Part::Text(rest.as_bytes().to_vec()));
    Ok(parts)
}

/// The name behind a dollar sign, and what follows.
fn name(text: &str) -> Result<(&str, &str), FormatError> {
    let found = || format!("${}", text.chars().take(20).collect::<String>());
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let (name, follows) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}').ok_or_else(|| FormatError::Unclosed { found: found(), expected: '}' })?,
        None => text.split_at(text.bytes().position(|b| !is_letter(b)).unwrap_or(text.len())),
    };
    if name.is_empty() || !name.bytes().all(is_letter) {
        return Err(FormatError::NoName { found: found() });
    }
    Ok((name, follows))
}

fn variable(name: &str) -> Named {
    let field = |meaning| Named::new(format!("${name}"), meaning);
    match name {
        "remote_addr" => field(Meaning::Client),
        "realip_remote_addr" => field(Meaning::Client).ranked(1),
        "proxy_protocol_addr" => field(Meaning::Header("proxy-protocol-addr".into())),
        "time_local" => field(Meaning::Time).shaped(Shape::Clf),
        "time_iso8601" => field(Meaning::Time).shaped(Shape::WrittenWide(ISO_LEN)).ranked(1),
        "time" => field(Meaning::Time).shaped(Shape::Written).ranked(1),
        "msec" => field(Meaning::Time).shaped(Shape::Written).ranked(2),
        "request" => field(Meaning::Request),
        "absolute_request" => field(Meaning::Request).shaped(Shape::RequestUrl),
        "request_method" => field(Meaning::Method),
        "request_uri" => field(Meaning::Target),
        "url" => field(Meaning::Target).shaped(Shape::Url),
        "uri" | "document_uri" => field(Meaning::Path),
        "args" | "query_string" => field(Meaning::Query),
        "is_args" => field(Meaning::Other).shaped(Shape::QueryMark),
        "server_protocol" => field(Meaning::Protocol),
        "status" => field(Meaning::Status).shaped(Shape::Number),
        "body_bytes_sent" => field(Meaning::Bytes).shaped(Shape::Number),
        "bytes_sent" => field(Meaning::Bytes).shaped(Shape::Number).ranked(1),
        "host" => field(Meaning::Host),
        "http_host" => field(Meaning::Host).ranked(1),
        "server_name" => field(Meaning::Host).ranked(2),
        "http_referer" => field(Meaning::Referer),
        "http_user_agent" => field(Meaning::UserAgent),
        "connection" | "connection_requests" | "request_length" | "request_time" | "pid" => field(Meaning::Other).shaped(Shape::Number),
        _ => other(name, field),
    }
}

/// Names that belong together by their first or last letters.
fn other(name: &str, field: impl Fn(Meaning) -> Named) -> Named {
    match name.strip_prefix("http_") {
        Some(header) => field(Meaning::Header(header.replace('_', "-").to_ascii_lowercase())).shaped(Shape::List),
        None if name.starts_with("upstream_") => field(Meaning::Other).shaped(Shape::List),
        None if name == "port" || name.ends_with("_port") => field(Meaning::Other).shaped(Shape::Port),
        None => field(Meaning::Other),
    }
}
