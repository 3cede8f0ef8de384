//! `probewatch follow`: prints hits of live logs as they happen.
//!
//! Errors in the command are found before the first line is read. One thread does all the work, so that hits are printed in
//! the order of the lines of each log, and a slow reader slows down the reading of logs: the logs are the buffer.

mod checkpointer;
mod events;
mod output;
mod session;

use std::time::Instant;

use self::checkpointer::Checkpointer;
use self::events::EventQueue;
use self::output::LiveOutput;
use self::session::{FollowRuntime, FollowSession, SessionEnd};
use super::common::{RuleContext, privacy, warn_narrow_allow};
use super::error::CommandError;
use super::metrics::FollowMetrics;
use super::signals::FollowSignals;
use super::{Exit, FollowSettings, message, server_logs};
use crate::alert_sinks::{AlertSinkSettings, AlertSinks, SystemdNotifier};
use crate::alerting::{self, AlertDetector};
use crate::input::tail::{StartPosition, Tail, TailOptions};
use crate::scan::live::LiveState;

/// How many bytes of one log are read at a time, so that no log waits long for another.
const BLOCK: usize = 1 << 20;

/// Follows the logs until a signal arrives.
#[must_use]
pub(crate) fn run(settings: &FollowSettings) -> Exit {
    follow(settings).unwrap_or_else(|error| error.report())
}

fn follow(settings: &FollowSettings) -> Result<Exit, CommandError> {
    let signals = FollowSignals::listen(settings.tui);
    let mut rule_context = RuleContext::load(&settings.scan)?;
    let privacy = privacy(settings.scan.client.anonymize.as_ref(), settings.scan.client.redact)?;
    let geoip = privacy.open_geoip(&settings.scan.client.geoip)?;
    warn_narrow_allow(&settings.scan, &rule_context.scope.allow);
    if !settings.scan.quiet {
        message::warnings(rule_context.rules.warnings());
    }
    server_logs::print_skipped(&settings.scan);
    let (checkpointer, saved_state) = Checkpointer::open(settings, rule_context.fingerprint())?;
    let start = if settings.state.from_start { StartPosition::Start } else { StartPosition::End };
    let options = TailOptions { start, max_line: settings.scan.max_line, block: BLOCK };
    let window = alerting::AlertOptions { cooldown: settings.cooldown.as_secs().max(1), ..alerting::AlertOptions::default() };
    let sink_settings = AlertSinkSettings {
        exec: settings.exec.clone(),
        exec_silent: settings.tui,
        alert_file: settings.alert_file.clone(),
        syslog: settings.syslog.clone(),
    };
    let events = EventQueue::new(settings.poll);
    let counters = saved_state.as_ref().map(|state| state.counters.clone()).unwrap_or_default();
    let mut runtime = FollowRuntime {
        settings,
        metrics: FollowMetrics::new(settings, counters)?,
        privacy,
        geoip,
        signals,
        checkpointer,
        tail: Tail::new(server_logs::logs(&settings.scan), options, saved_state.as_ref().map(|state| state.checkpoints.clone())),
        detector: AlertDetector::new(&rule_context.rules, window),
        sinks: AlertSinks::new(sink_settings)?,
        systemd: SystemdNotifier::from_environment(),
        // Last, because it may switch the terminal to the live view: earlier errors are printed normally.
        output: LiveOutput::new(settings, events.sender())?,
        events,
        started: Instant::now(),
    };
    let mut live_state = LiveState::with_sites(saved_state.map(|state| state.sites).unwrap_or_default());
    loop {
        let end;
        (end, live_state) = FollowSession::new(&mut runtime, &rule_context, live_state).run()?;
        match end {
            SessionEnd::Stopped(exit) => return Ok(runtime.finish(exit)),
            SessionEnd::Reloaded(new) => {
                runtime.detector.set_rules(&new.rules);
                rule_context = *new;
            }
        }
    }
}
