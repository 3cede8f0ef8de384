//! How hits, alerts and notices are told: as lines, as NDJSON, or in the live view.

use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::bell::Ring;
use super::failure::Failure;
use crate::alerting::event::Alert;
use crate::analysis::hit::LiveHit;
use crate::analysis::model::Report;
use crate::commands::message::{self, shown};
use crate::commands::screen;
use crate::commands::screen::Screen as Page;
use crate::commands::{FollowSettings, stdout};
use crate::render::live::alert;
use crate::render::live::fold::{FoldDecision, FoldedRepeats, RepeatFolder};
use crate::render::live::line::LiveLines;
use crate::render::ndjson;
use crate::render::sink::Sink;
use crate::render::{Color, OutputFormat, RenderOptions, render};
use crate::rules::RuleSet;
use crate::tui::{Dashboard, KeyReader, LogRow, Screen, TerminalInput, TuiCommand, spawn_key_reader};

/// Between two looks at the terminal's width.
const MEASURE: Duration = Duration::from_secs(1);

/// How hits are told.
#[derive(Debug)]
pub(super) struct Voice {
    tone: Tone,
    color: Color,
    quiet: bool,
    /// Anything was written since it was last flushed.
    spoke: bool,
}

#[derive(Debug)]
enum Tone {
    /// A line a hit, for people.
    Lines(Box<Speech>),
    /// An object a hit, for programs.
    Ndjson(Sink),
    /// The live view; its keys are read while it is there.
    View(Box<LiveView>),
}

/// The live view, and the terminal it has.
#[derive(Debug)]
struct LiveView {
    dashboard: Dashboard,
    screen: Screen,
    _keys: KeyReader,
}

/// Lines for people, and what they are written on.
#[derive(Debug)]
struct Speech {
    out: Sink,
    lines: LiveLines,
    fold: Option<RepeatFolder>,
    measured: Instant,
}

impl Voice {
    /// The way that was asked for. The live view takes the terminal, and its keys ring `bell`.
    pub(super) fn new(settings: &FollowSettings, bell: Sender<Ring>) -> Result<Self, Failure> {
        let now = Instant::now();
        let Page { width, color } = screen::of(settings.scan.color, false);
        let tone = if settings.tui {
            let screen = Screen::enter()?;
            let keys = spawn_key_reader(move |input| drop(bell.send(Ring::Input(input)))).map_err(Failure::Terminal)?;
            Tone::View(Box::new(LiveView { dashboard: Dashboard::new(now, color), screen, _keys: keys }))
        } else if settings.ndjson {
            Tone::Ndjson(Sink::stdout())
        } else {
            let fold = settings.fold.then(|| RepeatFolder::new(settings.quiet_for));
            Tone::Lines(Box::new(Speech { out: Sink::stdout(), lines: LiveLines::new(width, color), fold, measured: now }))
        };
        Ok(Self { tone, color: settings.scan.color, quiet: settings.scan.quiet, spoke: false })
    }

    /// Tells a hit.
    pub(super) fn hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) -> io::Result<()> {
        self.spoke = true;
        match &mut self.tone {
            Tone::Lines(speech) => speech.hit(now, live, rules),
            Tone::Ndjson(out) => ndjson::write(&live.hit, rules, out),
            Tone::View(view) => {
                view.hit(now, live, rules);
                Ok(())
            }
        }
    }

    /// Tells an alert. NDJSON on standard output is of hits alone.
    pub(super) fn alert(&mut self, raised: &Alert, rules: &RuleSet) -> io::Result<()> {
        match &mut self.tone {
            Tone::Lines(speech) => {
                self.spoke = true;
                speech.lines.write_alert(raised, rules, &mut speech.out)?;
            }
            Tone::Ndjson(_) if self.quiet => {}
            Tone::Ndjson(_) => message::plain(&alert::text_line(raised, rules)),
            Tone::View(view) => view.dashboard.alert(raised, rules),
        }
        Ok(())
    }

    /// Counts requests, for the live view.
    pub(super) fn requests(&mut self, now: Instant, requests: u64) {
        if let Tone::View(view) = &mut self.tone {
            view.dashboard.requests(now, requests);
        }
    }

    /// Tells something that is no hit; a text of ours.
    pub(super) fn notice(&mut self, text: &str) {
        match &mut self.tone {
            Tone::View(view) => view.dashboard.notice(text),
            _ if self.quiet => {}
            _ => message::notice(&shown(text)),
        }
    }

    /// Tells what went wrong and does not end the run.
    pub(super) fn error(&mut self, text: &str) {
        match &mut self.tone {
            Tone::View(view) => view.dashboard.notice(text),
            _ => message::error(&message::shown_lines(text)),
        }
    }

    /// How the logs stand, for the live view; asked for only there.
    pub(super) fn logs(&mut self, logs: impl FnOnce() -> Vec<LogRow>) {
        if let Tone::View(view) = &mut self.tone {
            view.dashboard.logs(logs());
        }
    }

    /// What a person pressed.
    pub(super) fn input(&mut self, input: TerminalInput) -> Option<TuiCommand> {
        let Tone::View(view) = &mut self.tone else { return None };
        view.dashboard.input(input)
    }

    /// Draws all of it anew.
    pub(super) fn redraw(&mut self, now: Instant) -> Result<(), Failure> {
        let Tone::View(view) = &mut self.tone else { return Ok(()) };
        view.screen.redraw(&mut view.dashboard, now).map_err(Failure::Terminal)
    }

    /// Tells what is due by now, and lets go of what was held back.
    pub(super) fn turn(&mut self, now: Instant, rules: &RuleSet) -> Result<(), Failure> {
        match &mut self.tone {
            Tone::Lines(speech) => self.spoke |= speech.turn(now, rules).map_err(|error| speech.out.explain(error))?,
            Tone::Ndjson(_) => {}
            Tone::View(view) => {
                view.dashboard.tick(now);
                view.screen.draw(&mut view.dashboard, now).map_err(Failure::Terminal)?;
            }
        }
        self.flush()
    }

    /// Until when nothing is due, if nothing comes.
    pub(super) fn next_due(&self, now: Instant) -> Option<Duration> {
        match &self.tone {
            Tone::Lines(speech) => speech.fold.as_ref()?.next_flush().map(|due| due.saturating_duration_since(now)),
            Tone::Ndjson(_) => None,
            Tone::View(view) => view.screen.due(&view.dashboard, now),
        }
    }

    /// Tells all that is folded: the rules that it is folded by go.
    pub(super) fn unfold(&mut self, rules: &RuleSet) -> Result<(), Failure> {
        if let Tone::Lines(speech) = &mut self.tone {
            speech.unfold(rules).map_err(|error| speech.out.explain(error))?;
            self.spoke = true;
        }
        self.flush()
    }

    /// Writes out what is held back. What was told may be noted as told only after this.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        if !std::mem::take(&mut self.spoke) {
            return Ok(());
        }
        let out = match &mut self.tone {
            Tone::Lines(speech) => &mut speech.out,
            Tone::Ndjson(out) => out,
            Tone::View(_) => return Ok(()),
        };
        out.flush().map_err(|error| out.explain(error).into())
    }

    /// Names what went wrong with writing.
    pub(super) fn explain(&self, error: io::Error) -> Failure {
        match &self.tone {
            Tone::Lines(speech) => speech.out.explain(error).into(),
            Tone::Ndjson(out) => out.explain(error).into(),
            Tone::View(_) => Failure::Terminal(error),
        }
    }

    /// Whether whoever read the hits has left: there is no need to wait for the next one.
    pub(super) fn is_deserted(&self) -> bool {
        !matches!(self.tone, Tone::View(_)) && stdout::is_deserted()
    }

    /// Prints a summary: among the lines, or on standard error beside NDJSON. The live view is one already.
    pub(super) fn summary(&mut self, report: &Report<'_>, note: Option<&str>, top: Option<usize>) -> Result<(), Failure> {
        let Page { width, color } = screen::of(self.color, matches!(self.tone, Tone::Ndjson(_)));
        let view = RenderOptions { format: OutputFormat::Table, by: None, top, full: false, width, color };
        let mut text = Vec::new();
        let written = note.map_or(Ok(()), |note| writeln!(text, "{note}")).and_then(|()| render(report, &view, &mut text));
        written.map_err(|error| self.explain(error))?;
        match &mut self.tone {
            Tone::Lines(speech) => {
                let written = speech.out.write_all(b"\n").and_then(|()| speech.out.write_all(&text));
                written.map_err(|error| speech.out.explain(error))?;
                self.spoke = true;
                self.flush()
            }
            Tone::Ndjson(_) if self.quiet => Ok(()),
            Tone::Ndjson(_) => {
                message::plain(String::from_utf8_lossy(&text).trim_end());
                Ok(())
            }
            Tone::View(_) => Ok(()),
        }
    }

    /// Gives the terminal back, if it was taken; what follows is told as lines.
    pub(super) fn leave(&mut self) {
        if let Tone::View(_) = self.tone {
            let Page { width, color } = screen::of(self.color, false);
            let speech = Speech { out: Sink::stdout(), lines: LiveLines::new(width, color), fold: None, measured: Instant::now() };
            self.tone = Tone::Lines(Box::new(speech));
        }
    }
}

impl LiveView {
    fn hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) {
        if live.is_update {
            self.dashboard.regrade(&live.hit, rules);
        } else {
            self.dashboard.hit(now, &live.hit, rules);
        }
    }
}

impl Speech {
    fn hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) -> io::Result<()> {
        let Self { out, lines, fold, .. } = self;
        if live.is_update {
            return lines.write_hit(&live.hit, live.answered, rules, out);
        }
        if let Some(fold) = fold {
            let mut written = Ok(());
            let told = fold.observe(now, &live.hit, live.answered, &mut |folded| write_folded(lines, folded, rules, out, &mut written));
            written?;
            if told == FoldDecision::Folded {
                return Ok(());
            }
        }
        lines.write_hit(&live.hit, live.answered, rules, out)
    }

    /// Tells what has rested, on a page that may have another width by now; whether anything was told.
    fn turn(&mut self, now: Instant, rules: &RuleSet) -> io::Result<bool> {
        let Self { out, lines, fold, measured } = self;
        if now.saturating_duration_since(*measured) >= MEASURE {
            *measured = now;
            lines.resize(screen::of(Color::Never, false).width);
        }
        let (mut written, mut spoke) = (Ok(()), false);
        if let Some(fold) = fold {
            fold.flush_idle(now, &mut |folded| {
                spoke = true;
                write_folded(lines, folded, rules, out, &mut written);
            });
        }
        written.map(|()| spoke)
    }

    fn unfold(&mut self, rules: &RuleSet) -> io::Result<()> {
        let Self { out, lines, fold, .. } = self;
        let mut written = Ok(());
        if let Some(fold) = fold {
            fold.flush_all(&mut |folded| write_folded(lines, folded, rules, out, &mut written));
        }
        written
    }
}

/// Writes one count, unless one before it could not be written.
fn write_folded(lines: &mut LiveLines, folded: FoldedRepeats<'_>, rules: &RuleSet, out: &mut Sink, written: &mut io::Result<()>) {
    if written.is_ok() {
        *written = lines.write_folded(&folded, rules, out);
    }
}
