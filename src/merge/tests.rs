//! Any split comes to the same.
