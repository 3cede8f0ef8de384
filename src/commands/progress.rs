//! A progress bar on standard error, when that is a terminal and the work takes over a second.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::input::find::{InputSource, SourceKind};

/// How long the work may take before a bar is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at how far the work is.
const TICK: Duration = Duration::from_millis(100);

/// Shows how far a piece of work is.
pub(super) struct Progress;

impl Progress {
    /// Does `work` and shows, if `shown` and anyone can see it, how many bytes of `sources` are `done`.
    pub(super) fn watch<T>(shown: bool, sources: &[InputSource], done: &AtomicU64, work: impl FnOnce() -> T) -> T {
        if !shown || !io::stderr().is_terminal() {
            return work();
        }
        thread::scope(|scope| {
            let (finished, waiting) = mpsc::channel::<()>();
            scope.spawn(move || {
                if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    let bar = bar(total(sources));
                    while waiting.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                        bar.set_position(done.load(Ordering::Relaxed));
                    }
                    bar.finish_and_clear();
                }
            });
            let result = work();
            drop(finished);
            result
        })
    }
}

/// The bytes of all files; `None` when a pipe is among them.
fn total(sources: &[InputSource]) -> Option<u64> {
    let size = |source: &InputSource| match source.kind {
        SourceKind::File => source.path.metadata().ok().map(|m| m.len()),
        SourceKind::Stream | SourceKind::Stdin => None,
    };
    sources.iter().map(size).sum()
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(bytes) => (ProgressBar::new(bytes), "{bar:30} {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}  {bytes_per_sec}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
