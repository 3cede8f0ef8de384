//! What a format string is made of, before it is compiled: literal texts and named fields, in the words of no product.
//!
//! `nginx`, `apache` and `w3c` make parts, `plan` compiles them. Fields between which nothing stands are joined here,
//! where the two together make sense; nothing else is decided.

use super::Meaning;

/// A piece of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Stands in every line as it is.
    Text(Vec<u8>),
    /// Another text in each line.
    Field(Named),
}

/// A field of a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// As written: `$remote_addr`, `%{Referer}i`, `cs(Referer)`.
    pub(super) name: String,
    /// What it means to us.
    pub(super) meaning: Meaning,
    /// Of fields that mean the same, the one with the lowest rank counts, the first of equals.
    pub(super) rank: u8,
    /// What a text of it looks like.
    pub(super) shape: Shape,
}

/// What the text of a field looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
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

impl Named {
    /// A field of any text.
    pub(super) fn new(name: impl Into<String>, meaning: Meaning) -> Self {
        Self { name: name.into(), meaning, rank: 0, shape: Shape::Text }
    }

    /// The same, in another shape.
    pub(super) fn shaped(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    /// The same, after others that mean it too.
    pub(super) fn ranked(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Takes in the field behind, with the text between, where they are one thing.
    fn join(&mut self, between: &[u8], next: &Self) -> bool {
        let (meaning, shape) = match (&self.meaning, &self.shape, between, &next.meaning, &next.shape) {
            (Meaning::Client | Meaning::Host, Shape::Text, b":", _, Shape::Port) => (self.meaning.clone(), Shape::Ported),
            (Meaning::Host, Shape::Text | Shape::Ported, b"", Meaning::Target | Meaning::Path, Shape::Text) => {
                (Meaning::Target, Shape::Url)
            }
            (Meaning::Path, Shape::Text, b"", _, Shape::QueryMark) => (Meaning::Target, Shape::Text),
            (Meaning::Target, Shape::Text | Shape::Url, b"", Meaning::Query, _) | (_, Shape::Url, b"", _, Shape::QueryMark) => {
                (Meaning::Target, self.shape.clone())
            }
            (_, Shape::Strftime(first), _, _, Shape::Strftime(second)) => (Meaning::Time, Shape::Strftime(pattern(first, between, second))),
            (_, Shape::Strftime(first), _, _, Shape::Fraction) => (Meaning::Time, Shape::Strftime(pattern(first, between, "%f"))),
            (_, Shape::Written, b".", _, Shape::Fraction) => (Meaning::Time, Shape::Written),
            _ => return false,
        };
        (self.meaning, self.shape) = (meaning, shape);
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
pub(super) fn joined(parts: impl IntoIterator<Item = Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        match (joined.as_mut_slice(), part) {
            ([.., Part::Text(before)], Part::Text(text)) => before.extend_from_slice(&text),
            ([.., Part::Field(before)], Part::Field(field)) => {
                if !before.join(b"", &field) {
                    joined.push(Part::Field(field));
                }
            }
            ([.., Part::Field(before), Part::Text(between)], Part::Field(field)) => {
                if before.join(between, &field) {
                    joined.pop();
                } else {
                    joined.push(Part::Field(field));
                }
            }
            (_, Part::Text(text)) if text.is_empty() => {}
            (_, part) => joined.push(part),
        }
    }
    joined
}
