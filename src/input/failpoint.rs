//! Stops a scan at a known place so that a test can pull the file away under it.
//!
//! Only with the feature `failpoints`; without it there is nothing here, and no variable is looked at.
//! `PROBEWATCH_PAUSE_AT=chunk:N` stops behind the Nth chunk of regular files that was judged, before it is believed: the
//! file named in `PROBEWATCH_PAUSE_FILE` is created with `.reached` behind its name, and the scan goes on once the same
//! with `.go` exists, or after half a minute.

/// A chunk was judged. Waits where a test asked for it.
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

    /// Once a millisecond, half a minute long.
    const LOOKS: u32 = 30_000;

    /// A chunk was judged. Waits where a test asked for it.
    pub(in crate::input) fn after_chunk() {
        static WANTED: OnceLock<Option<u64>> = OnceLock::new();
        static JUDGED: AtomicU64 = AtomicU64::new(0);
        if let Some(wanted) = WANTED.get_or_init(wanted)
            && JUDGED.fetch_add(1, Ordering::Relaxed) + 1 == *wanted
        {
            wait();
        }
    }

    fn wanted() -> Option<u64> {
        env::var("PROBEWATCH_PAUSE_AT").ok()?.strip_prefix("chunk:")?.parse().ok()
    }

    fn wait() {
        let Some(file) = env::var_os("PROBEWATCH_PAUSE_FILE") else { return };
        let [mut reached, mut go] = [file.clone(), file];
        reached.push(".reached");
        go.push(".go");
        if fs::write(reached, "").is_err() {
            return;
        }
        for _ in 0..LOOKS {
            if Path::new(&go).exists() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
