//! Collections of the line loop and of live analysis: fingerprints, interned texts, a map that
//! forgets what is unused the longest.
//!
//! They know no rules and no report.

pub(crate) mod fingerprint;
pub(crate) mod intern;
pub(crate) mod lru;
pub(crate) mod prefetch;
