//! Which clients asked for so many different things that their other requests are to be seen in that light.

/// Clients by number, each a prober or not.
#[derive(Debug, Default)]
pub struct ProberSet {
    is_prober: Vec<bool>,
}

impl ProberSet {
    /// Those who asked for at least so many distinct paths, out of pairs of a client and a path in any order.
    #[must_use]
    pub fn from_requests(mut asked: Vec<(u32, u32)>, distinct_paths: u32) -> Self {
        asked.sort_unstable();
        asked.dedup();
        let mut is_prober = Vec::new();
        for paths in asked.chunk_by(|a, b| a.0 == b.0).filter(|paths| paths.len() >= distinct_paths as usize) {
            let client = paths[0].0 as usize;
            is_prober.resize(client + 1, false);
            is_prober[client] = true;
        }
        Self { is_prober }
    }

    /// Whether a client is one.
    #[must_use]
    pub fn contains(&self, client: u32) -> bool {
        self.is_prober.get(client as usize).copied().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::site::probers::*;

    #[test]
    fn counts_distinct_paths() {
        let asked = vec![(7, 1), (2, 1), (7, 2), (2, 1), (2, 1), (7, 1), (9, 3), (9, 4)];
        let probers = ProberSet::from_requests(asked, 2);
        assert_eq!((0..12).filter(|&client| probers.contains(client)).collect::<Vec<_>>(), [7, 9]);
        assert!(!ProberSet::from_requests(vec![(1, 1)], 2).contains(1));
    }
}
