//! The terminal: taken for the live view, and given back as it was.
//!
//! Draws at most ten times a second, and only what changed. Given back when it is dropped and when the process panics; one
//! that ends without either calls [`restore_terminal`] first.

use std::env;
use std::io::{self, IsTerminal, Stdout, Write, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::layout::Rect;
use thiserror::Error;

use super::dashboard::Dashboard;

/// The least time between two drawings.
const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// Why there is no live view.
#[derive(Debug, Error)]
pub enum ScreenError {
    /// Standard output is a file or a pipe.
    #[error("the live view needs a terminal, and standard output is none; leave --tui out to get a line a hit")]
    NoTerminal,
    /// `TERM=dumb`, or none at all.
    #[error(
        "the live view needs a terminal that can place the cursor, and TERM is '{0}'; set TERM, or leave --tui out to get a line a hit"
    )]
    Dumb(String),
    /// The terminal refused.
    #[error("the terminal cannot be set up for the live view: {0}; leave --tui out to get a line a hit")]
    Refused(#[source] io::Error),
}

/// The terminal, while the live view has it.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<TerminalOutput>>,
    held: Arc<AtomicBool>,
    drawn: Option<Instant>,
}

/// Standard output, while the live view has the terminal; afterwards nothing. The library has a last word when it goes,
/// and where the terminal is gone before it, that word would make it panic.
#[derive(Debug)]
struct TerminalOutput {
    stdout: Stdout,
    held: Arc<AtomicBool>,
}

impl Write for TerminalOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.load(Ordering::SeqCst) { self.stdout.write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.load(Ordering::SeqCst) { self.stdout.flush() } else { Ok(()) }
    }
}

impl Screen {
    /// Takes the terminal: another page of it, and every key as it is pressed. Ctrl-C is a key from now on, no signal.
    /// Nothing else may write to it until this is dropped. For one time in a process: it adds to what is done on a panic.
    ///
    /// # Errors
    ///
    /// Standard output is no terminal, or one that cannot.
    pub fn enter() -> Result<Self, ScreenError> {
        if !stdout().is_terminal() {
            return Err(ScreenError::NoTerminal);
        }
        let term = env::var("TERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return Err(ScreenError::Dumb(term));
        }
        let held = Arc::new(AtomicBool::new(true));
        restore_on_panic(Arc::clone(&held));
        let output = TerminalOutput { stdout: stdout(), held: Arc::clone(&held) };
        take(output).map(|terminal| Self { terminal, held: Arc::clone(&held), drawn: None }).map_err(|failure| {
            restore_once(&held);
            ScreenError::Refused(failure)
        })
    }

    /// How long until it may be drawn again; `None` when nothing changed.
    #[must_use]
    pub fn due(&self, dashboard: &Dashboard, now: Instant) -> Option<Duration> {
        let since = self.drawn.map_or(FRAME_INTERVAL, |drawn| now.saturating_duration_since(drawn));
        dashboard.has_changed().then(|| FRAME_INTERVAL.saturating_sub(since))
    }

    /// Draws, if something changed and the last drawing is a tenth of a second ago; whether it did.
    ///
    /// # Errors
    ///
    /// Those of the terminal; it may be gone.
    pub fn draw(&mut self, dashboard: &mut Dashboard, now: Instant) -> io::Result<bool> {
        if self.due(dashboard, now) != Some(Duration::ZERO) {
            return Ok(false);
        }
        self.drawn = Some(now);
        self.terminal.draw(|frame| dashboard.draw(frame))?;
        Ok(true)
    }

    /// Draws all of it anew, as something else may have written on it.
    ///
    /// # Errors
    ///
    /// Those of the terminal.
    pub fn redraw(&mut self, dashboard: &mut Dashboard, now: Instant) -> io::Result<()> {
        // Not `clear`: it asks the terminal where the cursor is, and whoever reads keys would get the answer.
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::new(0, 0, size.width, size.height))?;
        self.drawn = Some(now);
        self.terminal.draw(|frame| dashboard.draw(frame))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_once(&self.held);
    }
}

fn take(mut output: TerminalOutput) -> io::Result<Terminal<CrosstermBackend<TerminalOutput>>> {
    enable_raw_mode()?;
    execute!(output, EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(output))
}

/// What a panic says is to be read on the terminal as it was.
fn restore_on_panic(held: Arc<AtomicBool>) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |about| {
        restore_once(&held);
        usual(about);
    }));
}

fn restore_once(held: &AtomicBool) {
    if held.swap(false, Ordering::SeqCst) {
        restore_terminal();
    }
}

/// Gives the terminal back, as far as it can be: for a process that ends while it has it and drops nothing.
pub fn restore_terminal() {
    // It may be gone, and then there is nobody to tell.
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}
