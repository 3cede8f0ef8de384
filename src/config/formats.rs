//! How formats of logs are spelled: a name, a format string, or what the keys of JSON lines mean.
//!
//! A message says what is wrong and what to type; who was told is added by whoever read it.

use std::str::FromStr;

use serde::Deserialize;

use super::value::Spelled;
use crate::commands::message::sanitized;
use crate::formats::{FieldKind, FormatChoice, Formats};

/// A word of `--log-format`: `auto`, a name, or the string of an nginx `log_format` or an Apache `LogFormat`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Spelled")]
pub struct FormatText(String);

impl FormatText {
    /// What was asked for; `None` is to find out.
    #[must_use]
    pub fn asked(self) -> Option<String> {
        Some(self.0).filter(|text| text != "auto")
    }
}

impl FromStr for FormatText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let choice = FormatChoice { requested: Some(text.to_owned()), fields: Vec::new() };
        Formats::new(&choice).map(|_| Self(text.to_owned())).map_err(|error| sanitized(&error.to_string()))
    }
}

/// `MEANING=KEY`: what a key of JSON lines means.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Spelled")]
pub struct FieldKey {
    /// What it means.
    pub meaning: FieldKind,
    /// The key; `request.uri` is the key `uri` of the map `request`.
    pub key: String,
}

impl FromStr for FieldKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (meaning, key) = text
            .split_once('=')
            .filter(|(meaning, key)| !meaning.is_empty() && !key.is_empty())
            .ok_or("not a meaning and its key; type MEANING=KEY, such as client=ip")?;
        Ok(Self { meaning: meaning.parse()?, key: key.to_owned() })
    }
}

impl TryFrom<Spelled> for FormatText {
    type Error = String;

    fn try_from(spelled: Spelled) -> Result<Self, String> {
        spelled.as_str().parse()
    }
}

/// Its message quotes the text: the mark in a file is under the whole list.
impl TryFrom<Spelled> for FieldKey {
    type Error = String;

    fn try_from(spelled: Spelled) -> Result<Self, String> {
        spelled.as_str().parse().map_err(|wrong: String| format!("'{}': {wrong}", sanitized(spelled.as_str())))
    }
}
