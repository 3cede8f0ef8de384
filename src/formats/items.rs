//! What a format string is made of, before it is compiled: literal texts and named fields, in the words of no product.
//!
//! `nginx`, `apache` and `w3c` make parts, `plan` compiles them. Fields between which nothing stands are joined here,
//! where the two together make sense; nothing else is decided.

use super::FieldKind;

/// A piece of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FormatItem {
    /// Stands in every line as it is.
    Text(Vec<u8>),
    /// Another text in each line.
    Field(FieldItem),
}

/// A field of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldItem {
    /// As written: `$remote_addr`, `%{Referer}i`, `cs(Referer)`.
    pub(super) name: String,
    /// What it means to us.
    pub(super) kind: FieldKind,
    /// Of fields that mean the same, the one with the lowest rank counts, the first of equals.
    pub(super) rank: u8,
    /// What a text of it looks like.
    pub(super) shape: FieldShape,
}

/// What the text of a field looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldShape {
    /// Any text.
    Text,
    /// Digits, perhaps with a point, or a dash; never nothing at all.
    Number,
    /// The number of a port.
    Port,
    /// An address or a host with a port behind it.
    Ported,
    /// Perhaps several values, with a comma or a colon and spaces between: `10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80`.
    List,
    /// A time as the Common Log Format has it.
    Clf,
    /// A time in a form that can be told.
    Written,
    /// The same, of so many bytes.
    WrittenWide(u16),
    /// A time in a form of `strftime`.
    Strftime(String),
    /// The digits behind the point of a time.
    Fraction,
    /// Host and target in one, a scheme before them or not.
    Url,
    /// A request line with a whole address in it.
    RequestUrl,
    /// A query with its question mark, or nothing at all.
    QueryMark,
}

impl FieldItem {
    /// A field of any text.
    pub(super) fn new(name: impl Into<String>, kind: FieldKind) -> Self {
        Self { name: name.into(), kind, rank: 0, shape: FieldShape::Text }
    }

    /// The same, in another shape.
    pub(super) fn shaped(self, shape: FieldShape) -> Self {
        Self { shape, ..self }
    }

    /// The same, after others that mean it too.
    pub(super) fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Takes in the field behind, with the text between, where they are one thing.
    fn join(&mut self, between: &[u8], next: &Self) -> bool {
        let (kind, shape) = match (&self.kind, &self.shape, between, &next.kind, &next.shape) {
            (FieldKind::Client | FieldKind::Host, FieldShape::Text, b":", _, FieldShape::Port) => (self.kind.clone(), FieldShape::Ported),
            (FieldKind::Host, FieldShape::Text | FieldShape::Ported, b"", FieldKind::Target | FieldKind::Path, FieldShape::Text) => {
                (FieldKind::Target, FieldShape::Url)
            }
            (FieldKind::Path, FieldShape::Text, b"", _, FieldShape::QueryMark) => (FieldKind::Target, FieldShape::Text),
            (FieldKind::Target, FieldShape::Text | FieldShape::Url, b"", FieldKind::Query, _)
            | (_, FieldShape::Url, b"", _, FieldShape::QueryMark) => (FieldKind::Target, self.shape.clone()),
            (_, FieldShape::Strftime(first), _, _, FieldShape::Strftime(second)) => {
                (FieldKind::Time, FieldShape::Strftime(pattern(first, between, second)))
            }
            (_, FieldShape::Strftime(first), _, _, FieldShape::Fraction) => {
                (FieldKind::Time, FieldShape::Strftime(pattern(first, between, "%f")))
            }
            (_, FieldShape::Written, b".", _, FieldShape::Fraction) => (FieldKind::Time, FieldShape::Written),
            _ => return false,
        };
        (self.kind, self.shape) = (kind, shape);
        self.name.push_str(&String::from_utf8_lossy(between));
        self.name.push_str(&next.name);
        true
    }
}

/// Two patterns of `strftime` and the text between them.
fn pattern(first: &str, between: &[u8], second: &str) -> String {
    format!("{first}{}{second}", String::from_utf8_lossy(between).replace('%', "%%"))
}

/// Joins texts that stand side by side, and fields that are one thing.
pub(super) fn joined(parts: impl IntoIterator<Item = FormatItem>) -> Vec<FormatItem> {
    let mut joined: Vec<FormatItem> = Vec::new();
    for part in parts {
        match (joined.as_mut_slice(), part) {
            ([.., FormatItem::Text(before)], FormatItem::Text(text)) => before.extend_from_slice(&text),
            ([.., FormatItem::Field(before)], FormatItem::Field(field)) => {
                if !before.join(b"", &field) {
                    joined.push(FormatItem::Field(field));
                }
            }
            ([.., FormatItem::Field(before), FormatItem::Text(between)], FormatItem::Field(field)) => {
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
