//! The literals of all rules that are searched in the same bytes, and what each literal means to
//! each rule.
//!
//! A pass over the bytes records a bit for each kind of literal found of a rule; its `Condition`
//! then decides whether the rule matches. Time is linear in bytes and matches: an automaton
//! searches literals that do not suit the prefilter.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};

use super::definition::{Field, TextView};
use super::literal_table::{LiteralKind, LiteralTable, LiteralUse, TextArena};
use super::prefilter::Prefilter;
use crate::text::short_bytes::{begins_with, ends_with};

/// The kinds of literal hits, one bit each. The lowest seven are the fields in which a word of the
/// rule was found.
pub(crate) mod bit {
    use super::Field;

    /// One of `paths` is in the path.
    pub(crate) const PATHS: u16 = 1 << 7;
    /// The path ends in one of `suffixes`.
    pub(crate) const SUFFIX: u16 = 1 << 8;
    /// The fixed part of a `path_glob` is in the path.
    pub(crate) const GLOB: u16 = 1 << 9;
    /// One of `agents` is in the user agent.
    pub(crate) const AGENT: u16 = 1 << 10;
    /// The request begins with one of `raw_prefixes`.
    pub(crate) const PREFIX: u16 = 1 << 11;
    /// One of `unless.agents` is in the user agent.
    pub(crate) const EXCEPTION: u16 = 1 << 12;
    /// No rule matches the request by its line alone, for a rule with `unknown`.
    pub(crate) const UNKNOWN: u16 = 1 << 13;
    /// The rule is a candidate, with or without other bits.
    pub(super) const CANDIDATE: u16 = 1 << 15;

    /// Whether a rule has no hit but an exception.
    #[must_use]
    pub(crate) const fn only_exception(bits: u16) -> bool {
        bits & (CANDIDATE - 1) == EXCEPTION
    }

    /// The bit of a field.
    #[must_use]
    pub(crate) const fn of_field(field: Field) -> u16 {
        1 << field as u16
    }
}

impl LiteralKind {
    /// The fields it can be in.
    fn fields(self) -> u16 {
        match self {
            Self::Word(fields) => fields,
            Self::Path { .. } | Self::Suffix { .. } | Self::Glob { .. } => {
                bit::of_field(Field::Path)
            }
            Self::Agent | Self::Exception => bit::of_field(Field::UserAgent),
            Self::Prefix => bit::of_field(Field::Raw),
        }
    }

    /// The bits it can set.
    fn wanted(self) -> u16 {
        match self {
            Self::Word(fields) => fields,
            Self::Path { .. } => bit::PATHS,
            Self::Suffix { .. } => bit::SUFFIX,
            Self::Glob { .. } => bit::GLOB,
            Self::Agent => bit::AGENT,
            Self::Prefix => bit::PREFIX,
            Self::Exception => bit::EXCEPTION,
        }
    }
}

/// A literal of a rule that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiteralMatch {
    /// The rule.
    pub rule: u16,
    /// The bits that the literal can set, of [`bit`].
    pub wanted: u16,
    /// The bits that it sets here; none if it is not where the rule requires it.
    pub bits: u16,
    /// The range in the bytes that were searched.
    pub range: Range<usize>,
}

/// The ranges of the fields in the bytes that are searched. An absent field is `None` and gets no
/// hits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Regions {
    /// Fields for words, by [`Field`].
    pub fields: [Option<Range<usize>>; 7],
    /// The resolved path.
    pub resolved: Option<Range<usize>>,
}

impl Regions {
    /// All bytes are this field.
    #[must_use]
    pub(crate) fn only(field: Field, length: usize) -> Self {
        Self::each(&[field], length)
    }

    /// All bytes are each of these fields.
    #[must_use]
    pub(crate) fn each(fields: &[Field], length: usize) -> Self {
        let mut regions = Self::default();
        for &field in fields {
            regions.fields[field as usize] = Some(0..length);
        }
        regions
    }

    /// The views that contain `found`, each with the range relative to its start.
    pub(crate) fn around(
        &self,
        found: &Range<usize>,
    ) -> impl Iterator<Item = (TextView, Range<usize>)> {
        let fields = Field::ALL
            .into_iter()
            .map(|field| (TextView::Field(field), &self.fields[field as usize]));
        let within = |(view, region): (TextView, &Option<Range<usize>>)| {
            let region = region
                .as_ref()
                .filter(|r| r.start <= found.start && found.end <= r.end)?;
            Some((view, found.start - region.start..found.end - region.start))
        };
        fields
            .chain([(TextView::Resolved, &self.resolved)])
            .filter_map(within)
    }

    fn word_bits(&self, wanted: u16, start: usize, end: usize) -> u16 {
        let mut seen = 0;
        for (i, region) in self.fields.iter().enumerate() {
            if wanted & 1 << i != 0
                && region
                    .as_ref()
                    .is_some_and(|r| r.start <= start && end <= r.end)
            {
                seen |= 1 << i;
            }
        }
        seen
    }
}

/// The literal hits of each rule. Reused between lines; clearing takes time only for rules with
/// hits.
#[derive(Debug, Default)]
pub(crate) struct LiteralHits {
    by_rule: Vec<u16>,
    touched: Vec<u16>,
}

impl LiteralHits {
    /// Clears all hits; `rules` is the size of the rule set.
    pub(crate) fn clear(&mut self, rules: usize) {
        for rule in self.touched.drain(..) {
            self.by_rule[usize::from(rule)] = 0;
        }
        self.by_rule.resize(rules, 0);
    }

    /// Adds bits to a rule. Without bits it still becomes a candidate.
    pub(crate) fn add(&mut self, rule: u16, bits: u16) {
        // List each rule once.
        let stored = &mut self.by_rule[usize::from(rule)];
        if *stored == 0 {
            self.touched.push(rule);
        }
        *stored |= bits | bit::CANDIDATE;
    }

    /// The rules with hits, in no order.
    #[must_use]
    pub(crate) fn touched(&self) -> &[u16] {
        &self.touched
    }

    /// The bits of a rule.
    #[must_use]
    pub(crate) fn of(&self, rule: u16) -> u16 {
        self.by_rule[usize::from(rule)]
    }
}

/// The search algorithm. Both find the same.
#[derive(Debug)]
enum Finder {
    Prefilter(Prefilter),
    /// It finds prefixes of the literals, in reverse order; the rest is compared.
    Automaton(AhoCorasick),
}

impl Finder {
    fn prefilter(texts: &TextArena) -> Result<Self, BuildError> {
        Prefilter::new(texts).map_or_else(
            || Self::automaton(texts),
            |prefilter| Ok(Self::Prefilter(prefilter)),
        )
    }

    fn automaton(texts: &TextArena) -> Result<Self, BuildError> {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            // A full DFA is a third faster and four times slower to build; thanks to the verdict
            // cache few lines are searched.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            // Deeper tables cost more to build than they save.
            .dense_depth(2)
            .prefilter(false)
            // In reverse order: then the build finds shared prefixes without a search.
            .build(unique_prefixes(texts).rev())?;
        Ok(Self::Automaton(automaton))
    }
}

/// All literals that are searched together.
#[derive(Debug)]
pub(crate) struct Literals {
    finder: Finder,
    table: LiteralTable,
    /// The fields that a literal can be in.
    fields: u16,
}

impl Literals {
    /// Searches with the prefilter, which stays in the L1 and L2 caches, or with the automaton if
    /// the literals are too similar.
    pub(super) fn prefiltered(table: LiteralTable) -> Result<Self, BuildError> {
        let finder = Finder::prefilter(&table.texts)?;
        Ok(Self::new(table, finder))
    }

    /// Searches with this prefilter, which must be that of the table.
    pub(super) fn with_prefilter(table: LiteralTable, prefilter: Prefilter) -> Self {
        Self::new(table, Finder::Prefilter(prefilter))
    }

    fn new(table: LiteralTable, finder: Finder) -> Self {
        let fields = table
            .uses
            .iter()
            .fold(0, |fields, used| fields | used.kind.fields());
        Self {
            finder,
            table,
            fields,
        }
    }

    /// Whether some literal is searched in this field.
    #[must_use]
    pub(crate) fn searches(&self, field: Field) -> bool {
        self.fields & bit::of_field(field) != 0
    }

    /// Searches `bytes`, which must be in lower case, and records hits; `regions` are the ranges of
    /// the fields. Returns whether any literal was found, in the right place or not.
    pub(crate) fn find_hits(
        &self,
        bytes: &[u8],
        regions: &Regions,
        hits: &mut LiteralHits,
    ) -> bool {
        let mut any = false;
        self.find(bytes, |literal, range| {
            any = true;
            for &LiteralUse { rule, kind } in self.uses_of(literal) {
                let bits = self.bits(kind, bytes, range.start, range.end, regions);
                if bits != 0 {
                    hits.add(rule, bits);
                }
            }
        });
        any
    }

    /// Searches like [`find_hits`](Self::find_hits), and calls `each` for every literal that was found, in
    /// the right place or not, ordered by end and then by start. Exceptions are left out.
    pub(crate) fn find_all(
        &self,
        bytes: &[u8],
        regions: &Regions,
        mut each: impl FnMut(LiteralMatch),
    ) {
        let mut all = Vec::new();
        self.find(bytes, |literal, range| {
            all.push((range.end, range.start, literal));
        });
        all.sort_unstable();
        for (end, start, literal) in all {
            for &LiteralUse { rule, kind } in self
                .uses_of(literal)
                .iter()
                .filter(|used| used.kind != LiteralKind::Exception)
            {
                let bits = self.bits(kind, bytes, start, end, regions);
                each(LiteralMatch {
                    rule,
                    wanted: kind.wanted(),
                    bits,
                    range: start..end,
                });
            }
        }
    }

    /// The literals of a rule in lower case, sorted, each with the bits it can set.
    pub(crate) fn of_rule(&self, rule: u16) -> impl Iterator<Item = (&[u8], u16)> {
        let wanted = move |i: usize| {
            self.uses_of(i)
                .iter()
                .filter(|u| u.rule == rule)
                .fold(0, |bits, u| bits | u.kind.wanted())
        };
        self.table
            .texts
            .iter()
            .enumerate()
            .map(move |(i, text)| (text, wanted(i)))
            .filter(|(_, wanted)| *wanted != 0)
    }

    /// Uses the automaton from now on.
    pub(super) fn use_automaton(&mut self) -> Result<(), BuildError> {
        self.finder = Finder::automaton(&self.table.texts)?;
        Ok(())
    }

    /// Finds every literal in these bytes, in no order.
    fn find(&self, bytes: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
        let texts = &self.table.texts;
        match &self.finder {
            Finder::Prefilter(prefilter) => prefilter.find(bytes, texts, found),
            Finder::Automaton(automaton) => {
                for prefix in automaton.find_overlapping_iter(bytes) {
                    let (literal, start) = (
                        texts.len() - 1 - prefix.pattern().as_usize(),
                        prefix.start(),
                    );
                    let text = texts.get(literal);
                    if begins_with(&bytes[start..], text) {
                        found(literal, start..start + text.len());
                    }
                }
            }
        }
    }

    fn uses_of(&self, pattern: usize) -> &[LiteralUse] {
        &self.table.uses
            [self.table.starts[pattern] as usize..self.table.starts[pattern + 1] as usize]
    }

    /// The bits that a literal at `start..end` sets.
    fn bits(
        &self,
        kind: LiteralKind,
        bytes: &[u8],
        start: usize,
        end: usize,
        regions: &Regions,
    ) -> u16 {
        let in_path = |root: bool| {
            regions
                .resolved
                .as_ref()
                .filter(|p| p.start <= start && end <= p.end && (!root || start == p.start))
        };
        let bit_if = |is_met: bool, bit: u16| if is_met { bit } else { 0 };
        match kind {
            LiteralKind::Word(fields) => regions.word_bits(fields, start, end),
            LiteralKind::Path { root } => bit_if(
                in_path(root)
                    .is_some_and(|p| end == p.end || bytes[end] == b'/' || bytes[end - 1] == b'/'),
                bit::PATHS,
            ),
            LiteralKind::Suffix { root } => {
                bit_if(in_path(root).is_some_and(|p| end == p.end), bit::SUFFIX)
            }
            LiteralKind::Glob { tail } => {
                let tail = self.table.tails.get(usize::from(tail));
                bit_if(
                    in_path(false).is_some_and(|p| ends_with(&bytes[p.clone()], tail)),
                    bit::GLOB,
                )
            }
            LiteralKind::Agent => bit_if(
                regions.word_bits(bit::of_field(Field::UserAgent), start, end) != 0,
                bit::AGENT,
            ),
            LiteralKind::Exception => bit_if(
                regions.word_bits(bit::of_field(Field::UserAgent), start, end) != 0,
                bit::EXCEPTION,
            ),
            LiteralKind::Prefix => bit_if(
                regions.fields[Field::Raw as usize]
                    .as_ref()
                    .is_some_and(|r| start == r.start && end <= r.end),
                bit::PREFIX,
            ),
        }
    }
}

/// The shortest unique prefix of each of the sorted texts, and [`EXTRA_BYTES`] bytes.
fn unique_prefixes(texts: &TextArena) -> impl DoubleEndedIterator<Item = &[u8]> {
    let common_len = |a: usize, b: usize| {
        texts
            .get(a)
            .iter()
            .zip(texts.get(b))
            .take_while(|(a, b)| a == b)
            .count()
    };
    texts.iter().enumerate().map(move |(at, text)| {
        let before = if at > 0 { common_len(at, at - 1) } else { 0 };
        let after = if at + 1 < texts.len() {
            common_len(at, at + 1)
        } else {
            0
        };
        &text[..text.len().min(before.max(after) + 1 + EXTRA_BYTES)]
    })
}

/// Bytes of a literal in the automaton beyond its unique prefix: with fewer, more comparisons fail;
/// with more, the build takes longer.
const EXTRA_BYTES: usize = 1;

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::super::literal_table::{FIELD_NAMES, HEADER_FIELDS, LiteralCollector};
    use super::*;
    use crate::rules::{RuleChoice, RuleSet, load};

    /// The built-in rules, with the prefilter and without.
    static RULES: LazyLock<[RuleSet; 2]> = LazyLock::new(|| {
        [false, true].map(|no_prefilter| {
            load(&RuleChoice {
                no_prefilter,
                ..RuleChoice::default()
            })
            .unwrap()
        })
    });

    fn of(set: &RuleSet, headers: bool) -> &Literals {
        if headers { &set.headers } else { &set.request }
    }

    /// The build script knows fields by their names and bits only.
    #[test]
    fn names_and_bits_of_fields_agree() {
        for (field, name) in Field::ALL.into_iter().zip(FIELD_NAMES) {
            assert_eq!(serde_json::from_value::<Field>(name.into()).unwrap(), field);
        }
        assert_eq!(
            HEADER_FIELDS,
            bit::of_field(Field::Referer) | bit::of_field(Field::UserAgent)
        );
    }

    #[test]
    fn the_built_in_rules_are_prefiltered_by_default() {
        for headers in [false, true] {
            let is_prefiltered = RULES
                .each_ref()
                .map(|set| matches!(of(set, headers).finder, Finder::Prefilter(_)));
            assert_eq!(is_prefiltered, [true, false], "headers: {headers}");
        }
    }

    #[test]
    fn too_similar_literals_use_the_automaton() {
        let mut collector = LiteralCollector::default();
        (4..100).for_each(|length| {
            collector.add(
                vec![b'a'; length],
                length as u16,
                LiteralKind::Word(bit::of_field(Field::Path)),
            );
        });
        let literals = Literals::prefiltered(collector.into_table()).unwrap();
        assert!(matches!(literals.finder, Finder::Automaton(_)));
        let mut hits = LiteralHits::default();
        hits.clear(100);
        assert!(literals.find_hits(&[b'a'; 7], &Regions::only(Field::Path, 7), &mut hits));
        assert_eq!(hits.touched().len(), 4);
    }

    /// Texts made of literals, whole and truncated, adjacent and overlapping, with noise between
    /// them.
    fn any_text(headers: bool) -> impl Strategy<Value = Vec<u8>> {
        let texts = prop::sample::select(
            of(&RULES[0], headers)
                .table
                .texts
                .iter()
                .map(<[u8]>::to_vec)
                .collect::<Vec<_>>(),
        );
        let cut = (texts.clone(), any::<prop::sample::Index>(), any::<bool>()).prop_map(
            |(text, at, is_head)| {
                let (head, tail) = text.split_at(at.index(text.len()));
                if is_head { head } else { tail }.to_vec()
            },
        );
        let noise = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..9),
            "[ -~]{0,80}".prop_map(|text| text.to_lowercase().into_bytes())
        ];
        prop::collection::vec(prop_oneof![3 => texts, 3 => cut, 1 => noise], 0..12)
            .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_prefilter_changes_no_match(
            (headers, text) in any::<bool>().prop_flat_map(|headers| (Just(headers), any_text(headers))),
            ends in [any::<prop::sample::Index>(), any::<prop::sample::Index>()],
        ) {
            let mut ends = ends.map(|end| end.index(text.len() + 1));
            ends.sort_unstable();
            let mut regions = Regions::each(&Field::ALL, text.len());
            regions.fields[Field::Path as usize] = Some(ends[0]..ends[1]);
            regions.resolved = Some(ends[0]..ends[1]);
            let [with, without] = RULES.each_ref().map(|set| {
                let (mut hits, mut matches) = (LiteralHits::default(), Vec::new());
                hits.clear(set.rules().len());
                let any = of(set, headers).find_hits(&text, &regions, &mut hits);
                of(set, headers).find_all(&text, &regions, |found| matches.push(found));
                let mut marked: Vec<_> = hits.touched().iter().map(|&rule| (rule, hits.of(rule))).collect();
                marked.sort_unstable();
                (any, marked, matches)
            });
            prop_assert_eq!(with, without);
        }

        #[test]
        fn every_literal_is_found_wherever_it_occurs(texts in prop::collection::hash_set("[a-c]{1,9}", 1..30), line in "[a-d]{0,60}") {
            let table = || {
                let mut collector = LiteralCollector::default();
                for text in &texts {
                    collector.add(text.as_str(), 0, LiteralKind::Word(0));
                }
                collector.into_table()
            };
            let occurrences = |(at, text): (usize, &[u8])| {
                let starts = (0..line.len()).filter(|&start| line.as_bytes()[start..].starts_with(text));
                starts.map(|start| (at, start..start + text.len())).collect::<Vec<_>>()
            };
            let mut with_automaton = Literals::prefiltered(table()).unwrap();
            with_automaton.use_automaton().unwrap();
            for literals in [Literals::prefiltered(table()).unwrap(), with_automaton] {
                let mut found = Vec::new();
                literals.find(line.as_bytes(), |literal, range| found.push((literal, range)));
                found.sort_by_key(|(literal, range)| (*literal, range.start));
                prop_assert_eq!(found, literals.table.texts.iter().enumerate().flat_map(occurrences).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn each_text_has_its_number() {
        let texts: TextArena = ["a", "", "bcd", ""].into_iter().collect();
        assert_eq!(
            texts.iter().collect::<Vec<_>>(),
            [&b"a"[..], b"", b"bcd", b""]
        );
        assert_eq!(
            (texts.len(), texts.get(2), texts.last()),
            (4, &b"bcd"[..], Some(&b""[..]))
        );
        assert_eq!(TextArena::default().last(), None);
    }
}
