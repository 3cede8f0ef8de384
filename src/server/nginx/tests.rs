//! What is read out of nginx configurations.
