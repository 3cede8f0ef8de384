//! Prints complete texts on standard output, and detects whether it is a terminal and whether it
//! was closed.

use std::env;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Exit, ScanSettings, message};
use crate::os::system::check_stdout;
use crate::render::{Color, RenderOptions};

/// Prints `text`. A closed pipe ends the command silently; other errors are reported.
#[must_use]
pub(crate) fn print(text: &[u8]) -> Exit {
    match open().and_then(|mut out| write(&mut out, text)) {
        Ok(()) => Exit::Success,
        Err(error) => failed(&error),
    }
}

/// Opens standard output, buffered.
///
/// # Errors
///
/// It was closed when the process started.
pub(super) fn open() -> io::Result<BufWriter<StdoutLock<'static>>> {
    check_stdout()?;
    Ok(BufWriter::new(io::stdout().lock()))
}

/// Reports a failed write, and returns the exit code.
#[must_use]
pub(crate) fn failed(error: &io::Error) -> Exit {
    let exit = Exit::from_write_error(error);
    if exit == Exit::Output {
        message::error(&format!("cannot write to standard output: {error}"));
    }
    exit
}

/// Whether the reader closed standard output.
pub(super) fn reader_closed() -> bool {
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut fds, Some(&now))
        .is_ok_and(|ready| ready > 0 && fds[0].revents().intersects(PollFlags::ERR))
}

fn write(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    out.write_all(text)?;
    out.flush()
}

/// Columns when neither `COLUMNS` nor the terminal gives a width.
const DEFAULT_WIDTH: u16 = 100;

/// How wide and long a table may be, and whether it is coloured, on standard output or in a file.
pub(super) fn terminal(color: Color, to_file: bool) -> RenderOptions {
    let is_terminal = !to_file && io::stdout().is_terminal();
    let of_variable = |name| env::var(name).ok().and_then(|size| size.parse().ok());
    let size = if is_terminal {
        terminal_size::terminal_size_of(io::stdout())
    } else {
        None
    };
    RenderOptions {
        width: of_variable("COLUMNS")
            .or(size.map(|(width, _)| width.0))
            .unwrap_or(DEFAULT_WIDTH),
        height: of_variable("LINES")
            .or(size.map(|(_, height)| height.0))
            .unwrap_or(0),
        color: use_color(color, is_terminal),
        ..RenderOptions::default()
    }
}

/// How to print the report of a command.
pub(super) fn report_options(settings: &ScanSettings) -> RenderOptions {
    RenderOptions {
        format: settings.format,
        top: settings.top,
        ..terminal(settings.color, settings.output.is_some())
    }
}

/// Follows <https://no-color.org>, and `TERM=dumb`.
fn use_color(color: Color, is_terminal: bool) -> bool {
    let forbidden = || {
        env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || env::var_os("TERM").is_some_and(|t| t == "dumb")
    };
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && !forbidden(),
    }
}
