//! Encodes a state: JSON with a version and a checksum, one checkpoint per line.
//!
//! `{"probewatch-state":VERSION,"checksum":"HASH","state":{...}}`. The hash is the XXH3 of the bytes of `{...}`, seeded
//! with the version. Any file that was edited is rejected: other programs may read a state but not write it.

use std::io::{self, Write};

use serde_json::Serializer;
use serde_json::ser::Formatter;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::PersistedState;

const HEAD: &[u8] = b"{\"probewatch-state\":";
const CHECKSUM: &[u8] = b",\"checksum\":\"";
const STATE: &[u8] = b"\",\"state\":";
const END: &[u8] = b"}\n";

/// Encodes a state.
///
/// # Errors
///
/// None are known; serialization to JSON may fail in theory.
pub(super) fn encode<T: PersistedState>(state: &T) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    state.serialize(&mut Serializer::with_formatter(&mut body, ItemsOnLines))?;
    let mut bytes = Vec::with_capacity(body.len() + 128);
    for part in [HEAD, T::VERSION.to_string().as_bytes(), CHECKSUM, checksum(T::VERSION, &body).as_bytes(), STATE, &body, END] {
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}

/// Decodes a state.
///
/// # Errors
///
/// A description of what is wrong, to be printed after the file name and a colon.
pub(super) fn decode<T: PersistedState>(bytes: &[u8]) -> Result<T, String> {
    let (known, oldest) = (T::VERSION, T::OLDEST_VERSION);
    if bytes.is_empty() {
        return Err("the state is damaged: the file is empty".into());
    }
    let (version, rest) = version(bytes).ok_or("the state is damaged, or this is none: it does not begin as one")?;
    if version > known {
        return Err(format!("a newer probewatch wrote this state (its version is {version}, this one knows {known}): use the newer one"));
    }
    if version < oldest {
        return Err(format!("the state is too old (its version is {version}, this probewatch knows {oldest} to {known})"));
    }
    let (found, body) = parts(rest).ok_or("the state is damaged: it breaks off")?;
    let expected = checksum(version, body);
    if found != expected.as_bytes() {
        return Err(format!("the state is damaged: its checksum should be {expected}"));
    }
    T::from_json(version, body).map_err(|error| format!("the state is damaged: {error}"))
}

fn version(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let rest = bytes.strip_prefix(HEAD)?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = rest.split_at(digits);
    // Canonical numbers only: `01` is never written.
    let version = std::str::from_utf8(digits).ok()?.parse().ok().filter(|version: &u32| version.to_string().as_bytes() == digits)?;
    Some((version, rest))
}

/// Splits the checksum from the state.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (checksum, rest) = bytes.strip_prefix(CHECKSUM)?.split_at_checked(16)?;
    Some((checksum, rest.strip_prefix(STATE)?.strip_suffix(END)?))
}

fn checksum(version: u32, body: &[u8]) -> String {
    format!("{:016x}", xxh3_64_with_seed(body, version.into()))
}

/// Compact JSON with each item of a list on its own line, for people and `grep`.
struct ItemsOnLines;

impl Formatter for ItemsOnLines {
    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        out.write_all(if first { b"\n" } else { b",\n" })
    }
}

#[cfg(test)]
mod tests;
