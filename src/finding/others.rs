//! Lines by the names of formats other than the Common Log Format and its children: few names, and sums.

use std::sync::Arc;

/// Lines of other formats, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Others(Vec<(Arc<str>, u64)>);

impl Others {
    /// Adds lines of a format.
    pub fn count(&mut self, name: &Arc<str>, lines: u64) {
        if lines == 0 {
            return;
        }
        match self.0.binary_search_by(|(known, _)| known.cmp(name)) {
            Ok(at) => self.0[at].1 += lines,
            Err(at) => self.0.insert(at, (Arc::clone(name), lines)),
        }
    }

    /// Adds the lines of others.
    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, lines)| self.count(name, *lines));
    }

    /// All lines.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.0.iter().map(|(_, lines)| lines).sum()
    }

    /// Each format's name and lines, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, u64)> + Clone {
        self.0.iter().map(|(name, lines)| (name, *lines))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_once_and_in_order() {
        let mut sum = Others::default();
        for (name, lines) in [("json", 2), ("aws_alb", 1), ("json", 3), ("w3c", 0)] {
            sum.count(&name.into(), lines);
        }
        let mut twice = sum.clone();
        twice.add(&sum);
        assert_eq!(sum.iter().map(|(name, lines)| (&**name, lines)).collect::<Vec<_>>(), [("aws_alb", 1), ("json", 5)]);
        assert_eq!((sum.sum(), twice.sum()), (6, 12));
    }
}
