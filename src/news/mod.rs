//! What was seen in earlier runs. A placeholder: remembers nothing.

use serde::{Deserialize, Serialize};

/// What was seen.
#[derive(Default, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Seen {}
