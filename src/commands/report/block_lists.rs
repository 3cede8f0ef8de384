//! The block lists of `--block-out`: replaced after the commit of a run, and by the next run if
//! this one died before that.
//!
//! The state has the candidates and whether the lists were written since. A file is replaced only
//! if its content changes, so that a program which watches it wakes up for a reason.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use ipnet::IpNet;

use super::run::ReportRun;
use crate::commands::block::{empty_reason, print_empty, source_names, warn_of_proxy};
use crate::commands::error::CommandError;
use crate::commands::message::sanitized_path;
use crate::commands::{ReportSettings, message, server_logs};
use crate::render::block::{self, BlockPage};
use crate::render::sink::Sink;
use crate::report::block_list::BlockListOptions;
use crate::state::{BlockState, ReportState, StateFolder};

/// Checks that all lists can be written and none of them is a log.
pub(super) fn check(settings: &ReportSettings) -> Result<(), CommandError> {
    if settings.block_lists.is_empty() {
        return Ok(());
    }
    let logs = server_logs::existing_logs(&settings.scan);
    let ids: Vec<_> = logs
        .iter()
        .filter_map(|log| fs::metadata(log).ok())
        .map(|log| (log.dev(), log.ino()))
        .collect();
    for (path, _) in &settings.block_lists {
        let sink = Sink::file(path)?;
        if logs.contains(path) || ids.iter().any(|(dev, ino)| sink.is_same_file(*dev, *ino)) {
            return Err(CommandError::ListIsInput(path.clone()));
        }
    }
    Ok(())
}

/// Writes the lists that an earlier run committed and did not write.
pub(super) fn recover(
    folder: &StateFolder,
    report_run: &ReportRun<'_>,
    known: Option<&mut ReportState>,
) -> Result<(), CommandError> {
    match known {
        Some(state)
            if state
                .block
                .as_ref()
                .is_some_and(|block| !block.is_published) =>
        {
            write_lists(report_run, state.block.get_or_insert_default())?;
            set_published(folder, state)
        }
        _ => Ok(()),
    }
}

/// Forgets expired entries before a state is saved. `has_news` means that entries were added or
/// counted.
pub(super) fn prepare(report_run: &ReportRun<'_>, state: &mut ReportState, has_news: bool) {
    if report_run.settings.block_lists.is_empty() {
        return;
    }
    let block = state.block.get_or_insert_with(BlockState::default);
    block.not_listed.expired += block.ledger.expire(
        report_run.now().cast_signed(),
        report_run.settings.block.ttl,
    );
    block.is_published &= !has_news;
}

/// Replaces the lists, records that in the state, and prints why a list is empty. `has_problems`
/// means that a log is damaged.
pub(super) fn publish(
    folder: &StateFolder,
    report_run: &ReportRun<'_>,
    state: &mut ReportState,
    has_problems: bool,
) -> Result<(), CommandError> {
    let settings = report_run.settings;
    if settings.block_lists.is_empty() {
        return Ok(());
    }
    let WrittenLists {
        empty,
        possible_proxy,
    } = write_lists(report_run, state.block.get_or_insert_default())?;
    warn_of_proxy(&settings.scan, possible_proxy);
    for (path, why) in empty {
        print_empty(
            &settings.scan,
            &format!("{}: {why}", sanitized_path(path)),
            has_problems,
        );
    }
    set_published(folder, state)
}

/// What is worth a message about lists.
#[derive(Debug, Default)]
struct WrittenLists<'s> {
    /// The lists that were replaced by an empty one, and why it is empty.
    empty: Vec<(&'s Path, String)>,
    /// The candidate that makes nearly all requests and may be a proxy.
    possible_proxy: Option<IpNet>,
}

/// Replaces the lists whose content changes.
fn write_lists<'s>(
    report_run: &ReportRun<'s>,
    block: &BlockState,
) -> Result<WrittenLists<'s>, CommandError> {
    let settings = report_run.settings;
    let mut written = WrittenLists::default();
    let options = BlockListOptions {
        now: report_run.now().cast_signed(),
        ..settings.block
    };
    for (path, format) in &settings.block_lists {
        let list = block.ledger.list(&options, &report_run.policy());
        written.possible_proxy = list.possible_proxy;
        let page = BlockPage {
            list: &list,
            sources: &source_names(&settings.scan),
            geo: &[],
        };
        let mut text = Vec::new();
        block::write(&page, *format, &mut text).map_err(CommandError::WriteReport)?;
        let before = fs::read(path).ok();
        if before.as_ref() == Some(&text) {
            continue;
        }
        let mut sink = Sink::file(path)?;
        sink.write_all(&text).map_err(|error| sink.explain(error))?;
        sink.commit()?;
        // A list that stays empty without a candidate is no news.
        if let Some(why) = empty_reason(&block.not_listed, &page, *format)
            && (why.has_candidates
                || before.is_none_or(|before| !is_same_but_comments(&before, &text)))
        {
            written.empty.push((path, why.text));
        }
    }
    Ok(written)
}

/// Whether two lists are equal but for their comments, which have the time of the logs.
fn is_same_but_comments(one: &[u8], other: &[u8]) -> bool {
    let lines = |text: &'_ [u8]| {
        text.split(|&byte| byte == b'\n')
            .filter(|line| !line.starts_with(b"#"))
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    lines(one) == lines(other)
}

/// Records in the state that the lists are written.
fn set_published(folder: &StateFolder, state: &mut ReportState) -> Result<(), CommandError> {
    if let Some(block) = state.block.as_mut().filter(|block| !block.is_published) {
        block.is_published = true;
        folder.save(state)?;
    }
    Ok(())
}

/// Warns that no client is listed, because the logs are those of a server that a proxy forwards to.
pub(super) fn warn_forwarded(report_run: &ReportRun<'_>, has_forwarded: bool) {
    if has_forwarded
        && !report_run.settings.block_lists.is_empty()
        && !report_run.settings.scan.quiet
    {
        message::warning(crate::commands::block::FORWARDED);
    }
}
