//! Grades of made-up sites.
