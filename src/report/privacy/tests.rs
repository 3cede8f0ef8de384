//! That nothing of a client is told, and nothing else changes.

use super::*;
