//! Each format of a small list, and hostile text in all of them.
