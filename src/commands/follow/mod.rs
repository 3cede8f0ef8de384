//! `probewatch follow`: from live logs to hits as they happen.
//!
//! Everything that can be wrong with the command is found before the first line is read. One thread does it all, so that
//! the hits of a log come in the order of its lines, and a reader who is slow slows the reading: the logs are the buffer.

mod bell;
mod failure;
mod keeper;
mod session;
mod signals;
mod voice;

use std::time::Instant;

use self::bell::Bell;
use self::failure::Failure;
use self::keeper::Keeper;
use self::session::{Crew, End, Session};
use self::signals::Signals;
use self::voice::Voice;
use super::brief::Brief;
use super::run::{privacy, warn_of_small};
use super::{Exit, FollowSettings, message, servers};
use crate::alert_sinks::{Actions, Service, Wanted};
use crate::alerting::{self, Alarms};
use crate::input::tail::{StartPosition, Tail, TailOptions};
use crate::scan::live::LiveState;

/// Bytes of one log that are read in a turn: many logs are read in turn, and none waits long for another.
const BLOCK: usize = 1 << 20;

/// Follows the logs until a signal comes.
#[must_use]
pub fn run(settings: &FollowSettings) -> Exit {
    follow(settings).unwrap_or_else(|failure| failure.tell())
}

fn follow(settings: &FollowSettings) -> Result<Exit, Failure> {
    let signals = Signals::listen(settings.tui);
    let mut brief = Brief::read(&settings.scan)?;
    let privacy = privacy(settings.scan.client.anonymize.as_ref(), settings.scan.client.redact)?;
    warn_of_small(&settings.scan, &brief.scope.allow);
    if !settings.scan.quiet {
        message::warnings(brief.rules.warnings());
    }
    servers::tell(&settings.scan);
    let (keeper, known) = Keeper::open(settings, brief.fingerprint())?;
    let start = if settings.state.from_start { StartPosition::Start } else { StartPosition::End };
    let options = TailOptions { start, max_line: settings.scan.max_line, block: BLOCK };
    let window = alerting::Options { cooldown: settings.cooldown.as_secs().max(1), ..alerting::Options::default() };
    let wanted = Wanted {
        exec: settings.exec.clone(),
        exec_silent: settings.tui,
        alert_file: settings.alert_file.clone(),
        syslog: settings.syslog.clone(),
    };
    let bell = Bell::new(settings.poll);
    let mut crew = Crew {
        settings,
        privacy,
        signals,
        keeper,
        tail: Tail::new(servers::logs(&settings.scan), options, known.as_ref().map(|state| state.checkpoints.clone())),
        alarms: Alarms::new(&brief.rules, window),
        actions: Actions::new(wanted)?,
        service: Service::from_environment(),
        // Last, as it may take the terminal: what goes wrong before is told on that.
        voice: Voice::new(settings, bell.sender())?,
        bell,
        started: Instant::now(),
    };
    let mut carried = LiveState::with_sites(known.map(|state| state.sites).unwrap_or_default());
    loop {
        let end;
        (end, carried) = Session::new(&mut crew, &brief, carried).run()?;
        match end {
            End::Stopped(exit) => return Ok(crew.finish(exit)),
            End::Reloaded(new) => {
                crew.alarms.take_rules(&new.rules);
                brief = *new;
            }
        }
    }
}
