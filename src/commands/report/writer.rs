//! Writes the folders of a run, and decides which one is worth a mail.
//!
//! Knows the names and contents of files; `report_store` publishes the folders.

use std::fs::File;
use std::io::{self, BufReader, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::run::ReportRun;
use crate::commands::block::is_forwarded;
use crate::commands::common::apps;
use crate::commands::error::CommandError;
use crate::commands::message;
use crate::judge::proxied::ProxiedClients;
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::finding::Severity;
use crate::log::time::{Period, PeriodUnit};
use crate::render::html::{self, PAGE_FILE, PageOptions};
use crate::render::mail::{self, RunSummary};
use crate::render::{GroupBy, OutputFormat, RenderOptions, render};
use crate::report::block_candidates::decide_blocks;
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::merge::{MergeError, MergedReport, ReportMerger};
use crate::report::model::ReportModel;
use crate::report::novelty::{NewItem, find_new};
use crate::report::withdrawn::WithdrawnAnswer;
use crate::report::{notes, snapshot};
use crate::report_store::{ReportStore, StagedFile, Staging, run_folder_name};
use crate::scan::incremental::{IncrementalResult, PeriodResult};
use crate::scan::input_summary::InputSummary;
use crate::state::{BlockState, ReportState};

/// The report that later runs, `merge` and `diff` read.
const REPORT_FILE: &str = "report.json";

/// The CSV files, and what a row of each is.
const TABLES: [(&str, GroupBy); 5] = [
    ("pairs.csv", GroupBy::Pair),
    ("clients.csv", GroupBy::Client),
    ("paths.csv", GroupBy::Path),
    ("rules.csv", GroupBy::Rule),
    ("answered.csv", GroupBy::Answer),
];

/// The folders of a run.
pub(super) struct ReportWriter<'r> {
    run: &'r ReportRun<'r>,
    increment: &'r IncrementalResult,
    /// What there is to report.
    pub(super) parts: Vec<&'r PeriodResult>,
    problems: &'r [(PathBuf, String)],
    notes: &'r [String],
    /// Nothing was reported before, so everything is new and that is not worth a mail.
    is_first: bool,
    /// The mail about the newest notable folder.
    mail: Option<Vec<u8>>,
    /// Number of folders that are worth a mail.
    notable: usize,
    /// A proxy wrote the logs, and its address is not known.
    is_forwarded: bool,
    /// What is left of an earlier report of a period was renamed.
    pub(super) has_set_aside: bool,
}

/// One folder: its name, its content, and notes for the reader.
struct ReportFolder<'e> {
    name: &'e str,
    part: &'e PeriodResult,
    /// Identifies the run or period in the history of seen keys.
    generation: u32,
    label: String,
    path: PathBuf,
    notes: Vec<String>,
}

impl<'r> ReportWriter<'r> {
    pub(super) fn new(
        run: &'r ReportRun<'r>,
        increment: &'r IncrementalResult,
        problems: &'r [(PathBuf, String)],
        notes: &'r [String],
        is_first: bool,
        has_forwarded: bool,
    ) -> Self {
        let parts = increment
            .parts
            .iter()
            .filter(|part| part.lines > 0 || run.settings.always)
            .collect();
        Self {
            run,
            increment,
            parts,
            problems,
            notes,
            is_first,
            mail: None,
            notable: 0,
            is_forwarded: is_forwarded(&run.settings.scan, has_forwarded),
            has_set_aside: false,
        }
    }

    /// Writes the folders of run `number`.
    pub(super) fn write(
        &mut self,
        staging: &mut Staging<'_>,
        store: &ReportStore,
        number: u64,
        state: &mut ReportState,
    ) -> Result<(), CommandError> {
        for part in self.parts.clone() {
            let name = part.period.map_or_else(
                || run_folder_name(number, self.run.started()),
                Period::label,
            );
            let mut folder = self.folder(part, &name, number, state);
            if let Some(remains) = staging.folder(&name)? {
                self.has_set_aside = true;
                folder.notes.push(set_aside_note(&folder, &remains));
            }
            if let Some((merged_report, withdrawn)) =
                self.write_part(&folder, staging, store, state)?
            {
                let rules = merged_report
                    .rules
                    .as_ref()
                    .unwrap_or(&self.run.rule_context.rules);
                let settings = &self.run.settings.scan;
                let apps = apps(&settings.apps, rules)?;
                let filter = ReportFilter {
                    apps: &apps,
                    ..self.run.rule_context.filter(settings)
                };
                self.with_report(
                    &folder,
                    &merged_report.report_input(rules, filter),
                    RowSelection::COMPLETE,
                    state,
                    |report, _, state| {
                        self.write_folder(&folder, staging, report, &withdrawn, state)
                            .map(drop)
                    },
                )?;
            }
            update_newest_period(part, state);
        }
        Ok(())
    }

    /// The summaries that a run would write. Writes no file.
    pub(super) fn pages(&self, state: &mut ReportState) -> Result<Vec<u8>, CommandError> {
        let mut pages = Vec::new();
        for &part in &self.parts {
            let folder = self.folder(part, "(nowhere: this changes nothing)", 0, state);
            let page = self.with_report(
                &folder,
                &self.report_input(part),
                RowSelection::COMPLETE,
                state,
                |report, withdrawn, state| {
                    let news = find_new(
                        report,
                        &mut state.seen,
                        folder.generation,
                        self.run.now().cast_signed(),
                    );
                    let page = self
                        .run
                        .privacy
                        .with_redacted(report, &news, |report, news| {
                            let notes = self.notes(&folder, report);
                            mail::summary_text(&self.page(&folder, report, news, withdrawn, &notes))
                        });
                    Ok(page.into_bytes())
                },
            )?;
            pages.extend(page);
            update_newest_period(part, state);
        }
        Ok(pages)
    }

    /// The mail of the run.
    pub(super) fn mail(self) -> Option<Vec<u8>> {
        let mut mail = self.mail?;
        let has_room = memchr::memchr_iter(b'\n', &mail).count() < mail::MAIL_LINES;
        if let more @ 1.. = self.notable - 1
            && has_room
        {
            mail.extend_from_slice(
                format!("Worth a look too: {more} more of the folders beside it.\n").as_bytes(),
            );
        }
        Some(mail)
    }

    fn folder<'e>(
        &self,
        part: &'e PeriodResult,
        name: &'e str,
        number: u64,
        state: &ReportState,
    ) -> ReportFolder<'e> {
        // In all reports on a period, the keys first seen in that period are new.
        let generation =
            part.period
                .map_or(number, |period| (period.start / 3_600).cast_unsigned()) as u32;
        let label = part
            .period
            .map_or_else(|| format!("Run {number}"), Period::label);
        let path = self
            .run
            .settings
            .out
            .as_deref()
            .unwrap_or(Path::new(""))
            .join(name);
        ReportFolder {
            name,
            part,
            generation,
            label,
            path,
            notes: self.folder_notes(part, state),
        }
    }

    /// What this run read, of one period.
    fn report_input(&self, part: &'r PeriodResult) -> ReportInput<'r> {
        let rule_context = &self.run.rule_context;
        ReportInput {
            rules: &rule_context.rules,
            tally: &part.tally,
            sources: &self.increment.sources,
            inputs: &part.inputs,
            without_time: self.increment.without_time,
            filter: rule_context.filter(&self.run.settings.scan),
            allow: &rule_context.scan_options.allow,
        }
    }

    /// Reports on what this run read, and keeps the mail if the folder is notable. If an earlier
    /// run reported on the same period, nothing is written yet, and the merged report is returned
    /// with the answers that this run withdraws.
    fn write_part(
        &mut self,
        folder: &ReportFolder<'_>,
        staging: &mut Staging<'_>,
        store: &ReportStore,
        state: &mut ReportState,
    ) -> Result<Option<(MergedReport, Vec<WithdrawnAnswer>)>, CommandError> {
        // Earlier runs may have reported on the same period.
        let earlier = match folder.part.period {
            Some(_) => store.open_file(folder.name, REPORT_FILE)?,
            None => None,
        };
        let (this, report_input) = (&*self, self.report_input(folder.part));
        let (mail, withdrawn) = this.with_report(
            folder,
            &report_input,
            RowSelection::COMPLETE,
            state,
            |report, withdrawn, state| {
                let unparsed = folder.part.inputs.iter().map(|input| input.counts.unparsed);
                let counters = &mut state.logs.counters;
                counters.add_lines(folder.part.lines, unparsed.sum());
                counters.add_report(&report.classes);
                if earlier.is_none() {
                    return Ok((
                        this.write_folder(folder, staging, report, withdrawn, state)?,
                        Vec::new(),
                    ));
                }
                // Keys that an earlier run found in this period were in its mail. The history is a
                // copy, because the merged report updates it.
                let news = find_new(
                    report,
                    &mut state.seen.clone(),
                    u32::MAX,
                    this.run.now().cast_signed(),
                );
                let mail = this
                    .run
                    .privacy
                    .with_redacted(report, &news, |report, news| {
                        this.mail_of(&this.page(
                            folder,
                            report,
                            news,
                            withdrawn,
                            &this.notes(folder, report),
                        ))
                    });
                Ok((mail, withdrawn.to_vec()))
            },
        )?;
        // Merged only now, when the rows of this run are freed, to limit memory.
        let sum = |earlier| {
            let mut merged = this.read(folder, earlier)?;
            let wrong = |error: MergeError| CommandError::Sum {
                path: folder.path.clone(),
                what: error.to_string(),
            };
            this.with_report(
                folder,
                &report_input,
                RowSelection::default(),
                state,
                |report, _, _| {
                    merged.add_report(report).map_err(wrong)?;
                    merged.finish(|_| false).map_err(wrong)
                },
            )
        };
        let merged_report = earlier.map(sum).transpose()?;
        self.notable += usize::from(mail.is_some());
        self.mail = mail.or_else(|| self.mail.take());
        Ok(merged_report.map(|merged_report| (merged_report, withdrawn)))
    }

    /// Reads the report of earlier runs on the same period.
    fn read(
        &self,
        folder: &ReportFolder<'_>,
        file: File,
    ) -> Result<ReportMerger<'r>, CommandError> {
        let rules = &self.run.rule_context.rules;
        let wrong = |what: String| CommandError::Earlier {
            path: folder.path.join(REPORT_FILE),
            what,
        };
        let evidence = snapshot::read(BufReader::new(file), rules)
            .map_err(|error| wrong(error.to_string()))?;
        let mut merged = ReportMerger::new(rules);
        merged
            .add(evidence)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(merged)
    }

    /// Writes all files of a folder. Returns the mail if the folder is notable.
    fn write_folder(
        &self,
        folder: &ReportFolder<'_>,
        staging: &mut Staging<'_>,
        report: &ReportModel<'_>,
        withdrawn: &[WithdrawnAnswer],
        state: &mut ReportState,
    ) -> Result<Option<Vec<u8>>, CommandError> {
        let news = find_new(
            report,
            &mut state.seen,
            folder.generation,
            self.run.now().cast_signed(),
        );
        self.run
            .privacy
            .with_redacted(report, &news, |report, news| {
                self.write_files(folder, staging, report, news, withdrawn)
            })
    }

    /// Writes the files, after redaction.
    fn write_files(
        &self,
        folder: &ReportFolder<'_>,
        staging: &mut Staging<'_>,
        report: &ReportModel<'_>,
        news: &[NewItem<'_>],
        withdrawn: &[WithdrawnAnswer],
    ) -> Result<Option<Vec<u8>>, CommandError> {
        for (name, by) in TABLES {
            let view = RenderOptions {
                format: OutputFormat::Csv,
                by: Some(by),
                ..RenderOptions::default()
            };
            write_file(staging, name, |out| render(report, &view, out))?;
        }
        write_file(staging, "new.csv", |out| {
            crate::render::csv::write_novelty(news, withdrawn, out)
        })?;
        let notes = self.notes(folder, report);
        let page = self.page(folder, report, news, withdrawn, &notes);
        write_file(staging, "summary.txt", |out| {
            out.write_all(mail::summary_text(&page).as_bytes())
        })?;
        let view = RenderOptions {
            format: OutputFormat::Json,
            ..RenderOptions::default()
        };
        write_file(staging, REPORT_FILE, |out| render(report, &view, out))?;
        if self.run.settings.html {
            let options = PageOptions {
                top: None,
                made_at: Some(self.run.now().cast_signed()),
                label: Some(&folder.label),
                news: (!self.is_first).then_some(news),
                withdrawn,
                notes: &notes,
            };
            write_file(staging, PAGE_FILE, |out| html::write(report, &options, out))?;
        }
        Ok(self.mail_of(&page))
    }

    fn mail_of(&self, page: &RunSummary<'_>) -> Option<Vec<u8>> {
        if self.run.settings.notify_level.is_none() || !mail::is_notable(page) {
            return None;
        }
        Some(mail::mail_text(page).into_bytes())
    }

    /// Builds a report with these rows and passes it to `consume`, with the answers of earlier
    /// reports that it withdraws. Updates the history of sites and the listed answers in the state.
    fn with_report<R: Send>(
        &self,
        folder: &ReportFolder<'_>,
        report_input: &ReportInput<'_>,
        wanted: RowSelection,
        state: &mut ReportState,
        consume: impl FnOnce(
            &ReportModel<'_>,
            &[WithdrawnAnswer],
            &mut ReportState,
        ) -> Result<R, CommandError>
        + Send,
    ) -> Result<R, CommandError> {
        let ReportRun {
            settings,
            log_host,
            pool,
            ..
        } = self.run;
        pool.install(|| {
            let analysis = LogAnalysis::with_history(report_input, &state.sites);
            analysis.update_history(&mut state.sites, self.run.now().cast_signed());
            let mut report = build(&analysis, wanted);
            report.log_host = Some(log_host.clone());
            report.prefix = settings.scan.client.prefix;
            report.period = folder.part.period.map(Period::label);
            self.attach_problems(&mut report.inputs);
            let policy = self.run.policy();
            report.proxied =
                ProxiedClients::find(report_input.tally, policy.proxies(), self.is_forwarded);
            // The lines of this run are in a report of all rows once; other reports of the folder
            // have those of earlier runs too.
            let is_of_run =
                wanted.pairs && std::ptr::eq(report_input.tally, &raw const folder.part.tally);
            let mut withdrawn = Vec::new();
            if is_of_run {
                withdrawn = self.run.privacy.withdrawn(state.listed.withdraw(&analysis));
                state.listed.record(&analysis, &self.run.privacy);
            }
            decide_blocks(&mut report, &analysis, &policy, settings.block.max);
            if !settings.block_lists.is_empty() && is_of_run {
                let BlockState {
                    ledger, not_listed, ..
                } = state.block.get_or_insert_with(BlockState::default);
                not_listed.add(ledger.add_report(&report, &analysis, &policy, self.is_forwarded));
            }
            self.run.add_geo(&mut report);
            consume(&report, &withdrawn, state)
        })
    }

    /// Removes inputs without lines in this report, and records problems of the others.
    fn attach_problems(&self, inputs: &mut Vec<InputSummary>) {
        for (path, what) in self.problems {
            let path = path.as_os_str().as_bytes();
            match inputs.iter_mut().find(|input| input.path == path) {
                Some(input) => input.problem = Some(what.clone()),
                None => inputs.push(InputSummary {
                    path: path.to_vec(),
                    problem: Some(what.clone()),
                    ..InputSummary::default()
                }),
            }
        }
        inputs.retain(|input| input.counts.lines > 0 || input.problem.is_some());
    }

    fn page<'p>(
        &'p self,
        folder: &'p ReportFolder<'_>,
        report: &'p ReportModel<'p>,
        news: &'p [NewItem<'p>],
        withdrawn: &'p [WithdrawnAnswer],
        notes: &'p [String],
    ) -> RunSummary<'p> {
        RunSummary {
            report,
            news,
            withdrawn,
            label: &folder.label,
            host: Some(&self.run.log_host),
            is_first: self.is_first,
            folder: &folder.path,
            notes,
            level: self.run.settings.notify_level.unwrap_or(Severity::Critical),
        }
    }

    /// All notes for the reader of a report.
    fn notes(&self, folder: &ReportFolder<'_>, report: &ReportModel<'_>) -> Vec<String> {
        let of_report = report
            .approximate
            .as_ref()
            .map(notes::accuracy_note)
            .into_iter()
            .chain(self.run.privacy.note());
        folder
            .notes
            .iter()
            .cloned()
            .chain(report.proxied_sentence())
            .chain(of_report)
            .collect()
    }

    /// Notes for the reader of a folder.
    fn folder_notes(&self, part: &PeriodResult, state: &ReportState) -> Vec<String> {
        let mut notes = self.notes.to_vec();
        let newest = state.newest_period.as_deref().and_then(Period::parse);
        if let (Some(period), Some(newest)) = (part.period, newest)
            && period < newest
        {
            notes.push(format!(
                "{} lines of it came late: {newest} was reported on before.",
                part.lines
            ));
        }
        notes
    }
}

/// Prints that the report of a period starts again, and how to get its earlier lines. Returns a
/// note for the reader of the folder.
fn set_aside_note(folder: &ReportFolder<'_>, remains: &Path) -> String {
    let name = remains.file_name().unwrap_or_default().to_string_lossy();
    message::error(&format!(
        "{}: its report.json is lost, so it cannot be continued; what is left of it is now {}, and the report starts again with the \
         lines of this run",
        message::sanitized_path(&folder.path),
        message::sanitized_path(remains),
    ));
    if let Some(period) = folder.part.period {
        // A day's label is a date; an hour's lacks the minutes.
        let time = |period: Period| {
            period.label()
                + if period.unit == PeriodUnit::Hour {
                    ":00"
                } else {
                    ""
                }
        };
        let (since, until) = (time(period), time(period.next()));
        message::hint(&format!(
            "probewatch scan --since {since} --until {until} LOGS reports on what the logs still have of it"
        ));
    }
    format!(
        "The earlier lines of this folder are missing: its report.json was lost. What is left of it is in {name}."
    )
}

/// Records the newest period.
fn update_newest_period(part: &PeriodResult, state: &mut ReportState) {
    let newest = state.newest_period.as_deref().and_then(Period::parse);
    if let Some(period) = part
        .period
        .filter(|period| newest.is_none_or(|newest| newest < *period))
    {
        state.newest_period = Some(period.label());
    }
}

/// Writes one file of a folder.
fn write_file(
    staging: &mut Staging<'_>,
    name: &str,
    write: impl FnOnce(&mut StagedFile<'_>) -> io::Result<()>,
) -> Result<(), CommandError> {
    let mut file = staging.file(name)?;
    match write(&mut file) {
        Ok(()) => Ok(file.finish()?),
        Err(error) => Err(file.explain(error).into()),
    }
}
