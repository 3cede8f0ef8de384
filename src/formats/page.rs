//! Where what lines say is put, by whoever has read them: as combined lines, or as what a frame is made of.

use super::{Fields, canonical};

/// Where what lines say is put.
pub(super) trait Page {
    /// Puts the fields of a line there.
    fn put(&mut self, fields: &Fields<'_>);
    /// Puts a line of the engine's own formats there.
    fn put_line(&mut self, line: &[u8]);
    /// The length of all lines that were put there, as they are written down.
    fn length(&self) -> usize;
}

impl Page for Vec<u8> {
    #[inline]
    fn put(&mut self, fields: &Fields<'_>) {
        canonical::write(fields, self);
    }

    fn put_line(&mut self, line: &[u8]) {
        self.extend_from_slice(line);
    }

    fn length(&self) -> usize {
        self.len()
    }
}
