//! Reads keys and size changes of the terminal, on a thread.
//!
//! The thread polls the terminal before the library reads it: on a closed terminal the library would wait for ever.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The longest time until a new size, or the end, is noticed.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Input of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key.
    Key(KeyEvent),
    /// The size changed.
    Resized,
    /// The terminal is closed or cannot be read.
    Gone,
}

/// The thread that reads keys. It ends within a fifth of a second after this is dropped.
#[derive(Debug)]
pub struct KeyReader {
    stop: Arc<AtomicBool>,
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Reads keys on a thread and passes each to `send`, until the terminal is closed or [`KeyReader`] is dropped. Call it after
/// [`Screen::enter`](super::Screen::enter).
///
/// # Errors
///
/// There is no terminal to read from, or no thread can be started.
pub fn spawn_key_reader(send: impl Fn(TerminalInput) + Send + 'static) -> io::Result<KeyReader> {
    let terminal = terminal()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    thread::Builder::new().name("keys".to_owned()).spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            if !next(&terminal, &send).unwrap_or(false) {
                send(TerminalInput::Gone);
                break;
            }
        }
    })?;
    Ok(KeyReader { stop })
}

/// The terminal that the library reads: standard input, or `/dev/tty`.
fn terminal() -> io::Result<OwnedFd> {
    let input = io::stdin();
    if input.is_terminal() { input.as_fd().try_clone_to_owned() } else { Ok(File::open("/dev/tty")?.into()) }
}

/// Waits for input and passes it on. Returns whether the terminal is still open.
fn next(terminal: &OwnedFd, send: &impl Fn(TerminalInput)) -> io::Result<bool> {
    let mut watched = [PollFd::new(terminal, PollFlags::IN)];
    match poll(&mut watched, Some(&POLL_TIMEOUT)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(true),
        Err(failure) => return Err(failure.into()),
    }
    if watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Ok(false);
    }
    // A size change is a signal, which only the library sees.
    while event::poll(Duration::ZERO)? {
        match event::read()? {
            Event::Key(key) => send(TerminalInput::Key(key)),
            Event::Resize(..) => send(TerminalInput::Resized),
            _ => {}
        }
    }
    Ok(true)
}
