//! Evidence there and back.
