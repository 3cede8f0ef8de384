//! Sets the terminal up for the live view, reads its keys and size changes, and restores it.
//!
//! Draws at most ten times a second, and only changes. The terminal is restored when [`Screen`] is
//! dropped and when the process panics; a process that ends in another way calls
//! [`restore_terminal`] first.
//!
//! Keys are read on a thread, which polls the terminal before the library reads it: on a closed
//! terminal the library would wait for ever.

use std::fs::File;
use std::io::{IsTerminal, Stdout, Write, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{env, io, panic, thread};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{Event, KeyEvent};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{event, execute};
use ratatui::layout::Rect;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

use super::dashboard::Dashboard;

/// The least time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The live view cannot start.
#[derive(Debug, Error)]
pub(crate) enum ScreenError {
    /// Standard output is a file or a pipe.
    #[error(
        "the live view needs a terminal, and standard output is not one; omit --tui to print one line per hit"
    )]
    NoTerminal,
    /// `TERM` is `dumb` or not set.
    #[error(
        "the live view needs a terminal that can place the cursor, and TERM is '{0}'; set TERM, or omit --tui to print one line per hit"
    )]
    Dumb(String),
    /// The terminal cannot be set up.
    #[error(
        "the terminal cannot be set up for the live view: {0}; omit --tui to print one line per hit"
    )]
    Refused(#[source] io::Error),
}

/// The terminal of the live view.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<TerminalOutput>>,
    active: Arc<AtomicBool>,
    drawn: Option<Instant>,
}

/// Standard output until the terminal is restored; later writes are dropped. The library writes
/// when it is dropped, and would panic if the terminal is closed by then.
#[derive(Debug)]
struct TerminalOutput {
    stdout: Stdout,
    active: Arc<AtomicBool>,
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.active.load(Ordering::SeqCst) {
            self.stdout.write(bytes)
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.active.load(Ordering::SeqCst) {
            self.stdout.flush()
        } else {
            Ok(())
        }
    }
}

impl Screen {
    /// Sets up the terminal: the alternate screen, and raw mode, in which Ctrl-C is a key and not a
    /// signal. Nothing else may write to the terminal until this is dropped. Call it once per
    /// process, as it adds a panic hook.
    ///
    /// # Errors
    ///
    /// Standard output is not a terminal, or one that cannot be set up.
    pub(crate) fn enter() -> Result<Self, ScreenError> {
        if !stdout().is_terminal() {
            return Err(ScreenError::NoTerminal);
        }
        let term = env::var("TERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return Err(ScreenError::Dumb(term));
        }
        let active = Arc::new(AtomicBool::new(true));
        restore_on_panic(Arc::clone(&active));
        let output = TerminalOutput {
            stdout: stdout(),
            active: Arc::clone(&active),
        };
        set_up(output)
            .map(|terminal| Self {
                terminal,
                active: Arc::clone(&active),
                drawn: None,
            })
            .map_err(|failure| {
                restore_once(&active);
                ScreenError::Refused(failure)
            })
    }

    /// The time until the next frame; `None` if nothing changed.
    #[must_use]
    pub(crate) fn due(&self, dashboard: &Dashboard, now: Instant) -> Option<Duration> {
        let since = self
            .drawn
            .map_or(FRAME_INTERVAL, |drawn| now.saturating_duration_since(drawn));
        dashboard
            .has_changed()
            .then(|| FRAME_INTERVAL.saturating_sub(since))
    }

    /// Draws if something changed and the last frame was a tenth of a second ago. Returns whether
    /// it drew.
    ///
    /// # Errors
    ///
    /// Errors of the terminal, which may be closed.
    pub(crate) fn draw(&mut self, dashboard: &mut Dashboard, now: Instant) -> io::Result<bool> {
        if self.due(dashboard, now) != Some(Duration::ZERO) {
            return Ok(false);
        }
        self.drawn = Some(now);
        self.terminal.draw(|frame| dashboard.draw(frame))?;
        Ok(true)
    }

    /// Redraws the whole screen, as another process may have written to it.
    ///
    /// # Errors
    ///
    /// Errors of the terminal.
    pub(crate) fn redraw(&mut self, dashboard: &mut Dashboard, now: Instant) -> io::Result<()> {
        // Not `clear`: it queries the position of the cursor, and the key reader would get the
        // answer.
        let size = self.terminal.size()?;
        self.terminal
            .resize(Rect::new(0, 0, size.width, size.height))?;
        self.drawn = Some(now);
        self.terminal.draw(|frame| dashboard.draw(frame))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_once(&self.active);
    }
}

fn set_up(mut output: TerminalOutput) -> io::Result<Terminal<CrosstermBackend<TerminalOutput>>> {
    enable_raw_mode()?;
    execute!(output, EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(output))
}

/// Restores the terminal before a panic message is printed.
fn restore_on_panic(active: Arc<AtomicBool>) {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        restore_once(&active);
        default_hook(info);
    }));
}

fn restore_once(active: &AtomicBool) {
    if active.swap(false, Ordering::SeqCst) {
        restore_terminal();
    }
}

/// Restores the terminal. For a process that ends without dropping [`Screen`].
pub(super) fn restore_terminal() {
    // The terminal may be closed; errors are ignored.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// The longest time until a new size, or the end, is noticed.
const POLL_TIMEOUT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

/// Input of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalInput {
    /// A key.
    Key(KeyEvent),
    /// The size changed.
    Resized,
    /// The terminal is closed or cannot be read.
    Gone,
}

/// The thread that reads keys. It ends within a fifth of a second after this is dropped.
#[derive(Debug)]
pub(crate) struct KeyReader {
    stop: Arc<AtomicBool>,
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Reads keys on a thread and passes each to `send`, until the terminal is closed or [`KeyReader`]
/// is dropped. Call it after [`Screen::enter`](super::Screen::enter).
///
/// # Errors
///
/// There is no terminal to read from, or no thread can be started.
pub(crate) fn spawn_key_reader(
    send: impl Fn(TerminalInput) + Send + 'static,
) -> io::Result<KeyReader> {
    let terminal = open_terminal()?;
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if !read_next(&terminal, &send).unwrap_or(false) {
                    send(TerminalInput::Gone);
                    break;
                }
            }
        })?;
    Ok(KeyReader { stop })
}

/// The terminal that the library reads: standard input, or `/dev/tty`.
fn open_terminal() -> io::Result<OwnedFd> {
    let input = io::stdin();
    if input.is_terminal() {
        input.as_fd().try_clone_to_owned()
    } else {
        Ok(File::open("/dev/tty")?.into())
    }
}

/// Waits for input and passes it on. Returns whether the terminal is still open.
fn read_next(terminal: &OwnedFd, send: &impl Fn(TerminalInput)) -> io::Result<bool> {
    let mut watched = [PollFd::new(terminal, PollFlags::IN)];
    match poll(&mut watched, Some(&POLL_TIMEOUT)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(true),
        Err(failure) => return Err(failure.into()),
    }
    if watched[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    {
        return Ok(false);
    }
    // A size change is a signal, which only the library handles.
    while event::poll(Duration::ZERO)? {
        match event::read()? {
            Event::Key(key) => send(TerminalInput::Key(key)),
            Event::Resize(..) => send(TerminalInput::Resized),
            _ => {}
        }
    }
    Ok(true)
}
