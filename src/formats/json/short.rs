//! The short way from a line whose layout is known to its fields: what the layout says already is not weighed line by line.
//!
//! It is for lines that name a client, a time and a request line, each as usual, and have no backslash. Of all others
//! [`Found`](super::found::Found) says what they mean; where both could, they say the same.

use super::found::{is_target, status, time_shaped, when, whole};
use super::role::{Role, SLOTS, Slot};
use crate::formats::values::{Place, Values};
use crate::formats::{Asked, Escapes, Fields};

/// What is to be known of the values of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Short {
    /// Whether another value would do where the best is none, a bit for each place.
    has_others: u16,
}

/// Where a value goes.
fn place_of(slot: Slot) -> Place {
    match slot {
        Slot::Client => Place::Client,
        Slot::Host => Place::Host,
        Slot::Time => Place::Time,
        Slot::Request => Place::Request,
        Slot::Status => Place::Status,
        Slot::Bytes => Place::Bytes,
        Slot::Referer => Place::Referer,
        Slot::UserAgent => Place::UserAgent,
        // A request line says what these would.
        _ => Place::Nowhere,
    }
}

impl Short {
    /// Says which values of a layout are which fields; `None` where the user said so, or where it takes more to tell.
    pub(super) fn of<'p>(pieces: impl Iterator<Item = (Role, &'p mut Place)>) -> Option<Self> {
        let mut best: [Option<(u8, &mut Place)>; SLOTS] = [const { None }; SLOTS];
        let mut has_others = 0;
        for (role, place) in pieces {
            if role.forwarded || role.slot != Slot::None && role.rank == 0 {
                return None;
            }
            let Some(known) = best.get_mut(role.slot as usize) else { continue };
            if let Some((rank, _)) = known {
                has_others |= 1 << place_of(role.slot) as u16;
                if role.rank >= *rank {
                    continue;
                }
            }
            *place = place_of(role.slot);
            if let Some((_, worse)) = known.replace((role.rank, place)) {
                *worse = Place::Nowhere;
            }
        }
        let has = |slot: Slot| best[slot as usize].is_some();
        (has(Slot::Client) && has(Slot::Time) && has(Slot::Request)).then_some(Self { has_others })
    }

    /// Whether these values are all that a line says.
    #[inline]
    pub(super) fn knows(self, values: &Values<'_>) -> bool {
        let is_text = |text: &[u8]| !matches!(text, b"" | b"-");
        let known = |place: Place| self.has_others & 1 << place as u16 == 0;
        let all_known = self.has_others == 0
            || (known(Place::Host) || is_text(values.get(Place::Host)) && values.get(Place::Host) != b"_")
                && (known(Place::Status) || status(values.get(Place::Status)).is_some())
                && (known(Place::Bytes) || whole(values.get(Place::Bytes)).is_some())
                && (known(Place::Referer) || is_text(values.get(Place::Referer)))
                && (known(Place::UserAgent) || is_text(values.get(Place::UserAgent)));
        all_known
            && is_text(values.get(Place::Client))
            && is_text(values.get(Place::Request))
            && !is_target(values.get(Place::Request))
            && matches!(time_shaped(values.get(Place::Time)), Some((Slot::Time, _)))
    }
}

/// The fields of a line that these values say all of.
#[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
#[inline(always)]
pub(super) fn fields<'a>(values: &Values<'a>, time: &'a mut Vec<u8>) -> Fields<'a> {
    let (host, bytes) = (values.get(Place::Host), values.get(Place::Bytes));
    Fields {
        client: values.get(Place::Client),
        forwarded: b"",
        host: if host == b"_" { b"" } else { host },
        time: when(values.get(Place::Time), time),
        asked: Asked::Line(values.get(Place::Request)),
        status: status(values.get(Place::Status)).unwrap_or_default(),
        // What is no number is not written down as one.
        bytes: bytes.strip_suffix(b".0").unwrap_or(bytes),
        referer: values.get(Place::Referer),
        user_agent: values.get(Place::UserAgent),
        escapes: Escapes::Written,
    }
}
