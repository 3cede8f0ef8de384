//! Parses format strings as users paste them: quoted, in several pieces, or as a whole directive.
//!
//! Reads only this text; configuration files are parsed elsewhere.

use super::{FormatLineParser, NginxEscape};
use crate::formats::FormatError;

/// Parses the text after the name in an nginx `log_format`.
pub(super) fn nginx(text: &str) -> Result<FormatLineParser, FormatError> {
    let words = words(text.trim().trim_end_matches(';'), unescape_nginx)?;
    nginx_words(&words)
}

fn nginx_words(words: &[String]) -> Result<FormatLineParser, FormatError> {
    let (escape, pieces) = match words {
        [first, pieces @ ..] if first.starts_with("escape=") => {
            (escape(&first["escape=".len()..])?, pieces)
        }
        pieces => (NginxEscape::Default, pieces),
    };
    FormatLineParser::nginx(&pieces.concat(), escape)
}

fn escape(name: &str) -> Result<NginxEscape, FormatError> {
    match name {
        "default" => Ok(NginxEscape::Default),
        "json" => Ok(NginxEscape::Json),
        "none" => Ok(NginxEscape::None),
        "hash" => Ok(NginxEscape::Hash),
        "csv" => Ok(NginxEscape::Csv),
        "logfmt" => Ok(NginxEscape::Logfmt),
        _ => Err(FormatError::Escape {
            found: name.to_owned(),
        }),
    }
}

/// Parses a format of either server.
pub(super) fn parse(text: &str) -> Result<FormatLineParser, FormatError> {
    let text = text.trim();
    if let Some(rest) = after_word(text, "log_format") {
        let words = words(rest.trim_end_matches(';'), unescape_nginx)?;
        return nginx_words(words.get(1..).unwrap_or_default());
    }
    for directive in ["LogFormat", "TransferLog"] {
        if let Some(rest) = after_word(text, directive) {
            return apache_word(rest, 0);
        }
    }
    if let Some(rest) = after_word(text, "CustomLog") {
        return apache_word(rest, 1);
    }
    let has_variable = text.match_indices('$').any(|(at, _)| {
        text[at + 1..].starts_with(|c: char| c.is_ascii_lowercase() || c == '_' || c == '{')
    });
    if has_variable {
        return if text.starts_with("escape=") || text.starts_with('\'') {
            nginx(text)
        } else {
            // A shell passes a tab as it is written.
            FormatLineParser::nginx(&text.replace("\\t", "\t"), NginxEscape::Default)
        };
    }
    // An escaped quote shows that the text was quoted.
    if text.starts_with('\'') || (text.starts_with('"') && text.contains("\\\"")) {
        apache_word(text, 0)
    } else {
        FormatLineParser::apache(text)
    }
}

/// The text after a directive.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim())
}

fn apache_word(text: &str, at: usize) -> Result<FormatLineParser, FormatError> {
    let words = words(text, unescape_apache)?;
    FormatLineParser::apache(words.get(at).map_or("", String::as_str))
}

/// Splits a configuration into words without quotes; `unescape` decodes the character after a
/// backslash.
fn words(text: &str, unescape: fn(char) -> Option<char>) -> Result<Vec<String>, FormatError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let quote = Some(first).filter(|c| matches!(c, '"' | '\''));
        let (word, length) = word(&rest[quote.map_or(0, char::len_utf8)..], quote, unescape)?;
        words.push(word);
        rest = rest[length + 2 * quote.map_or(0, char::len_utf8)..].trim_start();
    }
    Ok(words)
}

/// The first word, and its length without quotes.
fn word(
    text: &str,
    quote: Option<char>,
    unescape: fn(char) -> Option<char>,
) -> Result<(String, usize), FormatError> {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            (_, Some(quote)) if c == quote => return Ok((word, at)),
            (_, None) if c.is_ascii_whitespace() => return Ok((word, at)),
            ('\\', Some(_)) => match chars.clone().next().and_then(|(_, next)| unescape(next)) {
                Some(undone) => {
                    word.push(undone);
                    chars.next();
                }
                None => word.push(c),
            },
            _ => word.push(c),
        }
    }
    match quote {
        Some(quote) => Err(FormatError::Unclosed {
            found: format!("{quote}{}", text.chars().take(40).collect::<String>()),
            expected: quote,
        }),
        None => Ok((word, text.len())),
    }
}

/// nginx's `ngx_conf_read_token`.
fn unescape_nginx(c: char) -> Option<char> {
    match c {
        '"' | '\'' | '\\' => Some(c),
        't' => Some('\t'),
        'r' => Some('\r'),
        'n' => Some('\n'),
        _ => None,
    }
}

/// Apache's `ap_getword_conf`.
fn unescape_apache(c: char) -> Option<char> {
    matches!(c, '"' | '\'' | '\\').then_some(c)
}
