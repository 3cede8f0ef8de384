//! Pauses a scan at a known point, so that a test can change the file under it.
//!
//! Compiled only with the feature `failpoints`. `PROBEWATCH_PAUSE_AT=chunk:N` pauses after the Nth
//! chunk of regular files was processed and before it is committed. The scan creates the file named
//! in `PROBEWATCH_PAUSE_FILE` with the suffix `.reached`, and continues once the one with the
//! suffix `.go` exists, or after 30 seconds.

/// Pauses after a chunk was processed, if a test requested it.
#[cfg(not(feature = "failpoints"))]
pub(super) fn after_chunk() {}

#[cfg(feature = "failpoints")]
pub(super) use armed::after_chunk;

#[cfg(feature = "failpoints")]
mod armed {
    use std::env;
    use std::fs;
    use std::path::Path;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    /// One check per millisecond, for 30 seconds.
    const CHECKS: u32 = 30_000;

    /// Pauses after a chunk was processed, if a test requested it.
    pub(in crate::input) fn after_chunk() {
        static REQUESTED: OnceLock<Option<u64>> = OnceLock::new();
        static PROCESSED: AtomicU64 = AtomicU64::new(0);
        if let Some(requested) = REQUESTED.get_or_init(requested)
            && PROCESSED.fetch_add(1, Ordering::Relaxed) + 1 == *requested
        {
            wait();
        }
    }

    fn requested() -> Option<u64> {
        env::var("PROBEWATCH_PAUSE_AT")
            .ok()?
            .strip_prefix("chunk:")?
            .parse()
            .ok()
    }

    fn wait() {
        let Some(file) = env::var_os("PROBEWATCH_PAUSE_FILE") else {
            return;
        };
        let [mut reached, mut go] = [file.clone(), file];
        reached.push(".reached");
        go.push(".go");
        if fs::write(reached, "").is_err() {
            return;
        }
        for _ in 0..CHECKS {
            if Path::new(&go).exists() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
