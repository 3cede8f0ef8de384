//! Who is probing my site, for what, and what answered?
//!
//! The library behind the `probewatch` command. Its rooms stand on floors, and a room knows only rooms on lower floors
//! (a test over the `use` lines keeps it so):
//!
//! | floor | rooms |
//! | --- | --- |
//! | door | [`cli`] |
//! | 7 | [`config`] |
//! | 6 | [`commands`] |
//! | 5 | [`tui`] |
//! | 4 | [`render`] · [`scan`] · [`state`] |
//! | 3 | [`analysis`] |
//! | 2 | [`alerting`] · [`block`] · [`engine`] |
//! | 1 | [`alert_sinks`] · [`formats`] · [`input`] · [`redact`] · [`report_store`] · [`rules`] · [`server_config`] · [`tally`] |
//! | 0 | [`client`] · [`clients`] · [`fetch`] · [`finding`] · [`fingerprint`] · [`heap`] · [`intern`] · [`names`] · [`normalize`] · [`number`] · [`recent`] · [`record`] · [`soft_404`] · [`source`] · [`system`] · [`time`] |
//!
//! The data's way: bytes → chunk cut at newlines → line → target → literals, then regexes → on a hit the whole record →
//! finding → tally → report.

pub mod alert_sinks;
pub mod alerting;
pub mod analysis;
pub mod block;
pub mod cli;
pub mod client;
pub mod clients;
pub mod commands;
pub mod config;
pub mod engine;
pub mod fetch;
pub mod finding;
pub mod fingerprint;
pub mod formats;
pub mod heap;
pub mod input;
pub mod intern;
pub mod names;
pub mod normalize;
pub mod number;
pub mod recent;
pub mod record;
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
