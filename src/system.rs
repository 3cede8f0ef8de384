//! What everyone who writes files has to do with the system: its words for a failure, and its signal for a file that is too
//! long.
//!
//! Opens nothing and advises nothing: what to do about a failure depends on what was to be written.

use std::io;
use std::sync::Arc;

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
