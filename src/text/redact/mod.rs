//! Makes text from a log safe to print: masks secrets, and escapes what a terminal, a spreadsheet
//! or a parser would act on.
//!
//! No text of a log reaches an output except as a [`LogText`]. It makes no decision about requests.

pub(crate) mod mask;
pub(crate) mod sanitize;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use self::sanitize::escape;

/// A text of a log. Whatever prints it masks its secrets and escapes it: `/?password=a&x=<ESC>` is
/// `/?password=***&x=\x1b`.
///
/// Two texts are equal if their bytes are, also where outputs show them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogText<'a>(&'a [u8]);

impl<'a> LogText<'a> {
    /// The text of these bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The text as every output shows it.
    #[must_use]
    pub fn redacted(self) -> Cow<'a, str> {
        mask::redacted(self.0)
    }

    /// The percent-decoded form of this target, as every output shows it.
    #[must_use]
    pub(crate) fn redacted_decoded(self, decoded: DecodedText<'a>) -> Cow<'a, str> {
        mask::redacted_decoded(self.0, decoded.0)
    }

    /// The bytes, to compare, parse or hide them: nothing may print them.
    #[must_use]
    pub const fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Whether there is no text.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> From<&'a [u8]> for LogText<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> From<LogText<'a>> for Cow<'a, str> {
    fn from(text: LogText<'a>) -> Self {
        text.redacted()
    }
}

impl fmt::Display for LogText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl Serialize for LogText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redacted())
    }
}

/// Gives a type that is serialized as a text the schema of a text.
macro_rules! text_schema {
    ($type:ty) => {
        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                String::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                String::json_schema(generator)
            }
        }
    };
}

pub(crate) use text_schema;

text_schema!(LogText<'_>);

/// A [`LogText`] that owns its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LogString(Vec<u8>);

impl LogString {
    /// The text.
    #[must_use]
    pub(crate) fn text(&self) -> LogText<'_> {
        LogText(&self.0)
    }
}

impl From<Vec<u8>> for LogString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<LogText<'_>> for LogString {
    fn from(text: LogText<'_>) -> Self {
        Self(text.0.into())
    }
}

/// The percent-decoded form of a target. Only the target shows which parts of it are secret, so it
/// prints with [`LogText::redacted_decoded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DecodedText<'a>(&'a [u8]);

impl<'a> DecodedText<'a> {
    /// The decoded form in these bytes.
    #[must_use]
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, to compare or hide them: nothing may print them.
    #[must_use]
    pub(crate) const fn raw(self) -> &'a [u8] {
        self.0
    }
}

/// Writes text that is of no log, such as the path of one.
pub(crate) fn serialize_escaped<S: Serializer>(
    text: &(impl AsRef<[u8]> + ?Sized),
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&escape(text.as_ref()))
}

/// Writes a name of a host or of a database, if there is one.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(crate) fn serialize_name<S: Serializer>(
    name: &Option<impl AsRef<str>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    name.as_ref()
        .map(|name| escape(name.as_ref().as_bytes()))
        .serialize(serializer)
}

/// Writes names of a database.
pub(crate) fn serialize_names<S: Serializer>(
    names: &[Arc<str>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(|name| escape(name.as_bytes())))
}
