//! Makes text from a log safe to print: masks secrets, and escapes what a terminal, a spreadsheet or a parser would act on.
//!
//! No text of a log reaches an output except through this module. It makes no decision about requests.

pub(crate) mod mask;
pub(crate) mod sanitize;
