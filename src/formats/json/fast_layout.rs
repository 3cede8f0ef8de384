//! The short way from a line whose layout is known to its fields: what the layout says already is not weighed line by line.
//!
//! It is for lines that name a client, a time and a request line, each as usual, and have no backslash. Of all others
//! [`FieldCollector`](super::collector::FieldCollector) says what they mean; where both could, they say the same.

use super::collector::{is_target, status, time_shaped, when, whole};
use super::role::{JsonField, KeyRole, SLOTS};
use crate::formats::fast_values::{FastValues, ValueSlot};
use crate::formats::{Escapes, Fields, RequestField};

/// What is to be known of the values of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct FastLayout {
    /// Whether another value would do where the best is none, a bit for each place.
    has_others: u16,
}

/// Where a value goes.
fn slot_of(slot: JsonField) -> ValueSlot {
    match slot {
        JsonField::Client => ValueSlot::Client,
        JsonField::Host => ValueSlot::Host,
        JsonField::Time => ValueSlot::Time,
        JsonField::Request => ValueSlot::Request,
        JsonField::Status => ValueSlot::Status,
        JsonField::Bytes => ValueSlot::Bytes,
        JsonField::Referer => ValueSlot::Referer,
        JsonField::UserAgent => ValueSlot::UserAgent,
        // A request line says what these would.
        _ => ValueSlot::None,
    }
}

impl FastLayout {
    /// Says which values of a layout are which fields; `None` where the user said so, or where it takes more to tell.
    pub(super) fn of<'p>(pieces: impl Iterator<Item = (KeyRole, &'p mut ValueSlot)>) -> Option<Self> {
        let mut best: [Option<(u8, &mut ValueSlot)>; SLOTS] = [const { None }; SLOTS];
        let mut has_others = 0;
        for (role, place) in pieces {
            if role.forwarded || role.slot != JsonField::None && role.rank == 0 {
                return None;
            }
            let Some(known) = best.get_mut(role.slot as usize) else { continue };
            if let Some((rank, _)) = known {
                has_others |= 1 << slot_of(role.slot) as u16;
                if role.rank >= *rank {
                    continue;
                }
            }
            *place = slot_of(role.slot);
            if let Some((_, worse)) = known.replace((role.rank, place)) {
                *worse = ValueSlot::None;
            }
        }
        let has = |slot: JsonField| best[slot as usize].is_some();
        (has(JsonField::Client) && has(JsonField::Time) && has(JsonField::Request)).then_some(Self { has_others })
    }

    /// Whether these values are all that a line says.
    #[inline]
    pub(super) fn is_complete(self, values: &FastValues<'_>) -> bool {
        let is_text = |text: &[u8]| !matches!(text, b"" | b"-");
        let known = |place: ValueSlot| self.has_others & 1 << place as u16 == 0;
        let all_known = self.has_others == 0
            || (known(ValueSlot::Host) || is_text(values.get(ValueSlot::Host)) && values.get(ValueSlot::Host) != b"_")
                && (known(ValueSlot::Status) || status(values.get(ValueSlot::Status)).is_some())
                && (known(ValueSlot::Bytes) || whole(values.get(ValueSlot::Bytes)).is_some())
                && (known(ValueSlot::Referer) || is_text(values.get(ValueSlot::Referer)))
                && (known(ValueSlot::UserAgent) || is_text(values.get(ValueSlot::UserAgent)));
        all_known
            && is_text(values.get(ValueSlot::Client))
            && is_text(values.get(ValueSlot::Request))
            && !is_target(values.get(ValueSlot::Request))
            && matches!(time_shaped(values.get(ValueSlot::Time)), Some((JsonField::Time, _)))
    }
}

/// The fields of a line that these values say all of.
#[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
#[inline(always)]
pub(super) fn fields<'a>(values: &FastValues<'a>, time: &'a mut Vec<u8>) -> Fields<'a> {
    let (host, bytes) = (values.get(ValueSlot::Host), values.get(ValueSlot::Bytes));
    Fields {
        client: values.get(ValueSlot::Client),
        forwarded: b"",
        host: if host == b"_" { b"" } else { host },
        time: when(values.get(ValueSlot::Time), time),
        asked: RequestField::Line(values.get(ValueSlot::Request)),
        status: status(values.get(ValueSlot::Status)).unwrap_or_default(),
        // What is no number is not written down as one.
        bytes: bytes.strip_suffix(b".0").unwrap_or(bytes),
        referer: values.get(ValueSlot::Referer),
        user_agent: values.get(ValueSlot::UserAgent),
        escapes: Escapes::Written,
    }
}
