//! What comes from the terminal: keys, and that its size changed.
//!
//! A thread of its own reads them and hands them on, so that whoever runs the view waits in one place for everything. It
//! looks at the terminal itself before it lets the library read: at a terminal that is gone the library would read
//! nothing for ever.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEvent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long it may take until a new size, or the end, is noticed.
const POLL_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// Something that came from the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key.
    Key(KeyEvent),
    /// It has another size.
    Resized,
    /// It is gone: hung up, or not to be read.
    Gone,
}

/// The thread that reads keys. It ends when this is dropped, within a fifth of a second.
#[derive(Debug)]
pub struct KeyReader {
    stop: Arc<AtomicBool>,
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Reads keys on a thread of its own and gives each to `send`, until the terminal is gone or [`KeyReader`] is dropped. To be
/// called when the screen was entered.
///
/// # Errors
///
/// There is no terminal to read from, or the system has no thread to give.
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

/// The terminal that the library reads: standard input, or that of the process.
fn terminal() -> io::Result<OwnedFd> {
    let input = io::stdin();
    if input.is_terminal() { input.as_fd().try_clone_to_owned() } else { Ok(File::open("/dev/tty")?.into()) }
}

/// Waits a while and hands on what came; whether the terminal is still there.
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
    // A changed size comes as a signal, which only the library sees.
    while event::poll(Duration::ZERO)? {
        match event::read()? {
            Event::Key(key) => send(TerminalInput::Key(key)),
            Event::Resize(..) => send(TerminalInput::Resized),
            _ => {}
        }
    }
    Ok(true)
}
