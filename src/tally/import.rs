//! Rebuilds a tally from an earlier report, and renumbers tallies before a merge.
//!
//! The caller has checked the input: every number was returned by this tally, and no sum overflows.

use super::cell::CellKey;
use super::table::CellTable;
use super::time_counts::TimeScale;
use super::{Cell, ClientCount, ErrorFloor, MinuteKey, Tally, TimeUnit, UnmatchedAnswers};
use crate::collections::intern::SymbolTables;
use crate::log::client::Client;
use crate::log::days::RequestDays;
use crate::log::finding::{BoundedSet, RuleId};
use crate::log::time::LogTime;
use crate::soft_404::{HomeSizes, MethodClass, SiteEvidence};

/// The key of an imported cell. All numbers were returned by this tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedKey {
    /// The client, or [`SymbolTables::OTHER`].
    pub client: u32,
    /// The path, or [`SymbolTables::OTHER`].
    pub path: u32,
    /// The list of rules.
    pub rules: u32,
    /// The status code.
    pub status: Option<u16>,
    /// The input, or [`SymbolTables::NO_INPUT`].
    pub input: u32,
    /// The virtual host.
    pub host: u32,
    /// It was answered, and the rule says that an answer exposes something.
    pub answered: bool,
    /// It is a probe of its path, so its response shows how the site answers unknown paths.
    pub is_probe: bool,
    /// The class of the method.
    pub method: MethodClass,
    /// The size of an answer.
    pub bytes: Option<u64>,
    /// Bytes of the target beyond the path, where there is a size.
    pub extra: u8,
}

/// New numbers, indexed by the old ones.
#[derive(Clone, Copy)]
pub struct ImportRemap<'n> {
    /// For inputs.
    pub inputs: &'n [u32],
    /// For rules; `None` drops the rule.
    pub rules: &'n dyn Fn(RuleId) -> Option<RuleId>,
    /// For entries of allow lists.
    pub allowed: &'n [u16],
}

impl Tally {
    /// Adds a client and its requests; adds to the counts if it is known. Returns its number.
    pub fn insert_client(&mut self, client: Client<'_>, count: ClientCount) -> u32 {
        let number = self.names.clients.intern_client(client);
        let sum = self.count_mut(number);
        sum.requests += count.requests;
        sum.allowed += count.allowed;
        number
    }

    /// Adds to what a client got for requests that no rule matched.
    pub fn insert_unmatched_answers(&mut self, client: u32, unmatched: UnmatchedAnswers) {
        self.count_mut(client).unmatched.merge(unmatched);
    }

    /// Adds a path. Returns its number.
    pub fn insert_path(&mut self, path: &[u8]) -> u32 {
        self.names.paths.intern(path, Box::from)
    }

    /// Adds a virtual host, in lower case; an empty one is none. Returns its number.
    pub fn insert_host(&mut self, host: &[u8]) -> u32 {
        self.names.host(Some(host))
    }

    /// Adds a sorted list of rules. Returns its number.
    pub fn insert_rule_list(&mut self, rules: &[RuleId]) -> u32 {
        self.names.rules.intern(rules, Box::from)
    }

    /// Adds to the most hits and requests of a client that may be uncounted.
    pub fn insert_client_error(&mut self, client: u32, hits: u64, requests: u64) {
        let sum = self.count_mut(client);
        sum.error += hits;
        sum.missed += requests;
    }

    /// Adds to the most hits of a path that may be uncounted.
    pub fn insert_path_error(&mut self, path: u32, hits: u64) {
        let at = path as usize;
        self.path_errors
            .resize(self.path_errors.len().max(at + 1), 0);
        self.path_errors[at] += hits;
    }

    /// Adds to the most that an absent key may have had.
    pub fn insert_error_floor(&mut self, floor: ErrorFloor) {
        self.error_floor = self.error_floor.plus(floor);
    }

    /// Makes the unit of times at least this long, and counts hours of the week only if
    /// `has_hours`. The lists of times of all cells that are inserted later must have this unit.
    pub fn insert_time_unit(&mut self, unit: TimeUnit, has_hours: bool) {
        self.scale.raise(unit, has_hours);
    }

    /// Adds a cell, or adds to the cell with the same key; a cell without rules is ignored. A cell
    /// with a path and without a client is one of the [`path_cells`](Self::path_cells), a cell
    /// without an input one of the [`overflow_cells`](Self::overflow_cells).
    pub fn insert_cell(&mut self, key: ImportedKey, cell: Cell) {
        self.place(key.into(), cell.hits, cell.times, |table, key, scale| {
            table.insert(key, cell, scale);
        });
    }

    /// Adds evidence of an app, for an input and a virtual host.
    pub fn insert_app_evidence(
        &mut self,
        app: RuleId,
        input: u32,
        host: u32,
        evidence: &BoundedSet,
    ) {
        self.app_evidence.gather(app, (input, host), evidence);
    }

    /// Adds evidence of a site whose cells may be pruned, for an input and a virtual host.
    pub fn insert_evidence(&mut self, input: u32, host: u32, evidence: &SiteEvidence) {
        self.evidence.merge_site((input, host), evidence);
    }

    /// Adds sizes of the home page, for an input and a virtual host.
    pub fn insert_home(&mut self, input: u32, host: u32, sizes: &HomeSizes) {
        self.evidence.merge_home((input, host), sizes);
    }

    /// Adds requests of one minute for rules with a `window`; those of an empty list of rules are
    /// ignored.
    pub fn insert_minute(&mut self, key: MinuteKey, requests: u64) {
        self.minutes.insert(key, requests);
    }

    /// Adds requests that are no longer counted for rules with a `window`.
    pub fn insert_uncounted(&mut self, requests: u64) {
        self.minutes.drop_requests(requests);
    }

    /// Adds the requests by day of a saved report.
    pub(crate) fn insert_days(&mut self, days: &RequestDays) {
        self.days.merge(days);
    }

    /// Adds requests that an entry of an allow list allowed.
    pub fn insert_allowed(&mut self, entry: u16, requests: u64) {
        self.count_allowed(entry, requests);
    }

    /// Renumbers inputs, rules and entries.
    #[must_use]
    pub fn remapped(mut self, new: &ImportRemap<'_>) -> Self {
        let input = |input: u32| new.inputs[input as usize];
        let lists = std::mem::take(&mut self.names.rules);
        let lists: Vec<u32> = lists
            .keys()
            .iter()
            .map(|list| self.insert_remapped(list, new))
            .collect();
        let rekeyed = |key: &CellKey| {
            let its_input = if key.is_overflow() {
                key.input
            } else {
                input(key.input)
            };
            CellKey {
                input: its_input,
                rules: lists[key.rules as usize],
                ..*key
            }
        };
        if are_distinct(&lists) && are_distinct(new.inputs) {
            for table in [&mut self.cells, &mut self.by_path, &mut self.overflow] {
                table.rekey(rekeyed, input);
            }
        } else {
            self.insert_rekeyed(rekeyed, input);
        }
        self.minutes = std::mem::take(&mut self.minutes).with_rule_lists(&lists);
        self.evidence = std::mem::take(&mut self.evidence)
            .remapped(|(its_input, host)| (input(its_input), host), new.rules);
        let app_evidence = std::mem::take(&mut self.app_evidence);
        for (app, (its_input, host), evidence) in app_evidence.iter() {
            if let Some(app) = (new.rules)(app) {
                self.app_evidence
                    .gather(app, (input(its_input), host), evidence);
            }
        }
        for (entry, requests) in std::mem::take(&mut self.allowed).into_iter().enumerate() {
            self.count_allowed(new.allowed[entry], requests);
        }
        self
    }

    /// Inserts all cells again, with keys that may have become equal.
    fn insert_rekeyed(
        &mut self,
        rekeyed: impl Fn(&CellKey) -> CellKey,
        input: impl Fn(u32) -> u32,
    ) {
        let tables = [&mut self.cells, &mut self.by_path, &mut self.overflow].map(std::mem::take);
        self.scale = self.scale.without_cells();
        for mut old in tables {
            for sample in old.samples_mut() {
                sample.position.input = input(sample.position.input);
            }
            for number in old.numbers() {
                let (hits, times) = (old.hits(number), old.times(number));
                self.place(
                    rekeyed(old.key(number)),
                    hits,
                    times,
                    |table, key, scale| {
                        table.insert_moved(key, &mut old, number, scale);
                    },
                );
            }
        }
    }

    /// Changes the line numbers of imported samples. `number` gets the input, the generation of the
    /// log, the offset of the line and its number so far.
    pub fn renumber_lines(&mut self, number: impl Fn(u32, u64, u64, u64) -> u64) {
        for table in [&mut self.cells, &mut self.by_path, &mut self.overflow] {
            table
                .samples_mut()
                .for_each(|sample| sample.renumber_line(&number));
        }
    }

    fn insert_remapped(&mut self, list: &[RuleId], new: &ImportRemap<'_>) -> u32 {
        let mut list: Vec<RuleId> = list.iter().filter_map(|&rule| (new.rules)(rule)).collect();
        list.sort_unstable();
        list.dedup();
        self.insert_rule_list(&list)
    }

    /// Adds a cell by `insert`, which gets its table and its key there. A cell whose rules were all
    /// dropped is no hit any more, but requests that no rule matches.
    fn place(
        &mut self,
        key: CellKey,
        hits: u64,
        times: Option<(LogTime, LogTime)>,
        insert: impl FnOnce(&mut CellTable, CellKey, Option<&mut TimeScale>),
    ) {
        if key.rules == SymbolTables::EMPTY_RULES {
            if let Some(count) = self
                .clients
                .get_mut(key.client as usize)
                .filter(|_| !key.is_overflow())
            {
                count
                    .unmatched
                    .add_requests(key.status(), key.bytes(), hits);
            }
        } else if key.is_overflow() {
            insert(&mut self.overflow, key.overflow(), None);
        } else if key.client == SymbolTables::OTHER && key.path != SymbolTables::OTHER {
            insert(&mut self.by_path, key, None);
        } else {
            for time in times.iter().flat_map(|&(first, last)| [first, last]) {
                self.scale.cover(time.utc);
            }
            insert(&mut self.cells, key, Some(&mut self.scale));
        }
    }
}

/// Whether no two numbers are equal.
fn are_distinct(numbers: &[u32]) -> bool {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.windows(2).all(|pair| pair[0] != pair[1])
}
