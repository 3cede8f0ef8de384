//! What differs between two reports.
