//! What benchmarks, fuzz targets and tests use of the inside of the crate.
//!
//! Compiled only with the feature `internals`, which releases lack. Nothing here is stable.

#![allow(
    missing_docs,
    reason = "the modules have the names of those that they are parts of"
)]

pub mod report {
    pub mod build {
        pub use crate::judge::report_input::{ReportFilter, ReportInput};
        pub use crate::report::build::{LogAnalysis, RowSelection, build};
    }
    pub mod merge {
        pub use crate::report::merge::{MergedReport, ReportMerger};
    }
    pub mod model {
        pub use crate::report::model::{Row, RowKey};
        pub use crate::scan::input_summary::InputSummary;
    }
    pub mod snapshot {
        pub use crate::report::snapshot::{ReportSnapshot, read, read_rows};
    }
}

pub mod engine {
    pub use crate::engine::{LineScanner, Matcher, ScanOptions, WorkerState};
}

pub mod finding {
    pub use crate::log::finding::{Findings, LineCounts, Severity};
}

pub mod formats {
    pub use crate::formats::{
        ClientPosition, EntryBuffer, FieldBuffers, FormatChoice, FormatId, FormatLineParser,
        Formats, Frame, Headers, JsonLineParser, Layouts, W3cHeader,
    };
    pub mod builtin {
        pub use crate::formats::builtin::JSON;
    }
    pub mod bytes {
        pub use crate::formats::bytes::leading_nuls;
    }
    pub mod reader {
        pub use crate::formats::reader::{LineContext, LineKind, LogReader};
    }
}

pub mod input {
    pub use crate::input::Mmap;
    pub mod find {
        pub use crate::input::find::{InputSource, SourceKind};
    }
    pub mod read {
        pub use crate::input::read::{
            Body, Chunk, MAX_LINE, OpenError, ReadOptions, ReadSummary, SkippedText, read,
        };
    }
}

pub mod intern {
    pub use crate::collections::intern::SymbolTables;
}

pub mod log_entry {
    pub use crate::log::log_entry::LogEntry;
}

pub mod normalize {
    pub use crate::text::normalize::Normalizer;
}

pub mod render {
    pub use crate::render::{OutputFormat, RenderOptions, render};
}

pub mod rules {
    pub use crate::rules::{AllowList, RuleChoice, RuleSet, check, load};
    pub mod import {
        pub use crate::rules::import::{ImportFormat, finalize, import};
    }
}

pub mod soft_404 {
    pub use crate::soft_404::{Answer, Reason};
}

pub mod source {
    pub use crate::log::source::SourceInfo;
}

pub mod state {
    pub use crate::state::{PersistedState, ReportState, StateFolder, TailState};
}

pub mod tally {
    pub use crate::tally::{Budget, LinePosition, Tally};
}
