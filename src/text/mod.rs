//! Text: decoding a request target for the rules, and what an output may show: redacted, escaped,
//! with units.
//!
//! Pure functions. Does not write anything.

pub(crate) mod normalize;
pub(crate) mod number;
pub(crate) mod redact;
pub(crate) mod short_bytes;
