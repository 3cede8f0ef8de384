//! Parses Apache `LogFormat` strings.
//!
//! Sources: Apache `mod_log_config` (custom log formats), `mod_logio` (`%I %O %S %^FB`), `mod_ssl`
//! (`%{..}x %{..}c`). An unknown directive is an error, because the text that it writes is unknown.

use super::FieldKind;
use super::items::{Author, FieldItem, FieldShape, FormatError, FormatItem};

/// Splits a format into literal texts and fields.
pub(super) fn items(format: &str) -> Result<Vec<FormatItem>, FormatError> {
    let mut items = Vec::new();
    let mut rest = format;
    while let Some((text, after)) = rest.split_once('%') {
        items.push(FormatItem::Text(unescaped(text)));
        let item = Directive::parse(after)?;
        rest = &after[item.length..];
        items.extend(item.items()?);
    }
    items.push(FormatItem::Text(unescaped(rest)));
    Ok(items)
}

/// Undoes `\"`, `\\`, `\t` and the like, as `mod_log_config` and quotes in the configuration do.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes().peekable();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        let stands_for = match (byte, bytes.peek()) {
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b't')) => b'\t',
            (b'\\', Some(quoted @ (b'"' | b'\'' | b'\\'))) => *quoted,
            _ => {
                out.push(byte);
                continue;
            }
        };
        out.push(stands_for);
        bytes.next();
    }
    out
}

/// Beginnings of the variables of `mod_ssl` that the client does not choose: not `SSL_CLIENT_S_DN`,
/// `SSL_TLS_SNI` and `subjectdn`.
const SSL_BY_SERVER: [&str; 9] = [
    "HTTPS",
    "SSL_PROTOCOL",
    "SSL_CIPHER",
    "SSL_SECURE_RENEG",
    "SSL_COMPRESS",
    "SSL_SESSION",
    "SSL_VERSION",
    "version",
    "cipher",
];

/// One directive, `%!200,304{Referer}i`.
struct Directive<'a> {
    /// As written, with the percent sign.
    written: String,
    /// The text in braces.
    argument: &'a str,
    /// `>` for the last request after an internal redirect, `<` for the first.
    last: bool,
    /// Preceded by `^`: two letters follow.
    long: bool,
    letter: char,
    /// The length in bytes, without the percent sign.
    length: usize,
}

impl<'a> Directive<'a> {
    /// Parses the text after a percent sign.
    fn parse(text: &'a str) -> Result<Self, FormatError> {
        let (mut argument, mut last, mut at) = ("", false, 0);
        while let Some(c) = text[at..].chars().next() {
            at += c.len_utf8();
            match c {
                '!' | ',' | '0'..='9' | '<' => {}
                '>' => last = true,
                '{' => {
                    let end = text[at..].find('}');
                    let end = end.ok_or_else(|| FormatError::Unclosed {
                        found: format!("%{text}"),
                        expected: '}',
                    })?;
                    argument = &text[at..at + end];
                    at += end + 1;
                }
                _ => {
                    let long = c == '^';
                    let length = if long {
                        at + text[at..]
                            .chars()
                            .take(2)
                            .map(char::len_utf8)
                            .sum::<usize>()
                    } else {
                        at
                    };
                    return Ok(Self {
                        written: format!("%{}", &text[..length]),
                        argument,
                        last,
                        long,
                        letter: c,
                        length,
                    });
                }
            }
        }
        Err(FormatError::Unknown {
            found: format!("%{text}"),
        })
    }

    fn field(&self, kind: FieldKind) -> FieldItem {
        FieldItem::new(self.written.as_str(), kind).by(self.author())
    }

    /// Who chooses the text: `%v` and `%p` are of the configuration, `%V` is the `Host` header.
    fn author(&self) -> Author {
        match self.letter {
            _ if self.long => {
                if self.written.ends_with("^FB") || self.written.ends_with("^FU") {
                    Author::Server
                } else {
                    Author::Client
                }
            }
            'a' | 'A' | 'b' | 'B' | 'D' | 'h' | 'I' | 'k' | 'l' | 'L' | 'm' | 'O' | 'p' | 'P'
            | 'R' | 's' | 'S' | 't' | 'T' | 'v' | 'X' => Author::Server,
            'c' | 'x'
                if SSL_BY_SERVER
                    .iter()
                    .any(|prefix| self.argument.starts_with(prefix)) =>
            {
                Author::Server
            }
            'c' | 'x' => Author::Unescaped,
            _ => Author::Client,
        }
    }

    /// The items of the directive.
    fn items(&self) -> Result<Vec<FormatItem>, FormatError> {
        let field = |kind| self.field(kind);
        let number = |kind| field(kind).shaped(FieldShape::Number);
        let peer = u8::from(self.argument == "c");
        Ok(vec![FormatItem::Field(match self.letter {
            '%' => return Ok(vec![FormatItem::Text(b"%".to_vec())]),
            't' => return Ok(self.time()),
            _ if self.long => field(FieldKind::Other),
            'h' | 'a' => field(FieldKind::Client).ranked(peer),
            'r' => field(FieldKind::Request),
            'm' => field(FieldKind::Method),
            'U' => field(FieldKind::Path),
            'q' => field(FieldKind::Query).shaped(FieldShape::QueryMark),
            'H' => field(FieldKind::Protocol),
            's' => number(FieldKind::Status).ranked(u8::from(!self.last)),
            'b' | 'B' => number(FieldKind::Bytes),
            'O' => number(FieldKind::Bytes).ranked(1),
            'v' => field(FieldKind::Host),
            'V' => field(FieldKind::Host).ranked(1),
            'p' => field(FieldKind::Other).shaped(FieldShape::Port),
            'i' => self.header(),
            'D' | 'T' | 'I' | 'S' | 'k' => number(FieldKind::Other),
            // Directives of `mod_ssl` always have braces; `%{c}a` is unrelated.
            'c' | 'x' if self.argument.is_empty() => {
                return Err(FormatError::Unknown {
                    found: self.written.clone(),
                });
            }
            'A' | 'C' | 'c' | 'e' | 'f' | 'L' | 'l' | 'n' | 'o' | 'P' | 'R' | 'X' | 'x' => {
                field(FieldKind::Other)
            }
            'u' => field(FieldKind::User),
            _ => {
                return Err(FormatError::Unknown {
                    found: self.written.clone(),
                });
            }
        })])
    }

    fn header(&self) -> FieldItem {
        let header = self.argument.to_ascii_lowercase();
        match header.as_str() {
            "referer" => self.field(FieldKind::Referer),
            "user-agent" => self.field(FieldKind::UserAgent),
            "host" => self.field(FieldKind::Host).ranked(2),
            _ => self
                .field(FieldKind::Header(header))
                .shaped(FieldShape::List),
        }
    }

    /// `%t` includes its brackets; `%{...}t` is a `strftime` pattern or one of a few keywords.
    fn time(&self) -> Vec<FormatItem> {
        let pattern = self
            .argument
            .trim_start_matches("begin:")
            .trim_start_matches("end:");
        let time = |shape| FormatItem::Field(self.field(FieldKind::Time).shaped(shape));
        let text = |text: &str| FormatItem::Text(text.as_bytes().to_vec());
        match pattern {
            "" | "[%d/%b/%Y:%H:%M:%S %z]" | "[%d/%b/%Y:%T %z]" => {
                vec![text("["), time(FieldShape::Clf), text("]")]
            }
            "%d/%b/%Y:%H:%M:%S %z" | "%d/%b/%Y:%T %z" => vec![time(FieldShape::Clf)],
            "sec" | "msec" | "usec" => vec![time(FieldShape::Written)],
            "msec_frac" | "usec_frac" => vec![FormatItem::Field(
                self.field(FieldKind::Other).shaped(FieldShape::Fraction),
            )],
            _ => vec![time(FieldShape::Strftime(pattern.to_owned()))],
        }
    }
}
