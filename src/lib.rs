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
//! | 0 | [`alert`] · [`client`] · [`clients`] · [`fetch`] · [`finding`] · [`fingerprint`] · [`heap`] · [`intern`] · [`names`] · [`normalize`] · [`recent`] · [`record`] · [`soft_404`] · [`source`] · [`system`] · [`time`] |
//!
//! The data's way: bytes → chunk cut at newlines → line → target → literals, then regexes → on a hit the whole record →
//! finding → tally → report.

pub mod action;
pub mod alert;
pub mod archive;
pub mod block;
pub mod cli;
pub mod client;
pub mod clients;
pub mod command;
pub mod config;
pub mod context;
pub mod engine;
pub mod fetch;
pub mod finding;
pub mod fingerprint;
pub mod format;
pub mod heap;
pub mod input;
pub mod intern;
pub mod learn;
pub mod merge;
pub mod names;
pub mod news;
pub mod normalize;
pub mod pipeline;
pub mod recent;
pub mod record;
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
