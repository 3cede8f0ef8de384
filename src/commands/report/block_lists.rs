//! The block lists of `--block-out`: replaced after the commit of a run, and by the next run if this one died before that.
//!
//! The state has the candidates and whether the lists were written since. A file is replaced only if its content changes, so
//! that a program which watches it wakes up for a reason.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;

use super::run::ReportRun;
use crate::commands::block::{list_options, source_names};
use crate::commands::error::CommandError;
use crate::commands::{BlockTarget, ReportSettings, message, server_logs};
use crate::render::block::{self, BlockPage};
use crate::render::sink::Sink;
use crate::state::{BlockState, ReportState, StateFolder};

/// Checks that all lists can be written and none of them is a log.
pub(super) fn check(settings: &ReportSettings) -> Result<(), CommandError> {
    if settings.block_lists.is_empty() {
        return Ok(());
    }
    let logs = server_logs::existing_logs(&settings.scan);
    let ids: Vec<_> = logs.iter().filter_map(|log| fs::metadata(log).ok()).map(|log| (log.dev(), log.ino())).collect();
    for BlockTarget { path, .. } in &settings.block_lists {
        let sink = Sink::file(path)?;
        if logs.contains(path) || ids.iter().any(|(dev, ino)| sink.is_same_file(*dev, *ino)) {
            return Err(CommandError::ListIsInput(path.clone()));
        }
    }
    Ok(())
}

/// Writes the lists that an earlier run committed and did not write.
pub(super) fn recover(folder: &StateFolder, report_run: &ReportRun<'_>, known: Option<&mut ReportState>) -> Result<(), CommandError> {
    match known {
        Some(state) if state.block.as_ref().is_some_and(|block| !block.is_published) => publish(folder, report_run, state),
        _ => Ok(()),
    }
}

/// Forgets expired entries before a state is saved. `has_news` means that entries were added or counted.
pub(super) fn prepare(report_run: &ReportRun<'_>, state: &mut ReportState, has_news: bool) {
    if report_run.settings.block_lists.is_empty() {
        return;
    }
    let block = state.block.get_or_insert_with(BlockState::default);
    block.ledger.expire(report_run.now().cast_signed(), report_run.settings.block.ttl);
    block.is_published &= !has_news;
}

/// Replaces the lists, and records that in the state.
pub(super) fn publish(folder: &StateFolder, report_run: &ReportRun<'_>, state: &mut ReportState) -> Result<(), CommandError> {
    let settings = report_run.settings;
    if settings.block_lists.is_empty() {
        return Ok(());
    }
    let block = state.block.get_or_insert_with(BlockState::default);
    for BlockTarget { path, format } in &settings.block_lists {
        let list = block.ledger.list(&list_options(&settings.block, *format, report_run.now().cast_signed()), &report_run.policy());
        let page = BlockPage { list: &list, sources: &source_names(&settings.scan), geo: &[] };
        let mut text = Vec::new();
        block::write(&page, *format, &mut text).map_err(CommandError::WriteReport)?;
        if fs::read(path).is_ok_and(|there| there == text) {
            continue;
        }
        let mut sink = Sink::file(path)?;
        sink.write_all(&text).map_err(|error| sink.explain(error))?;
        sink.commit()?;
    }
    if !block.is_published {
        block.is_published = true;
        folder.save(state)?;
    }
    Ok(())
}

/// Warns that no client is listed, because the logs are those of a server that a proxy forwards to.
pub(super) fn warn_forwarded(report_run: &ReportRun<'_>, has_forwarded: bool) {
    if has_forwarded && !report_run.settings.block_lists.is_empty() && !report_run.settings.scan.quiet {
        message::warning(crate::commands::block::FORWARDED);
    }
}
