//! Prints how far the logs were read: a sentence, then a line per log.

use std::io::{self, Write};

use super::{BOLD, TablePage};
use crate::analysis::status::{LogStage, LogStatus, ReadStatus};
use crate::number::{counted, grouped, size};
use crate::redact::sanitize::escape;
use crate::render::RenderOptions;
use crate::render::layout::{Cell, Column, Grid, write_wrapped};
use crate::render::style::{DIM, PLAIN};

/// Writes the status.
pub(crate) fn write<W: Write>(status: &ReadStatus, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    let page = TablePage::new(options);
    write_wrapped(&headline(status), 0, page.width, (page.painter, BOLD), out)?;
    if let Some((number, folders)) = &status.last_run {
        let last = format!("The last report is from run {number}: {}", folders.join(", "));
        write_wrapped(&last, 0, page.width, (page.painter, DIM), out)?;
    }
    if status.logs.is_empty() {
        return Ok(());
    }
    page.heading("LOGS", out)?;
    grid(&status.logs).write(page.width, page.painter, out)
}

fn headline(status: &ReadStatus) -> String {
    let lagging = status.logs.iter().filter(|log| log.lag > 0).count() as u64;
    let lag: u64 = status.logs.iter().map(|log| log.lag).sum();
    match (status.logs.len() as u64, lagging) {
        (0, _) => "No log has been read yet.".to_owned(),
        (all, 0) => format!("{} read to the end.", counted(all, "log was", "logs were")),
        (all, lagging) => format!("{} not read yet, in {lagging} of {}.", size(lag), counted(all, "log", "logs")),
    }
}

fn grid(logs: &[LogStatus]) -> Grid<'_, LogStatus> {
    Grid::new(logs)
        .column(Column::text("log").flexible(12).keep_end(), |log| Cell::new(escape(&log.path)))
        .column(Column::text("state"), |log| Cell::new(log.stage.as_str()).styled(if log.stage == LogStage::Live { PLAIN } else { DIM }))
        .column(Column::number("lines read").rank(1), |log| Cell::new(grouped(log.lines)))
        .column(Column::number("bytes read").rank(2), |log| Cell::new(grouped(log.read)))
        .column(Column::number("not read"), |log| Cell::new(grouped(log.lag)).styled(if log.lag == 0 { DIM } else { BOLD }))
        .column(Column::text("").rank(3), |log| Cell::new(if log.pending { "last line incomplete" } else { "" }))
}

#[cfg(test)]
mod tests {
    use crate::render::table::status::*;

    fn shown(status: &ReadStatus, width: u16) -> String {
        let mut out = Vec::new();
        write(status, &RenderOptions { width, ..RenderOptions::default() }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn says_how_much_is_not_read() {
        let log = |path: &str, stage, lag| LogStatus { path: path.into(), stage, lines: 12_345, read: 1_234_567, lag, pending: lag > 0 };
        let logs = vec![log("/var/log/nginx/access.log", LogStage::Live, 4_096), log("/var/log/nginx/access.log.1", LogStage::Done, 0)];
        let status = ReadStatus { last_run: Some((12, vec!["000012-20261121T000500Z".into()])), logs };
        insta::assert_snapshot!(shown(&status, 100));
        assert!(shown(&status, 40).lines().all(|line| line.chars().count() <= 40));
        assert_eq!(shown(&ReadStatus::default(), 80), "No log has been read yet.\n");
    }
}
