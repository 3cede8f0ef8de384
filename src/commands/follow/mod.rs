//! `probewatch follow`: prints hits of live logs as they happen.
//!
//! Errors in the command are found before the first line is read. One thread does all the work, so
//! that hits are printed in the order of the lines of each log, and a slow reader slows down the
//! reading of logs: the logs are the buffer.
//!
//! The main loop polls logs, reads, prints, saves and waits for events: changes in watched folders
//! and input from the terminal. Events that are close together form a batch. A session uses one set
//! of rules.

mod checkpointer;
mod output;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use std::{io, thread};

use self::checkpointer::Checkpointer;
use self::output::LiveOutput;
use super::common::{RuleContext, privacy, start_threads, warn_narrow_allow};
use super::error::CommandError;
use super::metrics::FollowMetrics;
use super::signals::FollowSignals;
use super::{Exit, FollowSettings, message, server_logs};
use crate::alert_sinks::{AlertSinkSettings, AlertSinks, ChildSettings, SystemdNotifier};
use crate::alerting::{self, AlertDetector, HitEvent, ObservedHit};
use crate::block::ProxyRanges;
use crate::geoip::GeoDatabases;
use crate::input::pipe::{Pipe, STDIN};
use crate::input::tail::watcher::{FolderWatcher, WatchEvent};
use crate::input::tail::{LineChunk, Notice, StartPosition, Tail, TailOptions};
use crate::judge::proxied::ProxiedClients;
use crate::judge::rule_status::AnswerEvent;
use crate::os::system::{OpenFileLimit, unix_now};
use crate::render::TABLE_ROWS;
use crate::render::live::alert;
use crate::report::anonymize::Privacy;
use crate::report::answers::leak_place;
use crate::report::build::RowSelection;
use crate::report::hit::LiveHit;
use crate::report::live_scan::{LiveScan, LiveState, SummaryStart};
use crate::report::model::ReportedHit;
use crate::report::networks::add_geo;
use crate::rules::RuleSet;
use crate::state::TailState;
use crate::tui::{LogRow, TerminalInput, TuiCommand};

/// How many bytes of one log are read at a time, so that no log waits long for another.
const BLOCK: usize = 1 << 20;

/// Follows the logs until a signal arrives.
#[must_use]
pub(crate) fn run(settings: &FollowSettings) -> Exit {
    follow(settings).unwrap_or_else(|error| error.report())
}

fn follow(settings: &FollowSettings) -> Result<Exit, CommandError> {
    let signals = FollowSignals::listen(settings.tui);
    start_threads()?;
    let mut rule_context = RuleContext::load(&settings.scan)?;
    let privacy = privacy(&settings.scan.client.anonymize, settings.scan.client.redact)?;
    let geoip = privacy.open_geoip(&settings.scan.client.geoip)?;
    warn_narrow_allow(&settings.scan, &rule_context.scan_options.allow);
    if !settings.scan.quiet {
        message::warnings(rule_context.rules.warnings());
    }
    server_logs::print_skipped(&settings.scan);
    let (checkpointer, saved_state) = Checkpointer::open(settings, rule_context.fingerprint())?;
    let is_continued = saved_state.is_some();
    let TailState {
        checkpoints,
        sites,
        counters,
        finds,
        answers,
        ..
    } = saved_state.unwrap_or_default();
    let open_file_limit = OpenFileLimit::raise();
    let options = TailOptions {
        start: if settings.state.from_start {
            StartPosition::Start
        } else {
            StartPosition::End
        },
        max_line: settings.scan.max_line,
        block: BLOCK,
        max_open: open_file_limit.open_logs(),
    };
    let alert_options = alerting::AlertOptions {
        cooldown: settings.cooldown.as_secs().max(1),
        find_severity: settings.alert_severity,
        ..alerting::AlertOptions::default()
    };
    let sink_settings = AlertSinkSettings {
        exec: settings.exec.clone(),
        child: ChildSettings {
            silent: settings.tui,
            open_file_limit: Some(open_file_limit),
        },
        alert_file: settings.alert_file.clone(),
        syslog: settings.syslog.clone(),
    };
    let events = EventQueue::new(settings.poll);
    let is_pipe = settings.scan.paths == [Path::new(STDIN)];
    let mut pipe = is_pipe.then(|| {
        let wake = events.sender.clone();
        // The receiver is dropped at the end of the run, so a send error is ignored.
        Pipe::open(io::stdin(), settings.scan.max_line, move || {
            drop(wake.send(FollowEvent::Piped));
        })
    });
    let logs = if is_pipe {
        Vec::new()
    } else {
        server_logs::logs(&settings.scan)
    };
    let mut tail = Tail::new(logs, options, is_continued.then_some(checkpoints));
    let mut runtime = FollowRuntime {
        settings,
        metrics: FollowMetrics::new(settings, counters)?,
        privacy,
        geoip,
        signals,
        checkpointer,
        detector: AlertDetector::new(&rule_context.rules, alert_options).with_finds(finds),
        sinks: AlertSinks::new(sink_settings)?,
        systemd: SystemdNotifier::from_environment(),
        // Last, because it may switch the terminal to the live view: earlier errors are printed
        // normally.
        output: LiveOutput::new(settings, events.sender.clone())?,
        events,
        started: Instant::now(),
    };
    let mut live_state = LiveState::of_earlier_runs(sites, answers);
    loop {
        let session = FollowSession::new(
            &mut runtime,
            (&mut tail, &mut pipe),
            &rule_context,
            live_state,
        );
        match session.run()? {
            ControlFlow::Break(exit) => {
                for notice in runtime.sinks.finish() {
                    message::error(&message::sanitized(&notice));
                }
                return Ok(exit);
            }
            ControlFlow::Continue((new, state)) => {
                runtime.detector.set_rules(&new.rules);
                (rule_context, live_state) = (*new, state);
            }
        }
    }
}

/// The longest wait, because signals are checked between waits.
const MAX_TIMEOUT: Duration = Duration::from_millis(100);

/// How often to check whether standard output was closed, and to update the list of logs.
const SLOW_INTERVAL: Duration = Duration::from_secs(1);

/// What stays the same when rules are reloaded.
#[derive(Debug)]
struct FollowRuntime<'a> {
    settings: &'a FollowSettings,
    privacy: Privacy,
    geoip: GeoDatabases,
    signals: FollowSignals,
    checkpointer: Checkpointer,
    metrics: FollowMetrics,
    detector: AlertDetector,
    sinks: AlertSinks,
    systemd: SystemdNotifier,
    events: EventQueue,
    output: LiveOutput,
    started: Instant,
}

/// A session.
#[derive(Debug)]
struct FollowSession<'a, 'c> {
    runtime: &'a mut FollowRuntime<'c>,
    tail: &'a mut Tail,
    /// In place of logs.
    pipe: &'a mut Option<Pipe>,
    rule_context: &'a RuleContext,
    stream: LiveScan<'a>,
    /// When all paths are polled again.
    next_full_poll: Instant,
    /// When [`SLOW_INTERVAL`] is over.
    next_slow_poll: Instant,
}

impl<'a, 'c: 'a> FollowSession<'a, 'c> {
    fn new(
        runtime: &'a mut FollowRuntime<'c>,
        (tail, pipe): (&'a mut Tail, &'a mut Option<Pipe>),
        rule_context: &'a RuleContext,
        live_state: LiveState,
    ) -> Self {
        let now = Instant::now();
        let settings = &runtime.settings.scan;
        let stream = LiveScan::new(
            rule_context.job(settings.client.prefix),
            rule_context.filter(settings),
            live_state,
        );
        Self {
            runtime,
            tail,
            pipe,
            rule_context,
            stream,
            next_full_poll: now,
            next_slow_poll: now,
        }
    }

    /// Runs until a signal arrives, or new rules are loaded: with these it continues.
    fn run(mut self) -> Result<ControlFlow<Exit, (Box<RuleContext>, LiveState)>, CommandError> {
        let mut batch = EventBatch {
            poll_all: true,
            ..EventBatch::default()
        };
        let mut is_ready = false;
        loop {
            let now = Instant::now();
            self.poll_logs(now, &batch);
            if !std::mem::replace(&mut is_ready, true) {
                self.check_formats();
                self.runtime.systemd.ready();
            }
            let has_more = self.read(now)?;
            if now >= self.next_slow_poll {
                self.emit_updates(now, false)?;
            }
            self.runtime.output.tick(now, &self.rule_context.rules)?;
            if self.runtime.checkpointer.is_due(now) {
                self.save()?;
            }
            self.housekeeping(now)?;
            if let Some(exit) = self.exit_requested(now, &batch)? {
                self.stop()?;
                return Ok(ControlFlow::Break(exit));
            }
            if self.runtime.signals.take_summary() {
                self.emit_updates(now, true)?;
                self.summary()?;
            }
            if self.runtime.signals.take_reload()
                && let Some(rule_context) = self.reload()?
            {
                let state = self
                    .stream
                    .into_state(unix_now().cast_signed(), &self.runtime.privacy);
                return Ok(ControlFlow::Continue((rule_context, state)));
            }
            batch = self.runtime.events.wait(if has_more {
                Duration::ZERO
            } else {
                self.next_timeout()
            });
        }
    }

    /// Checks the format of each existing log, and prints a notice if its lines do not parse.
    fn check_formats(&mut self) {
        let configured = server_logs::logs(&self.runtime.settings.scan);
        for log in self.tail.logs().filter(|log| log.live) {
            self.stream
                .check_log(log.path, configured.iter().any(|path| path == log.path));
        }
        print_notices(&mut self.runtime.output, self.stream.notices());
    }

    /// Polls the logs with events, and from time to time all logs.
    fn poll_logs(&mut self, now: Instant, batch: &EventBatch) {
        let tail = &mut *self.tail;
        let FollowRuntime {
            events,
            output,
            settings,
            ..
        } = &mut *self.runtime;
        let is_full = batch.poll_all || now >= self.next_full_poll;
        if batch.poll_all {
            tail.force_full_poll();
        }
        if is_full {
            self.next_full_poll = now + settings.poll_interval;
            tail.poll(now, None);
            if let Some(notice) = events.watcher.watch(&tail.folders()) {
                output.notice(&notice);
            }
            tail.set_watched(events.watcher.is_complete());
        }
        // After a full poll too, because that skips idle logs.
        if !batch.paths.is_empty() {
            tail.poll(now, Some(&batch.paths));
        }
        print_notices(output, tail.notices());
    }

    /// Reads new lines and prints their hits. Returns whether there are more.
    fn read(&mut self, now: Instant) -> Result<bool, CommandError> {
        if self.runtime.checkpointer.is_on() && self.tail.has_new_generation() {
            // Before the first hit of a log is printed: if the run is killed, the next one prints
            // the hit with the same ID.
            self.runtime.output.flush()?;
            self.save()?;
        }
        let Self {
            runtime,
            stream,
            rule_context,
            ..
        } = self;
        let running = now.saturating_duration_since(runtime.started);
        let mut failed = None;
        let mut process = |line_chunk: LineChunk<'_>| {
            if failed.is_some() {
                return;
            }
            runtime.checkpointer.mark_dirty();
            let mut each = |live: &LiveHit<'_>| runtime.emit_hit(now, live, &rule_context.rules);
            match stream.process(&line_chunk, running, &mut each) {
                Ok(chunk_stats) => {
                    runtime.metrics.lines(&chunk_stats);
                    runtime.output.requests(now, chunk_stats.requests);
                }
                Err(error) => failed = Some(error),
            }
        };
        let has_more = match &mut *self.pipe {
            Some(pipe) => {
                pipe.read(&mut |line_chunk| process(*line_chunk));
                false
            }
            None => self.tail.read(&mut process),
        };
        print_notices(&mut self.runtime.output, self.stream.notices());
        match failed {
            Some(error) => Err(self.runtime.output.explain(error)),
            None => Ok(has_more),
        }
    }

    /// Prints hits again whose grade was changed by later lines, and raises the alerts that are
    /// due: all, if no more lines are awaited.
    fn emit_updates(&mut self, now: Instant, settles_all: bool) -> Result<(), CommandError> {
        let Self {
            runtime,
            stream,
            rule_context,
            ..
        } = self;
        let running = now.saturating_duration_since(runtime.started);
        let mut each = |live: &LiveHit<'_>| {
            // An alert is part of the state.
            runtime.checkpointer.mark_dirty();
            runtime.emit_hit(now, live, &rule_context.rules)
        };
        let emitted = if settles_all {
            stream.settle_all(&mut each)
        } else {
            stream.regrade_all(running, &mut each)
        };
        emitted.map_err(|error| self.runtime.output.explain(error))
    }

    /// Saves how far the logs were read. All output for these lines must have been flushed.
    fn save(&mut self) -> Result<(), CommandError> {
        let now = Instant::now();
        if self.runtime.checkpointer.wants_sites(now) {
            self.runtime
                .checkpointer
                .take_sites(now, self.stream.sites(unix_now().cast_signed()));
        }
        let runtime = &mut *self.runtime;
        let kept = (
            runtime.detector.saved_finds(),
            self.stream.answers(&runtime.privacy),
        );
        let checkpoints = self.tail.checkpoints();
        runtime
            .checkpointer
            .save(checkpoints, runtime.metrics.counters(), kept)
    }

    /// Polls the alert sinks and systemd, and checks from time to time what changes slowly.
    fn housekeeping(&mut self, now: Instant) -> Result<(), CommandError> {
        let FollowRuntime {
            sinks,
            systemd,
            output,
            geoip,
            metrics,
            started,
            ..
        } = &mut *self.runtime;
        for notice in sinks.poll().into_iter().chain(systemd.poll()) {
            output.error(&notice);
        }
        if now < self.next_slow_poll {
            return Ok(());
        }
        self.next_slow_poll = now + SLOW_INTERVAL;
        for notice in geoip.reload_changed() {
            output.notice(&notice);
        }
        if let Some(failure) =
            metrics.write_if_due(now, &self.rule_context.rules, self.tail, started.elapsed())
        {
            output.error(&failure);
        }
        let (stream, tail) = (&self.stream, &*self.tail);
        output.logs(|| {
            let logs = tail.logs().filter(|log| log.live);
            let row = |path: &[u8], lag| LogRow {
                path: path.to_vec(),
                lag,
                lines: stream.lines_of(path),
            };
            logs.map(|log| row(log.path.as_os_str().as_bytes(), log.lag))
                .collect()
        });
        systemd.status(&format!(
            "{} hits in {} lines",
            stream.hits(),
            stream.lines()
        ));
        if output.reader_closed() {
            Err(output.explain(io::ErrorKind::BrokenPipe.into()))
        } else {
            Ok(())
        }
    }

    /// The exit code, if the run is to end.
    fn exit_requested(
        &mut self,
        now: Instant,
        batch: &EventBatch,
    ) -> Result<Option<Exit>, CommandError> {
        for &input in &batch.inputs {
            match self.runtime.output.input(input) {
                Some(TuiCommand::Quit) => return Ok(Some(Exit::Success)),
                Some(TuiCommand::Interrupt) => return Ok(Some(Exit::Interrupted)),
                Some(TuiCommand::Redraw) => self.runtime.output.redraw(now)?,
                None => {}
            }
        }
        if let Some(exit) = self.runtime.signals.stop() {
            return Ok(Some(exit));
        }
        Ok(match self.pipe.as_ref().and_then(Pipe::end) {
            None => None,
            Some(Ok(())) => Some(if self.stream.has_unparsed_hits() {
                Exit::Damaged
            } else {
                Exit::Success
            }),
            Some(Err(error)) => {
                self.runtime
                    .output
                    .error(&format!("-: cannot be read on: {error}"));
                Some(Exit::Damaged)
            }
        })
    }

    /// Prints what is pending, saves the state, and prints the summary.
    fn stop(&mut self) -> Result<(), CommandError> {
        self.runtime.systemd.stopping();
        self.emit_updates(Instant::now(), true)?;
        if self.runtime.checkpointer.is_on() {
            self.runtime
                .checkpointer
                .take_sites(Instant::now(), self.stream.sites(unix_now().cast_signed()));
        }
        self.runtime.output.end_rules(&self.rule_context.rules)?;
        if self.runtime.checkpointer.is_on() {
            self.save()?;
        }
        let runtime = &mut *self.runtime;
        let running = runtime.started.elapsed();
        if let Some(failure) = runtime
            .metrics
            .write(&self.rule_context.rules, self.tail, running)
        {
            runtime.output.error(&failure);
        }
        self.runtime.output.exit_tui();
        self.summary()
    }

    fn summary(&mut self) -> Result<(), CommandError> {
        let Self {
            stream, runtime, ..
        } = self;
        let top = Some(runtime.settings.scan.top.unwrap_or(TABLE_ROWS));
        let rows = RowSelection {
            answered: true,
            pairs: false,
            clients: true,
            paths: true,
            rules: true,
            campaigns: false,
            hosts: false,
            networks: !runtime.geoip.is_empty(),
            most: top,
        };
        let running = runtime.started.elapsed();
        let proxies = ProxyRanges::read(&runtime.settings.scan.client.proxy_ranges)?;
        stream.summary(rows, |report, since| {
            report.elapsed = running;
            report.proxied = report
                .evidence
                .as_ref()
                .and_then(|evidence| ProxiedClients::find(evidence.tally, &proxies, false));
            let note = match since {
                SummaryStart::Start => None,
                SummaryStart::Time(Some(time)) => Some(format!(
                    "Hits since {}: earlier ones were dropped, to bound memory.",
                    time.rfc3339()
                )),
                SummaryStart::Time(None) => Some("Earlier hits were dropped.".to_owned()),
            };
            let FollowRuntime {
                output,
                privacy,
                settings,
                geoip,
                ..
            } = &mut **runtime;
            add_geo(report, geoip, privacy);
            privacy.with_redacted(report, &[], |report, _| {
                output.summary(report, note.as_deref(), settings.scan.top)
            })
        })
    }

    /// Loads the rules again. Returns `None`, and keeps the rules, if that fails.
    fn reload(&mut self) -> Result<Option<Box<RuleContext>>, CommandError> {
        self.runtime.systemd.reloading();
        let read = RuleContext::load(&self.runtime.settings.scan);
        self.runtime.systemd.ready();
        match read {
            Ok(rule_context) => {
                self.emit_updates(Instant::now(), true)?;
                self.runtime.output.end_rules(&self.rule_context.rules)?;
                self.runtime
                    .checkpointer
                    .set_rules(rule_context.fingerprint());
                self.runtime.output.notice(&format!(
                    "reloaded the rules: {} of them",
                    rule_context.rules.rules().len()
                ));
                Ok(Some(Box::new(rule_context)))
            }
            Err(failure) => {
                self.runtime
                    .output
                    .error(&format!("{failure}\nthe old rules are kept"));
                Ok(None)
            }
        }
    }

    /// How long to wait for events.
    fn next_timeout(&self) -> Duration {
        let now = Instant::now();
        let due = [
            Some(self.next_full_poll.saturating_duration_since(now)),
            self.runtime.output.next_due(now),
        ];
        due.into_iter().flatten().fold(MAX_TIMEOUT, Duration::min)
    }
}

impl FollowRuntime<'_> {
    /// Prints a hit, and sends the alerts it causes.
    fn emit_hit(&mut self, now: Instant, live: &LiveHit<'_>, rules: &RuleSet) -> io::Result<()> {
        let Self {
            privacy,
            output,
            sinks,
            ..
        } = self;
        let hit = &live.hit;
        let place;
        let event = match live.change {
            None => Some(HitEvent::Request),
            Some(AnswerEvent::Regraded) => None,
            Some(AnswerEvent::Settled) => {
                place = leak_place(rules, live.site, hit.path.raw(), live.matched);
                // An app that was detected since may suppress the rules of a find.
                live.answered.then_some(HitEvent::Find(&place))
            }
            Some(AnswerEvent::Withdrawn) => Some(HitEvent::Withdrawal),
        };
        if live.is_reported() && matches!(event, None | Some(HitEvent::Request)) {
            self.metrics.hit(live, rules);
            let geo = privacy.geo(hit.client, &mut self.geoip);
            let hit = &ReportedHit {
                geo: geo.as_deref(),
                ..*hit
            };
            privacy.with_hit(hit, |hit| {
                output.hit(now, &LiveHit { hit: *hit, ..*live }, rules)
            })?;
        }
        let Some(event) = event else { return Ok(()) };
        let event = ObservedHit {
            time: hit.time,
            client: hit.client,
            path: hit.path,
            severity: hit.severity,
            event,
            requests: live.requests,
            matched: live.matched,
            reported: hit.rules,
            id: hit.id,
            source: hit.source,
            line: hit.line,
            method: hit.method,
            target: hit.target,
            status: hit.status,
        };
        let mut result = Ok(());
        self.detector.observe(&event, &mut |raised| {
            let raised = if live.is_saved {
                raised
            } else {
                privacy.alert(raised)
            };
            let mut json = Vec::new();
            alert::write_json(&raised, rules, &mut json);
            let written = output.alert(&raised, rules);
            sinks.send_alert(raised.severity, &json, &alert::text_line(&raised, rules));
            if result.is_ok() {
                result = written;
            }
        });
        result
    }
}

/// How long to collect events before logs are read. A busy log causes events all the time.
const BATCH_DELAY: Duration = Duration::from_millis(20);

/// An event.
#[derive(Debug)]
enum FollowEvent {
    /// Something changed in a watched folder.
    Changed(WatchEvent),
    /// Input from the terminal.
    Input(TerminalInput),
    /// Something arrived in the pipe, or it ended.
    Piped,
}

/// The queue of events, with the watcher that feeds it.
#[derive(Debug)]
struct EventQueue {
    watcher: FolderWatcher,
    sender: Sender<FollowEvent>,
    events: Receiver<FollowEvent>,
}

/// Events that arrived together.
#[derive(Debug, Default)]
struct EventBatch {
    /// Anything may have changed.
    poll_all: bool,
    /// The paths that changed.
    paths: BTreeSet<PathBuf>,
    /// Input from the terminal, in order.
    inputs: Vec<TerminalInput>,
}

impl EventQueue {
    /// Watches folders, unless logs are only polled.
    fn new(poll_only: bool) -> Self {
        let (sender, events) = channel();
        let changes = sender.clone();
        // The receiver is dropped at the end of the run, so a send error is ignored.
        let watcher = FolderWatcher::new(poll_only, move |event| {
            drop(changes.send(FollowEvent::Changed(event)));
        });
        Self {
            watcher,
            sender,
            events,
        }
    }

    /// Waits for events until the timeout.
    fn wait(&self, timeout: Duration) -> EventBatch {
        let mut batch = EventBatch::default();
        match self.events.recv_timeout(timeout) {
            Ok(first) => {
                let is_input = matches!(first, FollowEvent::Input(_));
                batch.take(first);
                if !is_input {
                    thread::sleep(BATCH_DELAY);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for event in self.events.try_iter() {
            batch.take(event);
        }
        batch
    }
}

impl EventBatch {
    fn take(&mut self, event: FollowEvent) {
        match event {
            FollowEvent::Changed(WatchEvent::All) => self.poll_all = true,
            FollowEvent::Changed(WatchEvent::Paths(paths)) => self.paths.extend(paths),
            FollowEvent::Input(input) => self.inputs.push(input),
            FollowEvent::Piped => {}
        }
    }
}

/// Prints notices about logs; those of a problem with `-q` too.
fn print_notices(output: &mut LiveOutput, notices: impl IntoIterator<Item = Notice>) {
    for notice in notices {
        let text = format!("{}: {}", notice.path.to_string_lossy(), notice.what);
        if notice.problem {
            output.warning(&text);
        } else {
            output.notice(&text);
        }
    }
}
