//! Tests of the text that a state is written as.

use proptest::prelude::*;

use super::*;
use crate::source::{Checkpoint, Fingerprint};
use crate::state::tests::checkpoint;

fn checkpoints() -> impl Strategy<Value = Vec<Checkpoint>> {
    let path =
        prop_oneof![any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes), r"[\\x0-9a-f/]{0,12}".prop_map(String::into_bytes)];
    let fingerprint = || any::<(u32, u64)>().prop_map(|(bytes, hash)| Fingerprint { bytes, hash });
    let one = (any::<[u64; 5]>(), path, fingerprint(), fingerprint()).prop_map(
        |([generation, device, inode, offset, lines], path, head, tail)| Checkpoint {
            generation,
            path,
            device,
            inode,
            offset,
            lines,
            head,
            tail,
        },
    );
    prop::collection::vec(one, 0..5)
}

fn states() -> impl Strategy<Value = TailState> {
    (any::<u64>(), prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..3), checkpoints())
        .prop_map(|(rules, absent, checkpoints)| TailState { rules, absent, checkpoints, ..TailState::default() })
}

#[test]
fn each_log_has_its_own_line() {
    let state = TailState { rules: 7, checkpoints: vec![checkpoint(1), checkpoint(2)], ..TailState::default() };
    let text = String::from_utf8(encode(&state).unwrap()).unwrap();
    let (head, body) = text.split_once(",\"state\":").unwrap();
    assert_eq!(head.len(), "{\"probewatch-state\":1,\"checksum\":\"0123456789abcdef\"".len());
    assert_eq!(
        body,
        concat!(
            "{\"rules\":7,\"checkpoints\":[\n",
            r#"{"generation":1,"path":"/var/log/\\xff/1.log","device":2,"inode":101,"offset":1000,"lines":10,"#,
            r#""head":{"bytes":1000,"hash":1},"tail":{"bytes":256,"hash":2}},"#,
            "\n",
            r#"{"generation":2,"path":"/var/log/\\xff/2.log","device":2,"inode":102,"offset":2000,"lines":20,"#,
            r#""head":{"bytes":1000,"hash":2},"tail":{"bytes":256,"hash":4}}"#,
            "]}}\n"
        )
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["state"]["checkpoints"].as_array().unwrap().len(), 2);
}

/// A whole file of any version.
fn of_version(version: u32, body: &str) -> Vec<u8> {
    format!("{{\"probewatch-state\":{version},\"checksum\":\"{}\",\"state\":{body}}}\n", checksum(version, body.as_bytes())).into_bytes()
}

#[test]
fn other_versions_and_structures_are_rejected() {
    let body = r#"{"rules":1,"checkpoints":[]}"#;
    assert_eq!(decode::<TailState>(&of_version(2, body)).unwrap(), TailState { rules: 1, ..TailState::default() });
    let cases = [
        (Vec::new(), "the state is damaged: the file is empty"),
        (vec![0; 4096], "the file is not a state, or it is damaged: its start is wrong"),
        (b"{}\n".to_vec(), "the file is not a state, or it is damaged: its start is wrong"),
        (of_version(3, body), "a newer probewatch wrote this state (its version is 3, this one supports 2): use the newer one"),
        (of_version(3, "anything"), "a newer probewatch wrote this state (its version is 3, this one supports 2): use the newer one"),
        (of_version(1, body), "the state is too old (its version is 1, this probewatch supports 2 to 2)"),
        (of_version(2, body)[..60].to_vec(), "the state is damaged: its end is missing"),
        (of_version(2, r#"{"rules":1}"#), "the state is damaged: missing field `checkpoints` at line 1 column 11"),
        (of_version(2, r#"{"rules":1,"checkpoints":[],"more":1}"#), "the state is damaged: unknown field `more`"),
    ];
    for (bytes, message) in cases {
        let refusal = decode::<TailState>(&bytes).unwrap_err();
        assert!(refusal.starts_with(message), "{refusal}");
    }
    let mut edited = of_version(2, body);
    let digit = edited.iter().rposition(|b| *b == b'1').unwrap();
    edited[digit] = b'2';
    assert_eq!(
        decode::<TailState>(&edited).unwrap_err(),
        format!("the state is damaged: its checksum should be {}", checksum(2, br#"{"rules":2,"checkpoints":[]}"#))
    );
}

#[test]
fn the_size_of_a_hundred_thousand_logs_is_bounded() {
    let state = TailState { checkpoints: (0..100_000).map(checkpoint).collect(), ..TailState::default() };
    let bytes = encode(&state).unwrap();
    assert!(bytes.len() < 200 * state.checkpoints.len(), "{}", bytes.len());
    assert!(decode::<TailState>(&bytes).unwrap() == state);
}

proptest! {
    #[test]
    fn states_round_trip(state in states()) {
        prop_assert_eq!(decode(&encode(&state).unwrap()), Ok(state));
    }

    #[test]
    fn a_flipped_bit_is_detected(state in states(), at: prop::sample::Index, flip in 1_u8..) {
        let mut bytes = encode(&state).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(decode::<TailState>(&bytes).is_err());
    }

    #[test]
    fn a_truncated_state_is_detected(state in states(), at: prop::sample::Index, rest: Vec<u8>) {
        let bytes = encode(&state).unwrap();
        let cut = &bytes[..at.index(bytes.len())];
        prop_assert!(decode::<TailState>(cut).is_err());
        let mut torn = [cut, &rest].concat();
        prop_assert!(torn == bytes || decode::<TailState>(&torn).is_err());
        torn.resize(bytes.len(), 0);
        prop_assert!(torn == bytes || decode::<TailState>(&torn).is_err());
    }

    #[test]
    fn any_bytes_are_accepted(bytes: Vec<u8>) {
        let _ = decode::<TailState>(&bytes);
        let _ = decode::<TailState>(&[HEAD, b"1", CHECKSUM, &bytes].concat());
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let _ = decode::<TailState>(&of_version(1, text));
        }
    }
}
