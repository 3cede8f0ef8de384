//! The folders of a run: what stands in each, and what is worth a mail.
//!
//! Knows what the files are called and what goes into them; how folders come to be whole is the business of `archive`.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::desk::Desk;
use super::failure::Failure;
use crate::analysis::block_candidates::block_decisions;
use crate::analysis::build::{LogAnalysis, ReportInput, RowSelection, build};
use crate::analysis::merge::{MergedReport, ReportMerger};
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::novelty::{NewItem, find_new};
use crate::analysis::{notes, snapshot};
use crate::commands::run::apps;
use crate::finding::Severity;
use crate::render::mail::{self, Page};
use crate::render::{By, Format, View, render, write_answered};
use crate::report_store::{Archive, StagedFile, Staging, run_folder};
use crate::rules::{AllowList, RuleSet};
use crate::scan::increment::{Increment, Part};
use crate::source::SourceText;
use crate::state::Ledger;
use crate::tally::Tally;
use crate::time::Period;

/// The file that later runs, `merge` and `diff` read.
const WHOLE: &str = "report.json";

/// The tables, and what a row of each is.
const TABLES: [(&str, By); 4] = [("pairs.csv", By::Pair), ("clients.csv", By::Client), ("paths.csv", By::Path), ("rules.csv", By::Rule)];

/// Everything, in every file.
const WANTED: RowSelection =
    RowSelection { answered: true, pairs: true, clients: true, paths: true, rules: true, campaigns: true, most: None };

/// The folders of a run.
pub(super) struct Editions<'r> {
    desk: &'r Desk<'r>,
    increment: &'r Increment,
    parts: Vec<&'r Part>,
    problems: &'r [(PathBuf, String)],
    notes: &'r [String],
    /// Nothing was reported before: what is new is not worth telling.
    is_first: bool,
    /// Of the newest folder that is worth one.
    mail: Option<Vec<u8>>,
    /// Folders that are worth one.
    due: usize,
}

/// What a report is made of.
struct Sums<'s> {
    rules: &'s RuleSet,
    tally: &'s Tally,
    texts: &'s [SourceText],
    inputs: Vec<InputSummary>,
    allow: &'s AllowList,
    without_time: u64,
}

/// One folder: its name, what it is about, and what a reader must know besides.
struct Edition<'e> {
    name: &'e str,
    part: &'e Part,
    /// Under which what is new in it is remembered.
    mark: u32,
    label: String,
    folder: PathBuf,
    notes: Vec<String>,
}

impl<'r> Editions<'r> {
    pub(super) fn new(
        desk: &'r Desk<'r>,
        increment: &'r Increment,
        problems: &'r [(PathBuf, String)],
        notes: &'r [String],
        ledger: &Ledger,
    ) -> Self {
        let parts = increment.parts.iter().filter(|part| part.lines > 0 || desk.settings.always).collect();
        Self { desk, increment, parts, problems, notes, is_first: ledger.run.is_none(), mail: None, due: 0 }
    }

    /// Whether there is nothing to tell.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Writes the folders of run `number`.
    pub(super) fn write(&mut self, staging: &mut Staging<'_>, archive: &Archive, number: u64, ledger: &mut Ledger) -> Result<(), Failure> {
        for part in self.parts.clone() {
            let name = part.period.map_or_else(|| run_folder(number, self.desk.started()), Period::label);
            let edition = self.edition(part, &name, number, ledger);
            staging.folder(&name)?;
            if let Some(whole) = self.write_part(&edition, staging, archive, ledger)? {
                let rules = whole.rules.as_ref().unwrap_or(&self.desk.brief.rules);
                let MergedReport { tally, texts, inputs, allow, without_time, .. } = &whole;
                let sums = Sums { rules, tally, texts, inputs: inputs.clone(), allow, without_time: *without_time };
                self.with_report(&edition, &sums, WANTED, ledger, |report, ledger| self.fill(&edition, staging, report, ledger).map(drop))?;
            }
            note_period(part, ledger);
        }
        Ok(())
    }

    /// The summaries that would be written, and no file.
    pub(super) fn pages(&self, ledger: &mut Ledger) -> Result<Vec<u8>, Failure> {
        let mut pages = Vec::new();
        for &part in &self.parts {
            let edition = self.edition(part, "(nowhere: this changes nothing)", 0, ledger);
            let page = self.with_report(&edition, &self.sums(part), WANTED, ledger, |report, ledger| {
                let news = find_new(report, &mut ledger.seen, edition.mark, self.desk.now().cast_signed());
                let mut page = Vec::new();
                self.desk.privacy.with_redacted(report, &news, |report, news| {
                    mail::write_page(&self.page(&edition, report, news, &self.notes(&edition, report)), &mut page)
                })?;
                Ok(page)
            })?;
            pages.extend(page);
            note_period(part, ledger);
        }
        Ok(pages)
    }

    /// What is worth a mail.
    pub(super) fn mail(self) -> Option<Vec<u8>> {
        let mut mail = self.mail?;
        let has_room = memchr::memchr_iter(b'\n', &mail).count() < mail::MAIL_LINES;
        if let more @ 1.. = self.due - 1
            && has_room
        {
            mail.extend_from_slice(format!("Worth a look too: {more} more of the folders beside it.\n").as_bytes());
        }
        Some(mail)
    }

    fn edition<'e>(&self, part: &'e Part, name: &'e str, number: u64, ledger: &Ledger) -> Edition<'e> {
        // Everything that is first seen in a period is new in it, however many runs report on that.
        let mark = part.period.map_or(number, |period| (period.start / 3_600).cast_unsigned()) as u32;
        let label = part.period.map_or_else(|| format!("Run {number}"), Period::label);
        let folder = self.desk.settings.out.as_deref().unwrap_or(Path::new("")).join(name);
        Edition { name, part, mark, label, folder, notes: self.notes_for(part, ledger) }
    }

    fn sums(&self, part: &'r Part) -> Sums<'r> {
        let Increment { texts, without_time, .. } = self.increment;
        let inputs = part.inputs.clone();
        let brief = &self.desk.brief;
        Sums { rules: &brief.rules, tally: &part.tally, texts, inputs, allow: &brief.scope.allow, without_time: *without_time }
    }

    /// Reports on what this run read, and keeps the mail where it is worth one. Where an earlier run reported on the same
    /// period, nothing is written, and what both come to is returned.
    fn write_part(
        &mut self,
        edition: &Edition<'_>,
        staging: &mut Staging<'_>,
        archive: &Archive,
        ledger: &mut Ledger,
    ) -> Result<Option<MergedReport>, Failure> {
        let earlier = Self::earlier(edition, archive)?;
        let (this, sums) = (&*self, self.sums(edition.part));
        let mail = this.with_report(edition, &sums, WANTED, ledger, |report, ledger| {
            if earlier.is_none() {
                return this.fill(edition, staging, report, ledger);
            }
            // What an earlier run found in this period was told then; what is new is told by a memory that is let go.
            let news = find_new(report, &mut ledger.seen.clone(), u32::MAX, this.desk.now().cast_signed());
            this.desk
                .privacy
                .with_redacted(report, &news, |report, news| this.mail_of(&this.page(edition, report, news, &this.notes(edition, report))))
        })?;
        // Only when the rows of this run need no memory any more is there room for what earlier ones told.
        let sum = |earlier| {
            let merged = this.read(edition, earlier)?;
            this.with_report(edition, &sums, RowSelection::default(), ledger, |report, _| Self::whole(merged, report, edition))
        };
        let whole = earlier.map(sum).transpose()?;
        self.due += usize::from(mail.is_some());
        self.mail = mail.or_else(|| self.mail.take());
        Ok(whole)
    }

    /// Where earlier runs reported of the same period.
    fn earlier(edition: &Edition<'_>, archive: &Archive) -> Result<Option<File>, Failure> {
        if edition.part.period.is_none() { Ok(None) } else { Ok(archive.open_file(edition.name, WHOLE)?) }
    }

    /// What they reported.
    fn read(&self, edition: &Edition<'_>, file: File) -> Result<ReportMerger<'r>, Failure> {
        let rules = &self.desk.brief.rules;
        let wrong = |what: String| Failure::Earlier { path: edition.folder.join(WHOLE), what };
        let evidence = snapshot::read(BufReader::new(file), rules).map_err(|error| wrong(error.to_string()))?;
        let mut merged = ReportMerger::new(rules);
        merged.add(evidence).map_err(|error| wrong(error.to_string()))?;
        Ok(merged)
    }

    fn whole(mut merged: ReportMerger<'_>, report: &Report<'_>, edition: &Edition<'_>) -> Result<MergedReport, Failure> {
        let wrong = |error: crate::analysis::merge::MergeError| Failure::Sum { path: edition.folder.clone(), what: error.to_string() };
        merged.add_report(report).map_err(wrong)?;
        merged.finish(|_| false).map_err(wrong)
    }

    /// Writes all files of a folder; the mail, where it is worth one.
    fn fill(
        &self,
        edition: &Edition<'_>,
        staging: &mut Staging<'_>,
        report: &Report<'_>,
        ledger: &mut Ledger,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let news = find_new(report, &mut ledger.seen, edition.mark, self.desk.now().cast_signed());
        self.desk.privacy.with_redacted(report, &news, |report, news| self.put_all(edition, staging, report, news))
    }

    /// Writes the files, as they are told.
    fn put_all(
        &self,
        edition: &Edition<'_>,
        staging: &mut Staging<'_>,
        report: &Report<'_>,
        news: &[NewItem<'_>],
    ) -> Result<Option<Vec<u8>>, Failure> {
        for (name, by) in TABLES {
            let view = View { format: Format::Csv, by: Some(by), ..View::default() };
            put(staging, name, |out| render(report, &view, out))?;
        }
        put(staging, "answered.csv", |out| write_answered(report, out))?;
        put(staging, "new.csv", |out| crate::render::csv::novelty::write_csv(news, out))?;
        let notes = self.notes(edition, report);
        let page = self.page(edition, report, news, &notes);
        put(staging, "summary.txt", |out| mail::write_page(&page, out))?;
        let view = View { format: Format::Json, ..View::default() };
        put(staging, WHOLE, |out| render(report, &view, out))?;
        self.mail_of(&page)
    }

    fn mail_of(&self, page: &Page<'_>) -> Result<Option<Vec<u8>>, Failure> {
        if self.desk.settings.notify_level.is_none() || !mail::is_due(page) {
            return Ok(None);
        }
        let mut mail = Vec::new();
        mail::write_mail(page, &mut mail)?;
        Ok(Some(mail))
    }

    /// Builds the report of some sums with these rows, for `use_it`. What it shows of its sites is remembered.
    fn with_report<R: Send>(
        &self,
        edition: &Edition<'_>,
        sums: &Sums<'_>,
        wanted: RowSelection,
        ledger: &mut Ledger,
        use_it: impl FnOnce(&Report<'_>, &mut Ledger) -> Result<R, Failure> + Send,
    ) -> Result<R, Failure> {
        let Desk { settings, machine, pool, .. } = self.desk;
        let apps = apps(&settings.scan.apps, sums.rules)?;
        let material = ReportInput {
            rules: sums.rules,
            tally: sums.tally,
            texts: sums.texts,
            min_severity: settings.scan.min_severity,
            outcomes: &settings.scan.outcomes,
            apps: &apps,
            allow: sums.allow,
        };
        pool.install(|| {
            let context = LogAnalysis::with_history(&material, &ledger.sites);
            context.update_history(&material, &mut ledger.sites, self.desk.now().cast_signed());
            let mut report = build(&material, &context, sums.inputs.clone(), sums.without_time, wanted);
            report.log_host = Some(machine.clone());
            report.prefix = settings.scan.client.prefix;
            report.period = edition.part.period.map(Period::label);
            self.tell_problems(&mut report.inputs);
            report.blocks = Some(block_decisions(&report, &material, &self.desk.guard(), settings.max_block));
            use_it(&report, ledger)
        })
    }

    /// Leaves out the inputs that have nothing in this report, and notes what was wrong with the others.
    fn tell_problems(&self, inputs: &mut Vec<InputSummary>) {
        for (path, what) in self.problems {
            let path = path.as_os_str().as_bytes();
            match inputs.iter_mut().find(|input| input.path == path) {
                Some(input) => input.problem = Some(what.clone()),
                None => inputs.push(InputSummary { path: path.to_vec(), problem: Some(what.clone()), ..InputSummary::default() }),
            }
        }
        inputs.retain(|input| input.lines > 0 || input.problem.is_some());
    }

    fn page<'p>(&'p self, edition: &'p Edition<'_>, report: &'p Report<'p>, news: &'p [NewItem<'p>], notes: &'p [String]) -> Page<'p> {
        Page {
            report,
            news,
            label: &edition.label,
            machine: Some(&self.desk.machine),
            is_first: self.is_first,
            folder: &edition.folder,
            notes,
            level: self.desk.settings.notify_level.unwrap_or(Severity::Critical),
        }
    }

    /// What a reader ought to know besides, of the report too.
    fn notes(&self, edition: &Edition<'_>, report: &Report<'_>) -> Vec<String> {
        let of_report = report.approximate.as_ref().map(notes::accuracy_note).into_iter().chain(self.desk.privacy.note());
        edition.notes.iter().cloned().chain(of_report).collect()
    }

    /// What a reader ought to know besides.
    fn notes_for(&self, part: &Part, ledger: &Ledger) -> Vec<String> {
        let mut notes = self.notes.to_vec();
        let newest = ledger.newest_period.as_deref().and_then(Period::parse);
        if let (Some(period), Some(newest)) = (part.period, newest)
            && period < newest
        {
            notes.push(format!("{} lines of it came late: {newest} was reported on before.", part.lines));
        }
        notes
    }
}

/// Remembers which period is the newest.
fn note_period(part: &Part, ledger: &mut Ledger) {
    let newest = ledger.newest_period.as_deref().and_then(Period::parse);
    if let Some(period) = part.period.filter(|period| newest.is_none_or(|newest| newest < *period)) {
        ledger.newest_period = Some(period.label());
    }
}

/// Writes one file of a folder.
fn put(staging: &mut Staging<'_>, name: &str, write: impl FnOnce(&mut StagedFile<'_>) -> io::Result<()>) -> Result<(), Failure> {
    let mut file = staging.file(name)?;
    match write(&mut file) {
        Ok(()) => Ok(file.done()?),
        Err(error) => Err(file.explain(error).into()),
    }
}
