//! The loop: look, read, tell, keep, wait. One session goes by one set of rules.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant, SystemTime};

use super::bell::{Bell, Rung};
use super::failure::Failure;
use super::keeper::Keeper;
use super::signals::Signals;
use super::voice::Voice;
use crate::alert_sinks::{Actions, Service};
use crate::alerting::{Alarms, Event, Request};
use crate::analysis::anonymize::{Privacy, RedactionBuffers};
use crate::analysis::build::RowSelection;
use crate::analysis::hit::LiveHit;
use crate::commands::brief::Brief;
use crate::commands::{Exit, FollowSettings, message, servers};
use crate::input::tail::Tail;
use crate::render::TABLE_ROWS;
use crate::render::live::alert;
use crate::rules::RuleSet;
use crate::scan::live::{LiveScan, LiveState, SummaryStart};
use crate::tui::{LogRow, TuiCommand};

/// The longest wait: signals are looked for so often.
const PATIENCE: Duration = Duration::from_millis(100);

/// Between two looks at what changes slowly: whether anyone still listens, how the logs stand.
const SLOWLY: Duration = Duration::from_secs(1);

/// Everyone who outlives a session.
#[derive(Debug)]
pub(super) struct Crew<'a> {
    pub(super) settings: &'a FollowSettings,
    pub(super) privacy: Privacy,
    pub(super) signals: Signals,
    pub(super) keeper: Keeper,
    pub(super) tail: Tail,
    pub(super) alarms: Alarms,
    pub(super) actions: Actions,
    pub(super) service: Service,
    pub(super) bell: Bell,
    pub(super) voice: Voice,
    pub(super) started: Instant,
}

/// How a session ended.
#[derive(Debug)]
pub(super) enum End {
    /// The run ends.
    Stopped(Exit),
    /// It goes on by other rules.
    Reloaded(Box<Brief>),
}

/// One session.
#[derive(Debug)]
pub(super) struct Session<'a, 'c> {
    crew: &'a mut Crew<'c>,
    brief: &'a Brief,
    stream: LiveScan<'a>,
    /// When all paths are looked at again.
    look_at: Instant,
    /// When what changes slowly is looked at again.
    slowly_at: Instant,
}

impl<'a, 'c: 'a> Session<'a, 'c> {
    pub(super) fn new(crew: &'a mut Crew<'c>, brief: &'a Brief, carried: LiveState) -> Self {
        let now = Instant::now();
        let stream = LiveScan::new(brief.asked(&crew.settings.scan), carried);
        Self { crew, brief, stream, look_at: now, slowly_at: now }
    }

    /// Goes on until it is stopped or has other rules.
    pub(super) fn run(mut self) -> Result<(End, LiveState), Failure> {
        let mut rung = Rung { all: true, ..Rung::default() };
        let mut is_ready = false;
        loop {
            let now = Instant::now();
            self.look(now, &rung);
            if !std::mem::replace(&mut is_ready, true) {
                self.introduce();
                self.crew.service.ready();
            }
            let more = self.read(now)?;
            if now >= self.slowly_at {
                self.settle(now)?;
            }
            self.crew.voice.turn(now, &self.brief.rules)?;
            if self.crew.keeper.is_due(now) {
                self.save()?;
            }
            self.attend(now)?;
            if let Some(exit) = self.ending(now, &rung)? {
                self.stop()?;
                return Ok((End::Stopped(exit), self.stream.into_state(unix_now())));
            }
            if self.crew.signals.take_summary() {
                self.summary()?;
            }
            if self.crew.signals.take_reload()
                && let Some(brief) = self.reload()?
            {
                return Ok((End::Reloaded(brief), self.stream.into_state(unix_now())));
            }
            rung = self.crew.bell.wait(if more { Duration::ZERO } else { self.patience() });
        }
    }

    /// Says of each log that is there whether its lines are read at all.
    fn introduce(&mut self) {
        let Self { crew, stream, .. } = self;
        let named = servers::logs(&crew.settings.scan);
        for log in crew.tail.logs().filter(|log| log.live) {
            stream.check_log(log.path, named.iter().any(|path| path == log.path));
        }
        self.tell_notices();
    }

    fn tell_notices(&mut self) {
        for notice in self.stream.notices() {
            self.crew.voice.notice(&format!("{}: {}", notice.path.to_string_lossy(), notice.what));
        }
    }

    /// Looks at what rang, and now and then at everything.
    fn look(&mut self, now: Instant, rung: &Rung) {
        let Crew { tail, bell, voice, settings, .. } = &mut *self.crew;
        let is_full = rung.all || now >= self.look_at;
        if rung.all {
            tail.force_full_poll();
        }
        if is_full {
            self.look_at = now + settings.poll_interval;
            tail.poll(now, None);
            if let Some(notice) = bell.watch(&tail.folders()) {
                voice.notice(&notice);
            }
        }
        // Beside the look at everything too: that passes over some that rest.
        if !rung.paths.is_empty() {
            tail.poll(now, Some(&rung.paths));
        }
        for notice in tail.notices() {
            voice.notice(&format!("{}: {}", notice.path.to_string_lossy(), notice.what));
        }
    }

    /// Reads what is new and tells it; whether there is more at once.
    fn read(&mut self, now: Instant) -> Result<bool, Failure> {
        if self.crew.keeper.is_on() && self.crew.tail.has_new_generation() {
            // Before its first line is told: should the run be killed, the next one tells it with the same id.
            self.crew.voice.flush()?;
            self.save()?;
        }
        let Self { crew, stream, brief, .. } = self;
        let Crew { tail, voice, alarms, actions, keeper, privacy, .. } = &mut **crew;
        let mut failed = None;
        let more = tail.read(now, &mut |piece| {
            if failed.is_some() {
                return;
            }
            keeper.mark_dirty();
            let mut each = |live: &LiveHit<'_>| tell(now, live, (&brief.rules, privacy), voice, alarms, actions);
            match stream.process(&piece, &mut each) {
                Ok(taken) => voice.requests(now, taken.requests),
                Err(error) => failed = Some(error),
            }
        });
        self.tell_notices();
        match failed {
            Some(error) => Err(self.crew.voice.explain(error)),
            None => Ok(more),
        }
    }

    /// Reports hits again whose grade changed by what came since.
    fn settle(&mut self, now: Instant) -> Result<(), Failure> {
        let Self { crew, stream, brief, .. } = self;
        let Crew { voice, alarms, actions, privacy, .. } = &mut **crew;
        let mut each = |live: &LiveHit<'_>| tell(now, live, (&brief.rules, privacy), voice, alarms, actions);
        stream.regrade_all(&mut each).map_err(|error| self.crew.voice.explain(error))
    }

    /// Keeps how far it came. What was told must have been written out.
    fn save(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if self.crew.keeper.wants_sites(now) {
            self.crew.keeper.take_sites(now, self.stream.sites(unix_now()));
        }
        let checkpoints = self.crew.tail.checkpoints();
        self.crew.keeper.save(checkpoints)
    }

    /// Sees to what goes on beside the logs.
    fn attend(&mut self, now: Instant) -> Result<(), Failure> {
        let Crew { actions, service, voice, tail, .. } = &mut *self.crew;
        for notice in actions.turn().into_iter().chain(service.turn()) {
            voice.error(&notice);
        }
        if now < self.slowly_at {
            return Ok(());
        }
        self.slowly_at = now + SLOWLY;
        let stream = &self.stream;
        voice.logs(|| {
            let logs = tail.logs().filter(|log| log.live);
            let row = |path: &[u8], lag| LogRow { path: path.to_vec(), lag, lines: stream.lines_of(path) };
            logs.map(|log| row(log.path.as_os_str().as_bytes(), log.lag)).collect()
        });
        service.status(&format!("{} hits in {} lines", stream.hits(), stream.lines()));
        if voice.is_deserted() { Err(voice.explain(io::ErrorKind::BrokenPipe.into())) } else { Ok(()) }
    }

    /// How to end, if it is to end.
    fn ending(&mut self, now: Instant, rung: &Rung) -> Result<Option<Exit>, Failure> {
        for &input in &rung.inputs {
            match self.crew.voice.input(input) {
                Some(TuiCommand::Quit) => return Ok(Some(Exit::Success)),
                Some(TuiCommand::Interrupt) => return Ok(Some(Exit::Interrupted)),
                Some(TuiCommand::Redraw) => self.crew.voice.redraw(now)?,
                None => {}
            }
        }
        Ok(self.crew.signals.stop())
    }

    /// Tells what is held back, keeps how far it came, and says what it was all about.
    fn stop(&mut self) -> Result<(), Failure> {
        self.crew.service.stopping();
        self.settle(Instant::now())?;
        if self.crew.keeper.is_on() {
            self.crew.keeper.take_sites(Instant::now(), self.stream.sites(unix_now()));
        }
        self.crew.voice.unfold(&self.brief.rules)?;
        if self.crew.keeper.is_on() {
            self.save()?;
        }
        self.crew.voice.leave();
        self.summary()
    }

    fn summary(&mut self) -> Result<(), Failure> {
        let Self { stream, crew, .. } = self;
        let most = Some(crew.settings.scan.top.unwrap_or(TABLE_ROWS));
        let wanted = RowSelection { answered: true, pairs: false, clients: true, paths: true, rules: true, campaigns: false, most };
        let running = crew.started.elapsed();
        stream.summary(wanted, |report, since| {
            report.elapsed = running;
            let note = match since {
                SummaryStart::Start => None,
                SummaryStart::Time(Some(time)) => {
                    Some(format!("Hits since {}: earlier ones were let go, to bound memory.", time.rfc3339()))
                }
                SummaryStart::Time(None) => Some("Earlier hits were let go.".to_owned()),
            };
            let Crew { voice, privacy, settings, .. } = &mut **crew;
            privacy.with_redacted(report, &[], |report, _| voice.summary(report, note.as_deref(), settings.scan.top))
        })
    }

    /// Reads the rules again; `None` where the old ones stay.
    fn reload(&mut self) -> Result<Option<Box<Brief>>, Failure> {
        self.crew.service.reloading();
        let read = Brief::read(&self.crew.settings.scan);
        self.crew.service.ready();
        match read {
            Ok(brief) => {
                self.crew.voice.unfold(&self.brief.rules)?;
                self.crew.keeper.take_rules(brief.fingerprint());
                self.crew.voice.notice(&format!("read the rules again: {} of them", brief.rules.rules().len()));
                Ok(Some(Box::new(brief)))
            }
            Err(failure) => {
                self.crew.voice.error(&format!("{failure}\nthe rules stay as they were"));
                Ok(None)
            }
        }
    }

    /// How long nothing is to be done, if nothing happens.
    fn patience(&self) -> Duration {
        let now = Instant::now();
        let due = [Some(self.look_at.saturating_duration_since(now)), self.crew.voice.next_due(now)];
        due.into_iter().flatten().fold(PATIENCE, Duration::min)
    }
}

/// Seconds since 1970.
fn unix_now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

impl Crew<'_> {
    /// Ends what goes on beside the logs.
    pub(super) fn finish(self, exit: Exit) -> Exit {
        for notice in self.actions.finish() {
            message::error(&message::shown(&notice));
        }
        exit
    }
}

/// Tells a hit, and the alerts it leads to.
fn tell(
    now: Instant,
    live: &LiveHit<'_>,
    (rules, privacy): (&RuleSet, &Privacy),
    voice: &mut Voice,
    alarms: &mut Alarms,
    actions: &mut Actions,
) -> io::Result<()> {
    let hit = &live.hit;
    if live.is_reported() {
        voice.hit(now, &privacy.live(live, &mut RedactionBuffers::default()), rules)?;
    }
    let event = Event {
        time: hit.time,
        client: hit.client,
        path: hit.path,
        severity: hit.severity,
        answered: live.alerts,
        is_update: live.is_update,
        matched: live.matched,
        reported: hit.rules,
        request: Request {
            generation: hit.generation,
            offset: hit.offset,
            source: hit.source,
            line: hit.line,
            method: hit.method,
            target: hit.target,
            status: hit.status,
        },
    };
    let mut told = Ok(());
    alarms.see(&event, &mut |raised| {
        let raised = privacy.alert(raised);
        let mut json = Vec::new();
        let written = voice.alert(&raised, rules).and_then(|()| alert::write_json(&raised, rules, &mut json));
        actions.tell(raised.severity, &json, &alert::text_line(&raised, rules));
        if told.is_ok() {
            told = written;
        }
    });
    told
}
