//! A progress bar on standard error, if that is a terminal and the work takes more than a second.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::input::find::{InputSource, SourceKind};

/// How long the work takes before a bar is shown.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// The time between updates of the bar.
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Shows the progress of reading.
pub(super) struct Progress;

impl Progress {
    /// Does `work`, and if `shown` and standard error is a terminal, shows how many bytes of `sources` are `done`.
    pub(super) fn watch<T>(shown: bool, sources: &[InputSource], done: &AtomicU64, work: impl FnOnce() -> T) -> T {
        if !shown || !io::stderr().is_terminal() {
            return work();
        }
        thread::scope(|scope| {
            let (finished, waiting) = mpsc::channel::<()>();
            scope.spawn(move || {
                if waiting.recv_timeout(SHOW_AFTER) == Err(RecvTimeoutError::Timeout) {
                    let bar = bar(total(sources));
                    while waiting.recv_timeout(REDRAW_INTERVAL) == Err(RecvTimeoutError::Timeout) {
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

/// The size of all files; `None` if one of them is a pipe.
fn total(sources: &[InputSource]) -> Option<u64> {
    let size = |source: &InputSource| match source.kind {
        SourceKind::File => source.path.metadata().ok().map(|m| m.len()),
        SourceKind::Stream | SourceKind::Stdin | SourceKind::Reader => None,
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
