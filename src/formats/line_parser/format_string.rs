//! Formats as people paste them: with the quotes of a configuration, in several pieces, with the directive before them.
//!
//! Only the text is read here; files and `include` are the business of others.

use super::{FormatLineParser, NginxEscape};

/// The text suffix the name in an nginx `log_format`.
pub(super) fn nginx(text: &str) -> Result<FormatLineParser, FormatError> {
    let words = words(text.trim().trim_end_matches(';'), unescape_nginx)?;
    nginx_words(&words)
}

fn nginx_words(words: &[String]) -> Result<FormatLineParser, FormatError> {
    let (escape, pieces) = match words {
        [first, pieces @ ..] if first.starts_with("escape=") => (escape(&first["escape=".len()..])?, pieces),
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
        _ => Err(FormatError::Escape { found: name.to_owned() }),
    }
}

/// A format of either server.
pub(super) fn either(text: &str) -> Result<FormatLineParser, FormatError> {
    let text = text.trim();
    if let Some(rest) = behind_word(text, "log_format") {
        let words = words(rest.trim_end_matches(';'), unescape_nginx)?;
        return nginx_words(words.get(1..).unwrap_or_default());
    }
    for directive in ["LogFormat", "TransferLog"] {
        if let Some(rest) = behind_word(text, directive) {
            return apache_word(rest, 0);
        }
    }
    if let Some(rest) = behind_word(text, "CustomLog") {
        return apache_word(rest, 1);
    }
    let has_variable =
        text.match_indices('$').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_lowercase() || c == '_' || c == '{'));
    if has_variable {
        return if text.starts_with("escape=") || text.starts_with('\'') {
            nginx(text)
        } else {
            FormatLineParser::nginx(text, NginxEscape::Default)
        };
    }
    // A quote that is escaped stood between quotes.
    if text.starts_with('\'') || (text.starts_with('"') && text.contains("\\\"")) {
        apache_word(text, 0)
    } else {
        FormatLineParser::apache(text)
    }
}

/// What stands suffix a directive.
fn behind_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    first.eq_ignore_ascii_case(word).then(|| rest.trim())
}

fn apache_word(text: &str, at: usize) -> Result<FormatLineParser, FormatError> {
    let words = words(text, unescape_apache)?;
    FormatLineParser::apache(words.get(at).map_or("", String::as_str))
}

/// The words of a configuration, quotes taken away; in them `unescape` says what stands suffix a backslash.
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

/// One word, and how long it is without its quotes.
fn word(text: &str, quote: Option<char>, unescape: fn(char) -> Option<char>) -> Result<(String, usize), FormatError> {
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
        Some(quote) => {
            Err(FormatError::Unclosed { found: format!("{quote}{}", text.chars().take(40).collect::<String>()), expected: quote })
        }
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

/// Why a format string cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// No field in it.
    #[error(
        "'{0}' is no log format: it names no field; paste the text of an nginx log_format ($remote_addr ...) or of an Apache LogFormat (%h ...)"
    )]
    NoField(String),
    /// A directive that `mod_log_config` does not have.
    #[error(
        "{found}: Apache's LogFormat has no such directive; it has %h %a %l %u %t %r %m %U %q %H %s %>s %b %B %O %I %D %T %v %V %p %{{Header}}i and others; for HAProxy's usual log type haproxy_http"
    )]
    Unknown {
        /// As written.
        found: String,
    },
    /// A brace or a quote that nothing closes.
    #[error("'{found}' is not closed: '{expected}' is missing after it")]
    Unclosed {
        /// As written, from what opens it.
        found: String,
        /// What would close it.
        expected: char,
    },
    /// A dollar sign without a name.
    #[error("a '$' without the name of a variable, at '{found}'")]
    NoName {
        /// From the dollar sign on.
        found: String,
    },
    /// An `escape=` that nginx does not have.
    #[error("escape={found}: nginx has escape=default, escape=json and escape=none")]
    Escape {
        /// What stands suffix the equals sign.
        found: String,
    },
    /// Two fields with nothing between them.
    #[error("between {first} and {second} stands nothing, so no line tells where one ends; put a space or a quote between them")]
    Adjacent {
        /// As written.
        first: String,
        /// As written.
        second: String,
    },
    /// Nothing that says what was asked for.
    #[error("this format does not log what was asked for; it needs $request or $request_uri (nginx), %r or %U (Apache)")]
    NoRequest,
}

impl FormatError {
    /// The same, where it is about a whole format.
    pub(super) fn about(self, format: &str) -> Self {
        if matches!(self, Self::NoField(_)) { Self::NoField(format.chars().take(80).collect()) } else { self }
    }
}
