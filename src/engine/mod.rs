//! Judges lines: the same bytes get the same verdict, whoever reads them and in whatever pieces.
//!
//! Pure: no file, no clock, no screen, no failure. What depends on other lines is not decided here.

#[cfg(test)]
mod excuse_tests;
pub mod explain;
mod index;
mod judge;
mod key;
mod matcher;
mod memory;
mod picked;
mod probe;
mod scratch;
mod shared;
#[cfg(test)]
mod tests;
mod unlisted;

pub use judge::{Judge, Scope};
pub use matcher::Matcher;
pub use probe::Probe;
pub use scratch::{Scratch, Verdict};
pub use shared::Shared;
