//! The W3C extended log format: a log that names its columns itself, in a line that may come again with other names.
//!
//! Sources: W3C WD-logfile-960323; Microsoft, IIS "W3C Extended Log File Format"; AWS, "`CloudFront` standard logging
//! reference". IIS writes `+` for a space in headers; `CloudFront` separates by tabs and percent-encodes texts once more.

use super::Meaning;
use super::plan::{Coded, Plan, Quotes};

/// Whether a line is a directive or a remark, and no request.
#[must_use]
pub fn is_comment(line: &[u8]) -> bool {
    line.starts_with(b"#")
}

/// The plan that a line `#Fields: date time cs-method ...` makes for the lines below it; `None` for any other line.
#[must_use]
pub fn directive(line: &[u8]) -> Option<Plan> {
    let text = line.strip_prefix(b"#")?;
    let (name, columns) = text.split_at(memchr::memchr(b':', text)?);
    if !name.eq_ignore_ascii_case(b"Fields") {
        return None;
    }
    let columns = String::from_utf8_lossy(&columns[1..]);
    let names: Vec<(&str, Meaning)> = columns.split_ascii_whitespace().map(|name| (name, meaning(name))).collect();
    let asks = names.iter().any(|(_, m)| matches!(m, Meaning::Path | Meaning::Target | Meaning::Request));
    asks.then(|| plan(&names, columns.contains('\t')))
}

/// `CloudFront` names its columns with spaces between and separates them by tabs.
fn plan(names: &[(&str, Meaning)], tabs: bool) -> Plan {
    let is_cloudfront = names.iter().any(|(name, _)| name.starts_with("x-edge-"));
    let separator = if is_cloudfront || tabs { b'\t' } else { b' ' };
    let coded = if is_cloudfront { Coded::Percent } else { Coded::Plus };
    let best = names.iter().filter(|(_, m)| *m == Meaning::Host).map(|(name, _)| *name).min_by_key(|name| host_rank(name));
    // Of several hosts the one that the client asked for.
    let chosen: Vec<_> = names
        .iter()
        .map(|(name, m)| (*name, if *m == Meaning::Host && Some(*name) != best { Meaning::Other } else { m.clone() }))
        .collect();
    Plan::columns(&chosen, separator, Quotes::Never).coded(coded)
}

fn host_rank(name: &str) -> u8 {
    match name.to_ascii_lowercase().as_str() {
        "x-host-header" => 0,
        _ => 1,
    }
}

fn meaning(column: &str) -> Meaning {
    let name = column.to_ascii_lowercase();
    match name.as_str() {
        "date" => Meaning::Date,
        "time" => Meaning::TimeOfDay,
        "c-ip" => Meaning::Client,
        "cs-method" => Meaning::Method,
        "cs-uri" => Meaning::Target,
        "cs-uri-stem" => Meaning::Path,
        "cs-uri-query" => Meaning::Query,
        "cs-version" | "cs-protocol-version" => Meaning::Protocol,
        "sc-status" => Meaning::Status,
        "sc-bytes" => Meaning::Bytes,
        "cs-host" | "x-host-header" | "cs(host)" => Meaning::Host,
        "cs(referer)" => Meaning::Referer,
        "cs(user-agent)" => Meaning::UserAgent,
        "x-forwarded-for" => Meaning::Header(name),
        _ => match name.strip_prefix("cs(").and_then(|rest| rest.strip_suffix(')')) {
            Some(header) => Meaning::Header(header.to_owned()),
            None => Meaning::Other,
        },
    }
}
