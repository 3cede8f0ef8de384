//! What is read out of Apache configurations.
