//! The items of a format string before it is compiled: literal texts and named fields.
//!
//! Produced by `nginx`, `apache` and `w3c`, compiled by `line_parser`. Adjacent fields that form
//! one value are joined here.

use super::FieldKind;

/// An item of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormatItem {
    /// A literal text.
    Text(Vec<u8>),
    /// A field.
    Field(FieldItem),
}

/// A field of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldItem {
    /// As in the format string: `$remote_addr`, `%{Referer}i`, `cs(Referer)`.
    pub(super) name: String,
    /// Its meaning.
    pub(super) kind: FieldKind,
    /// Of several fields of the same kind, the one with the lowest rank is used; of equal ranks,
    /// the first.
    pub(super) rank: u8,
    /// The shape of its text.
    pub(super) shape: FieldShape,
    /// Who chooses its text.
    pub(super) author: Author,
}

/// Who chooses the text of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Author {
    /// The server: addresses, times, numbers, and words of its configuration.
    Server,
    /// Possibly the client, as with any header. The server escapes the text. A variable without a
    /// known meaning is of this kind, because a configuration may define it from a header.
    Client,
    /// Possibly the client, and the server does not escape the text: `mod_ssl` and the certificate
    /// of the client.
    Unescaped,
}

/// The shape of a field's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldShape {
    /// Any text.
    Text,
    /// Digits with an optional point, or a dash; never empty.
    Number,
    /// A port number.
    Port,
    /// An address or a host with a port.
    Ported,
    /// Possibly several values, separated by a comma or a colon and spaces:
    /// `10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80`.
    List,
    /// A Common Log Format time.
    Clf,
    /// A time in a format that can be detected.
    Written,
    /// A time in a format that can be detected, with a fixed length.
    WrittenWide(u16),
    /// A time in a format that can be detected, with this many words.
    WrittenWords(u16),
    /// A time in a `strftime` format.
    Strftime(String),
    /// The fractional digits of a time.
    Fraction,
    /// Host and target in one, with an optional scheme.
    Url,
    /// A request line with an absolute URL.
    RequestUrl,
    /// A query with its question mark, or empty.
    QueryMark,
}

impl FieldItem {
    /// A field of any text, which the client may choose.
    pub(super) fn new(name: impl Into<String>, kind: FieldKind) -> Self {
        Self {
            name: name.into(),
            kind,
            rank: 0,
            shape: FieldShape::Text,
            author: Author::Client,
        }
    }

    /// Sets who chooses the text.
    pub(super) fn by(self, author: Author) -> Self {
        Self { author, ..self }
    }

    /// Sets the shape.
    pub(super) fn shaped(self, shape: FieldShape) -> Self {
        Self { shape, ..self }
    }

    /// Sets the rank.
    pub(super) fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Joins the next field and the text between, if they form one value.
    fn join(&mut self, between: &[u8], next: &Self) -> bool {
        let (kind, shape) = match (&self.kind, &self.shape, between, &next.kind, &next.shape) {
            (FieldKind::Client | FieldKind::Host, FieldShape::Text, b":", _, FieldShape::Port) => {
                (self.kind.clone(), FieldShape::Ported)
            }
            (
                FieldKind::Host,
                FieldShape::Text | FieldShape::Ported,
                b"",
                FieldKind::Target | FieldKind::Path,
                FieldShape::Text,
            ) => (FieldKind::Target, FieldShape::Url),
            (FieldKind::Other, FieldShape::QueryMark, b"", FieldKind::Query, _) => {
                (FieldKind::Query, FieldShape::QueryMark)
            }
            (FieldKind::Path, FieldShape::Text, b"", _, FieldShape::QueryMark) => {
                (FieldKind::Target, FieldShape::Text)
            }
            (FieldKind::Target, FieldShape::Text | FieldShape::Url, b"", FieldKind::Query, _)
            | (_, FieldShape::Url, b"", _, FieldShape::QueryMark) => {
                (FieldKind::Target, self.shape.clone())
            }
            (_, FieldShape::Strftime(first), _, _, FieldShape::Strftime(second)) => (
                FieldKind::Time,
                FieldShape::Strftime(pattern(first, between, second)),
            ),
            (_, FieldShape::Strftime(first), _, _, FieldShape::Fraction) => (
                FieldKind::Time,
                FieldShape::Strftime(pattern(first, between, "%f")),
            ),
            (_, FieldShape::Written, b".", _, FieldShape::Fraction) => {
                (FieldKind::Time, FieldShape::Written)
            }
            _ => return false,
        };
        (self.kind, self.shape, self.author) = (kind, shape, self.author.max(next.author));
        self.name.push_str(&String::from_utf8_lossy(between));
        self.name.push_str(&next.name);
        true
    }
}

/// Joins two `strftime` patterns and the text between them.
fn pattern(first: &str, between: &[u8], second: &str) -> String {
    format!(
        "{first}{}{second}",
        String::from_utf8_lossy(between).replace('%', "%%")
    )
}

/// Joins adjacent texts, and fields that form one value.
pub(super) fn joined(parts: impl IntoIterator<Item = FormatItem>) -> Vec<FormatItem> {
    let mut joined: Vec<FormatItem> = Vec::new();
    for part in parts {
        match (joined.as_mut_slice(), part) {
            ([.., FormatItem::Text(before)], FormatItem::Text(text)) => {
                before.extend_from_slice(&text);
            }
            ([.., FormatItem::Field(before)], FormatItem::Field(field)) => {
                if !before.join(b"", &field) {
                    joined.push(FormatItem::Field(field));
                }
            }
            (
                [.., FormatItem::Field(before), FormatItem::Text(between)],
                FormatItem::Field(field),
            ) => {
                if before.join(between, &field) {
                    joined.pop();
                } else {
                    joined.push(FormatItem::Field(field));
                }
            }
            (_, FormatItem::Text(text)) if text.is_empty() => {}
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// Why a format string cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The string has no field.
    #[error(
        "'{0}' is not a log format: it has no field; paste the text of an nginx log_format ($remote_addr ...) or of an Apache LogFormat (%h ...)"
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
    /// A brace or a quote is not closed.
    #[error("'{found}' is not closed: '{expected}' is missing after it")]
    Unclosed {
        /// As written, from the opening character.
        found: String,
        /// The missing character.
        expected: char,
    },
    /// A dollar sign is not followed by a name.
    #[error("a '$' is not followed by the name of a variable, at '{found}'")]
    NoName {
        /// From the dollar sign on.
        found: String,
    },
    /// An `escape=` value that nginx does not have.
    #[error(
        "escape={found}: nginx has escape=default, escape=json and escape=none; for other writers there are escape=csv and escape=logfmt"
    )]
    Escape {
        /// The value.
        found: String,
    },
    /// Two fields without a text between them.
    #[error(
        "there is no text between {first} and {second}, so it is unknown where the first one ends; put a space or a quote between them"
    )]
    Adjacent {
        /// As written.
        first: String,
        /// As written.
        second: String,
    },
    /// A format with `escape=csv` is not a list of columns.
    #[error(
        "with escape=csv a format is a list of variables with the same single character between each two of them"
    )]
    NoColumns,
    /// A format with `escape=logfmt` is not a list of pairs.
    #[error(
        "with escape=logfmt a format ends in pairs of a key and a variable, all with the same text between, as in 'method=$request_method path=$request_uri'"
    )]
    NoPairs,
    /// No field contains the request.
    #[error(
        "this format does not log the request; it needs $request or $request_uri (nginx), %r or %U (Apache)"
    )]
    NoRequest,
}

impl FormatError {
    /// Adds the format string to the error.
    pub(super) fn about(self, format: &str) -> Self {
        if matches!(self, Self::NoField(_)) {
            Self::NoField(format.chars().take(80).collect())
        } else {
            self
        }
    }
}
