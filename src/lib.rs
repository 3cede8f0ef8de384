//! Reports who is probing a web site, for what, and which probes were answered, from its access logs.
//!
//! This is the library of the `probewatch` command. Its modules are in layers: a module uses only modules of lower layers, and
//! in layer 0 there are no cycles. A test reads this table and checks all `use` paths against it.
//!
//! | layer | modules |
//! | --- | --- |
//! | 8 | [`cli`] |
//! | 7 | [`config`] |
//! | 6 | [`commands`] |
//! | 5 | [`tui`] |
//! | 4 | [`render`] · [`scan`] · [`state`] |
//! | 3 | [`analysis`] |
//! | 2 | [`alerting`] · [`block`] · [`engine`] |
//! | 1 | [`alert_sinks`] · [`formats`] · [`input`] · [`redact`] · [`report_store`] · [`rules`] · [`server_config`] · [`tally`] |
//! | 0 | [`allocator`] · [`client`] · [`finding`] · [`fingerprint`] · [`intern`] · [`log_entry`] · [`lru`] · [`normalize`] · [`number`] · [`prefetch`] · [`soft_404`] · [`source`] · [`system`] · [`time`] |
//!
//! How a log becomes a report:
//!
//! 1. [`input`] opens logs, decompresses them and cuts them into chunks of whole lines.
//! 2. [`formats`] finds the fields of each line.
//! 3. [`engine`] normalises the request target and matches it against the [`rules`]: literals first, then regular expressions.
//!    A line that matches becomes a finding.
//! 4. [`tally`] counts the findings. Tallies of parts of a log merge into the tally of the whole log.
//! 5. [`analysis`] decides what needs the whole log, as which answers are distinct, and builds the rows of the report.
//! 6. [`render`] writes the report as a table, CSV, JSON, NDJSON or a page, after [`redact`] has masked secrets and escaped text.
//!
//! [`scan`] runs steps 1 to 4 in parallel, over whole logs or as logs grow.

pub mod alert_sinks;
pub mod alerting;
pub mod allocator;
pub mod analysis;
pub mod block;
pub mod cli;
pub mod client;
pub mod commands;
pub mod config;
pub mod engine;
pub mod finding;
pub mod fingerprint;
pub mod formats;
pub mod input;
pub mod intern;
pub mod log_entry;
pub mod lru;
pub mod normalize;
pub mod number;
pub mod prefetch;
pub mod redact;
pub mod render;
pub mod report_store;
pub mod rules;
pub mod scan;
pub mod server_config;
pub mod soft_404;
pub mod source;
pub mod state;
pub mod system;
pub mod tally;
pub mod time;
pub mod tui;
