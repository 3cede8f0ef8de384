//! What everyone who writes files has to do with the system: its words for a failure, its signal for a file that is too long,
//! and whether there is a standard output at all.
//!
//! Opens nothing and advises nothing: what to do about a failure depends on what was to be written.

#![cfg_attr(target_os = "linux", expect(unsafe_code, reason = "what runs before the standard library starts"))]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGXFSZ;

/// The system's words without their number, and in the middle of a sentence.
pub(crate) fn reason(error: &io::Error) -> String {
    let message = error.to_string();
    let words = message.split(" (os error ").next().unwrap_or(&message);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Past a file size limit (`ulimit -f`) the system sends a signal that ends the process, unless someone listens; then
/// the write fails like any other.
pub(crate) fn survive_size_limit() {
    // A failure leaves the signal as it was, which is no reason to write nothing.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Standard output was closed when the process began. Set once, before `main`; nothing else changes it. The standard library opens
/// `/dev/null` in its place, so that later nothing shows it: a report would be lost without a word.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader of the system (`.init_array`), before the standard library looks at the descriptors.
#[cfg(target_os = "linux")]
#[used]
// SAFETY: The section holds pointers to functions of C, and this is one.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

#[cfg(target_os = "linux")]
extern "C" fn look_at_stdout() {
    // SAFETY: It takes two numbers, and may be called at any time (`fcntl(2)`, `signal-safety(7)`).
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Whether standard output was closed when the process began (`>&-`).
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fit_into_a_sentence() {
        assert_eq!(reason(&io::Error::from_raw_os_error(libc::ENOSPC)), "no space left on device");
        assert_eq!(reason(&io::Error::other("Élan lost")), "élan lost");
        assert_eq!(reason(&io::Error::other("")), "");
    }
}
