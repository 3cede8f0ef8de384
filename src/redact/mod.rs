//! Makes text from a log safe to print: masks secrets, and escapes what a terminal, a spreadsheet or a parser would act on.
//!
//! No text of a log reaches an output except through this module. It makes no decision about requests.

pub(crate) mod mask;
pub(crate) mod sanitize;

use std::sync::Arc;

use serde::{Serialize, Serializer};

use self::mask::redacted;
use self::sanitize::escape;

/// Writes text of a log into a document.
pub(crate) fn serialize_text<S: Serializer>(text: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&redacted(text))
}

/// Writes text of a log, if there is one.
#[expect(clippy::ref_option_ref, reason = "serde passes a reference")]
pub(crate) fn serialize_optional_text<S: Serializer>(text: &Option<&[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    text.map(redacted).serialize(serializer)
}

/// Writes text that is of no log.
pub(crate) fn serialize_escaped<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&escape(text.as_bytes()))
}

/// Writes a name of a database, if there is one.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
pub(crate) fn serialize_name<S: Serializer>(name: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_ref().map(|name| escape(name.as_bytes())).serialize(serializer)
}

/// Writes names of a database.
pub(crate) fn serialize_names<S: Serializer>(names: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(names.iter().map(|name| escape(name.as_bytes())))
}
