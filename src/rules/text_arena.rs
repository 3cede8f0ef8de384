//! Texts by number, one behind the other in one piece of memory: those that are compared together lie together, and the
//! allocator is asked once for all.

/// Texts that only ever become more.
#[derive(Debug, Clone, Default)]
pub(super) struct TextArena {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
}

impl TextArena {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text with a number.
    #[inline]
    pub(super) fn get(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// All of them, by number.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.iter().next_back()
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        // Rule files are held to 16 MiB each: nobody comes near four gigabytes.
        self.ends.push(self.bytes.len() as u32);
    }

    /// Adds a text in lower case.
    pub(super) fn push_lowered(&mut self, text: &[u8]) {
        let start = self.bytes.len();
        self.push(text);
        self.bytes[start..].make_ascii_lowercase();
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for TextArena {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.push(text.as_ref());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_number() {
        let texts: TextArena = ["a", "", "bcd", ""].into_iter().collect();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bcd", b""]);
        assert_eq!((texts.len(), texts.get(2), texts.last()), (4, &b"bcd"[..], Some(&b""[..])));
        assert_eq!(TextArena::default().last(), None);
    }
}
