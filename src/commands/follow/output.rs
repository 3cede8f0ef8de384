//! Prints hits, alerts and notices: as lines, as objects, or in the live view.

use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::FollowEvent;
use crate::alerting::Alert;
use crate::commands::error::CommandError;
use crate::commands::message::{self, sanitized};
use crate::os::system::unix_now;
use crate::report::hit::LiveHit;
use crate::report::model::ReportModel;

use crate::commands::{FollowSettings, stdout};
use crate::render::live::fold::{FoldDecision, FoldedRepeats, RepeatFolder};
use crate::render::live::{LiveLines, alert};
use crate::render::sink::Sink;
use crate::render::{Color, HitFormat, HitTexts, OutputFormat, RenderOptions, render};
use crate::rules::RuleSet;
use crate::tui::{
    Dashboard, KeyReader, LogRow, Screen, TerminalInput, TuiCommand, spawn_key_reader,
};

/// The time between checks of the terminal's width.
const RESIZE_INTERVAL: Duration = Duration::from_secs(1);

/// The output of the run.
#[derive(Debug)]
pub(super) struct LiveOutput {
    mode: OutputMode,
    color: Color,
    quiet: bool,
    /// Something was written since the last flush.
    is_dirty: bool,
}

#[derive(Debug)]
enum OutputMode {
    /// Lines for people.
    Lines(Box<LineOutput>),
    /// One JSON object per hit.
    Objects(Box<ObjectOutput>),
    /// The live view.
    View(Box<TuiOutput>),
}

/// The live view and its terminal. Dropping `_keys` stops reading keys.
#[derive(Debug)]
struct TuiOutput {
    dashboard: Dashboard,
    screen: Screen,
    _keys: KeyReader,
}

/// Lines for people, on standard output.
#[derive(Debug)]
struct LineOutput {
    out: Sink,
    lines: LiveLines,
    fold: Option<RepeatFolder>,
    measured: Instant,
}

/// Objects for programs, on standard output.
#[derive(Debug)]
struct ObjectOutput {
    out: Sink,
    format: HitFormat,
    texts: HitTexts,
    /// The buffer for a line, which is written in one piece.
    line: Vec<u8>,
}

impl ObjectOutput {
    fn hit(&mut self, live: &LiveHit<'_>, rules: &RuleSet) -> io::Result<()> {
        self.line.clear();
        self.format.write(
            &live.hit,
            rules,
            unix_now().cast_signed(),
            &mut self.texts,
            &mut self.line,
        );
        self.out.write_all(&self.line)
    }
}

impl LiveOutput {
    /// Opens the output that the settings choose. The live view sends keys to `events`.
    pub(super) fn new(
        settings: &FollowSettings,
        events: Sender<FollowEvent>,
    ) -> Result<Self, CommandError> {
        let now = Instant::now();
        let RenderOptions { width, color, .. } = stdout::terminal(settings.scan.color, false);
        let mode = if settings.tui {
            let screen = Screen::enter()?;
            let keys = spawn_key_reader(move |input| drop(events.send(FollowEvent::Input(input))))
                .map_err(CommandError::Terminal)?;
            OutputMode::View(Box::new(TuiOutput {
                dashboard: Dashboard::new(now, color),
                screen,
                _keys: keys,
            }))
        } else if let Some(format) = settings.scan.format.hit_format() {
            OutputMode::Objects(Box::new(ObjectOutput {
                out: Sink::stdout()?,
                format,
                texts: HitTexts::default(),
                line: Vec::new(),
            }))
        } else {
            let fold = settings.fold.then(|| RepeatFolder::new(settings.quiet_for));
            OutputMode::Lines(Box::new(LineOutput {
                out: Sink::stdout()?,
                lines: LiveLines::new(width, color, !settings.scan.client.geoip.is_empty()),
                fold,
                measured: now,
            }))
        };
        Ok(Self {
            mode,
            color: settings.scan.color,
            quiet: settings.scan.quiet,
            is_dirty: false,
        })
    }

    /// Prints a hit.
    pub(super) fn hit(
        &mut self,
        now: Instant,
        live: &LiveHit<'_>,
        rules: &RuleSet,
    ) -> io::Result<()> {
        self.is_dirty = true;
        match &mut self.mode {
            OutputMode::Lines(output) => output.hit(now, live, rules),
            OutputMode::Objects(output) => output.hit(live, rules),
            OutputMode::View(view) => {
                view.hit(now, live, rules);
                Ok(())
            }
        }
    }

    /// Prints an alert. With objects it is printed on standard error, as standard output has hits
    /// only.
    pub(super) fn alert(&mut self, raised: &Alert, rules: &RuleSet) -> io::Result<()> {
        match &mut self.mode {
            OutputMode::Lines(output) => {
                self.is_dirty = true;
                output.lines.write_alert(raised, rules, &mut output.out)?;
            }
            OutputMode::Objects(..) if self.quiet => {}
            OutputMode::Objects(..) => message::print_raw(&alert::text_line(raised, rules)),
            OutputMode::View(view) => view.dashboard.alert(raised, rules),
        }
        Ok(())
    }

    /// Counts requests for the live view.
    pub(super) fn requests(&mut self, now: Instant, requests: u64) {
        if let OutputMode::View(view) = &mut self.mode {
            view.dashboard.requests(now, requests);
        }
    }

    /// Prints a notice.
    pub(super) fn notice(&mut self, text: &str) {
        match &mut self.mode {
            OutputMode::View(view) => view.dashboard.notice(text),
            _ if self.quiet => {}
            _ => message::notice(&sanitized(text)),
        }
    }

    /// Prints a warning, which `-q` does not hide.
    pub(super) fn warning(&mut self, text: &str) {
        match &mut self.mode {
            OutputMode::View(view) => view.dashboard.notice(text),
            _ => message::warning(&sanitized(text)),
        }
    }

    /// Prints an error that does not end the run.
    pub(super) fn error(&mut self, text: &str) {
        match &mut self.mode {
            OutputMode::View(view) => view.dashboard.notice(text),
            _ => message::error(&message::sanitized_lines(text)),
        }
    }

    /// Updates the list of logs of the live view. `logs` is called for that only.
    pub(super) fn logs(&mut self, logs: impl FnOnce() -> Vec<LogRow>) {
        if let OutputMode::View(view) = &mut self.mode {
            view.dashboard.logs(logs());
        }
    }

    /// Handles input from the terminal.
    pub(super) fn input(&mut self, input: TerminalInput) -> Option<TuiCommand> {
        let OutputMode::View(view) = &mut self.mode else {
            return None;
        };
        view.dashboard.input(input)
    }

    /// Redraws the live view.
    pub(super) fn redraw(&mut self, now: Instant) -> Result<(), CommandError> {
        let OutputMode::View(view) = &mut self.mode else {
            return Ok(());
        };
        view.screen
            .redraw(&mut view.dashboard, now)
            .map_err(CommandError::Terminal)
    }

    /// Prints what is due and flushes the output.
    pub(super) fn tick(&mut self, now: Instant, rules: &RuleSet) -> Result<(), CommandError> {
        match &mut self.mode {
            OutputMode::Lines(output) => {
                self.is_dirty |= output
                    .tick(now, rules)
                    .map_err(|error| output.out.explain(error))?;
            }
            OutputMode::Objects(..) => {}
            OutputMode::View(view) => {
                view.dashboard.tick(now);
                view.screen
                    .draw(&mut view.dashboard, now)
                    .map_err(CommandError::Terminal)?;
            }
        }
        self.flush()
    }

    /// The time until [`tick`](Self::tick) has something to do without new events.
    pub(super) fn next_due(&self, now: Instant) -> Option<Duration> {
        match &self.mode {
            OutputMode::Lines(output) => output
                .fold
                .as_ref()?
                .next_flush()
                .map(|due| due.saturating_duration_since(now)),
            OutputMode::Objects(..) => None,
            OutputMode::View(view) => view.screen.due(&view.dashboard, now),
        }
    }

    /// Prints all folded counts and drops the texts of rules, before the rules change or the run
    /// ends.
    pub(super) fn end_rules(&mut self, rules: &RuleSet) -> Result<(), CommandError> {
        match &mut self.mode {
            OutputMode::Lines(output) => {
                output
                    .flush_folded(rules)
                    .map_err(|error| output.out.explain(error))?;
                self.is_dirty = true;
            }
            OutputMode::Objects(output) => output.texts = HitTexts::default(),
            OutputMode::View(_) => {}
        }
        self.flush()
    }

    /// Flushes the output. Only after this may a state be saved.
    pub(super) fn flush(&mut self) -> Result<(), CommandError> {
        if !std::mem::take(&mut self.is_dirty) {
            return Ok(());
        }
        let out = match &mut self.mode {
            OutputMode::Lines(output) => &mut output.out,
            OutputMode::Objects(output) => &mut output.out,
            OutputMode::View(_) => return Ok(()),
        };
        out.flush().map_err(|error| out.explain(error).into())
    }

    /// Adds the name of the output to an error.
    pub(super) fn explain(&self, error: io::Error) -> CommandError {
        match &self.mode {
            OutputMode::Lines(output) => output.out.explain(error).into(),
            OutputMode::Objects(output) => output.out.explain(error).into(),
            OutputMode::View(_) => CommandError::Terminal(error),
        }
    }

    /// Whether the reader of the hits closed standard output.
    pub(super) fn reader_closed(&self) -> bool {
        !matches!(self.mode, OutputMode::View(_)) && stdout::reader_closed()
    }

    /// Prints a summary: after the lines, or on standard error with objects. The live view shows it
    /// all the time.
    pub(super) fn summary(
        &mut self,
        report: &ReportModel<'_>,
        note: Option<&str>,
        top: Option<usize>,
    ) -> Result<(), CommandError> {
        let view = RenderOptions {
            format: OutputFormat::Table,
            top,
            // Not cut to the terminal, as lines are above it.
            height: 0,
            is_live: true,
            ..stdout::terminal(self.color, matches!(self.mode, OutputMode::Objects(..)))
        };
        let mut text = Vec::new();
        let written = note
            .map_or(Ok(()), |note| writeln!(text, "{note}"))
            .and_then(|()| render(report, &view, &mut text));
        written.map_err(|error| self.explain(error))?;
        match &mut self.mode {
            OutputMode::Lines(output) => {
                let written = output
                    .out
                    .write_all(b"\n")
                    .and_then(|()| output.out.write_all(&text));
                written.map_err(|error| output.out.explain(error))?;
                self.is_dirty = true;
                self.flush()
            }
            OutputMode::Objects(..) if self.quiet => Ok(()),
            OutputMode::Objects(..) => {
                message::print_raw(String::from_utf8_lossy(&text).trim_end());
                Ok(())
            }
            OutputMode::View(_) => Ok(()),
        }
    }

    /// Leaves the live view, if it is active. What follows is printed as lines.
    #[expect(clippy::expect_used, reason = "the live view was on standard output")]
    pub(super) fn exit_tui(&mut self) {
        if let OutputMode::View(_) = self.mode {
            let RenderOptions { width, color, .. } = stdout::terminal(self.color, false);
            let output = LineOutput {
                out: Sink::stdout().expect("the live view was on standard output"),
                lines: LiveLines::new(width, color, false),
                fold: None,
                measured: Instant::now(),
            };
            self.mode = OutputMode::Lines(Box::new(output));
        }
    }
}

impl TuiOutput {
    fn hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) {
        if live.change.is_some() {
            self.dashboard.regrade(&live.hit, rules);
        } else {
            self.dashboard.hit(now, &live.hit, rules);
        }
    }
}

impl LineOutput {
    fn hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) -> io::Result<()> {
        let Self {
            out, lines, fold, ..
        } = self;
        if live.change.is_some() {
            return lines.write_hit(&live.hit, live.answered, rules, out);
        }
        if let Some(fold) = fold {
            let mut written = Ok(());
            let decision = fold.observe(now, &live.hit, live.answered, &mut |folded| {
                write_folded(lines, folded, rules, out, &mut written);
            });
            written?;
            if decision == FoldDecision::Folded {
                return Ok(());
            }
        }
        lines.write_hit(&live.hit, live.answered, rules, out)
    }

    /// Prints folded counts that are due, in the current width. Returns whether anything was
    /// printed.
    fn tick(&mut self, now: Instant, rules: &RuleSet) -> io::Result<bool> {
        let Self {
            out,
            lines,
            fold,
            measured,
        } = self;
        if now.saturating_duration_since(*measured) >= RESIZE_INTERVAL {
            *measured = now;
            lines.resize(stdout::terminal(Color::Never, false).width);
        }
        let (mut written, mut is_dirty) = (Ok(()), false);
        if let Some(fold) = fold {
            fold.flush_idle(now, &mut |folded| {
                is_dirty = true;
                write_folded(lines, folded, rules, out, &mut written);
            });
        }
        written.map(|()| is_dirty)
    }

    fn flush_folded(&mut self, rules: &RuleSet) -> io::Result<()> {
        let Self {
            out, lines, fold, ..
        } = self;
        let mut written = Ok(());
        if let Some(fold) = fold {
            fold.flush_all(&mut |folded| write_folded(lines, folded, rules, out, &mut written));
        }
        written
    }
}

/// Writes a folded count, unless an earlier write failed.
fn write_folded(
    lines: &mut LiveLines,
    folded: FoldedRepeats<'_>,
    rules: &RuleSet,
    out: &mut Sink,
    written: &mut io::Result<()>,
) {
    if written.is_ok() {
        *written = lines.write_folded(&folded, rules, out);
    }
}
