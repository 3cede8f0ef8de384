//! Parses nginx `log_format` strings.
//!
//! Source: nginx `ngx_http_log_module`, `ngx_http_core_module`, `ngx_http_realip_module`, `ngx_http_upstream_module`.
//! Unknown variables are accepted without a meaning, because configurations may define their own. A few names do not
//! exist in nginx and are fields of other products.

use super::FieldKind;
use super::items::{FieldItem, FieldShape, FormatError, FormatItem};

/// `2026-11-02T08:01:00+00:00`.
const ISO_LEN: u16 = 25;

/// Splits a format into literal texts and fields.
pub(super) fn items(format: &str) -> Result<Vec<FormatItem>, FormatError> {
    let mut items = Vec::new();
    let mut rest = format;
    while let Some((text, after)) = rest.split_once('$') {
        items.push(FormatItem::Text(text.as_bytes().to_vec()));
        let (name, follows) = name(after)?;
        items.push(FormatItem::Field(variable(name)));
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
        Some(inside) => inside.split_once('}').ok_or_else(|| FormatError::Unclosed { found: found(), expected: '}' })?,
        None => text.split_at(text.bytes().position(|b| !is_letter(b)).unwrap_or(text.len())),
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
        "proxy_protocol_addr" => field(FieldKind::Header("proxy-protocol-addr".into())),
        "time_local" => field(FieldKind::Time).shaped(FieldShape::Clf),
        "time_iso8601" => field(FieldKind::Time).shaped(FieldShape::WrittenWide(ISO_LEN)).ranked(1),
        "time" => field(FieldKind::Time).shaped(FieldShape::Written).ranked(1),
        "msec" => field(FieldKind::Time).shaped(FieldShape::Written).ranked(2),
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
        "connection" | "connection_requests" | "request_length" | "request_time" | "pid" => {
            field(FieldKind::Other).shaped(FieldShape::Number)
        }
        _ => field_by_affix(name, field),
    }
}

/// Variables that are recognized by a prefix or suffix of their name.
fn field_by_affix(name: &str, field: impl Fn(FieldKind) -> FieldItem) -> FieldItem {
    match name.strip_prefix("http_") {
        Some(header) => field(FieldKind::Header(header.replace('_', "-").to_ascii_lowercase())).shaped(FieldShape::List),
        None if name.starts_with("upstream_") => field(FieldKind::Other).shaped(FieldShape::List),
        None if name == "port" || name.ends_with("_port") => field(FieldKind::Other).shaped(FieldShape::Port),
        None => field(FieldKind::Other),
    }
}
