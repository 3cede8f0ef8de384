//! stub
#![expect(missing_docs)]
use super::{Fields, Meaning, Room};
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
