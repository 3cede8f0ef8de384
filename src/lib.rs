//! Who is probing my site, for what, and what answered?
//!
//! The library behind the `probewatch` command. Its rooms stand on floors, and a room knows only rooms on lower floors
//! (a test over the `use` lines keeps it so):
//!
//! | floor | rooms |
//! | --- | --- |
//! | door | [`cli`] · [`config`] |
//! | 5 | [`command`] |
//! | 4 | [`learn`] · [`merge`] · [`pipeline`] · [`tui`] |
//! | 3 | [`action`] · [`input`] · [`report`] · [`state`] |
//! | 2 | [`archive`] · [`block`] · [`engine`] · [`window`] |
//! | 1 | [`context`] · [`format`](mod@format) · [`news`] · [`rules`] · [`server`] · [`tally`] |
//! | 0 | [`alert`] · [`allocator`] · [`client`] · [`finding`] · [`fingerprint`] · [`intern`] · [`log_entry`] · [`lru`] · [`normalize`] · [`prefetch`] · [`soft_404`] · [`source`] · [`system`] · [`time`] |
//!
//! The data's way: bytes → chunk cut at newlines → line → target → literals, then regexes → on a hit the whole record →
//! finding → tally → report.

pub mod action;
pub mod alert;
pub mod allocator;
pub mod archive;
pub mod block;
pub mod cli;
pub mod client;
pub mod command;
pub mod config;
pub mod context;
pub mod engine;
pub mod finding;
pub mod fingerprint;
pub mod format;
pub mod input;
pub mod intern;
pub mod learn;
pub mod log_entry;
pub mod lru;
pub mod merge;
pub mod news;
pub mod normalize;
pub mod pipeline;
pub mod prefetch;
pub mod report;
pub mod rules;
pub mod server;
pub mod soft_404;
pub mod source;
pub mod state;
pub mod system;
pub mod tally;
pub mod time;
pub mod tui;
pub mod window;
