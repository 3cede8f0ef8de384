//! stub
#![expect(missing_docs)]
use super::{Fields, Meaning};
#[derive(Debug, Default)]
pub struct Room {
    _b: Vec<u8>,
}
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FormatError(pub String);
#[derive(Debug, Clone)]
pub struct Plan {}
impl Plan {
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let _ = text;
        Ok(Self {})
    }
    pub fn read<'a>(&self, _line: &'a [u8], _room: &'a mut Room) -> Option<Fields<'a>> {
        None
    }
    pub fn with_forwarded(self, _header: &Meaning) -> Self {
        self
    }
    pub fn meanings(&self) -> impl Iterator<Item = (&str, &Meaning)> {
        std::iter::empty()
    }
    pub fn split<'a>(&self, _line: &'a [u8]) -> Option<Vec<(&str, &'a [u8])>> {
        None
    }
}
#[derive(Debug, Clone)]
pub struct Json {}
impl Json {
    pub fn by_meaning() -> Self {
        Self {}
    }
    pub fn with_fields(_given: &[(Meaning, String)]) -> Self {
        Self {}
    }
    pub fn with_forwarded(self, _header: &Meaning) -> Self {
        self
    }
    pub fn read<'a>(&self, _line: &'a [u8], _room: &'a mut Room) -> Option<Fields<'a>> {
        None
    }
    pub fn split<'a>(&self, _line: &'a [u8]) -> Option<Vec<(String, &'a [u8], Meaning)>> {
        None
    }
}
pub mod canonical {
    pub fn write(_fields: &super::Fields<'_>, line: &mut Vec<u8>) {
        line.extend(b"x");
    }
}
pub mod w3c {
    pub fn directive(_line: &[u8]) -> Option<super::Plan> {
        None
    }
}
