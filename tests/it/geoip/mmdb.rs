//! Writes small databases in MaxMind's format, by its specification (MaxMind DB File Format 2.0).
//!
//! Knows what the tests need: trees for IPv4 and IPv6 with aliases, three sizes of records,
//! pointers, and values of any type.

use std::collections::HashMap;
use std::net::IpAddr;

/// A value in the data section.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    /// A string that is not UTF-8.
    BadText(Vec<u8>),
    Double(f64),
    Bytes(Vec<u8>),
    U16(u16),
    U32(u32),
    Map(Vec<(&'static str, Value)>),
    I32(i32),
    U64(u64),
    Array(Vec<Value>),
    Bool(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A database to be written.
#[derive(Debug)]
pub(crate) struct Database {
    ip_version: u16,
    record_size: u16,
    nodes: Vec<[Record; 2]>,
    data: DataSection,
}

/// One side of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    Empty,
    Node(usize),
    /// An offset in the data section.
    Data(usize),
}

impl Database {
    /// An empty database of IPv4 (4) or of both (6), with records of 24, 28 or 32 bits.
    pub(crate) fn new(ip_version: u16, record_size: u16) -> Self {
        Self {
            ip_version,
            record_size,
            nodes: vec![[Record::Empty; 2]],
            data: DataSection::default(),
        }
    }

    /// Adds a network, such as `192.0.2.0/24`, and its record. Wide networks come before those
    /// inside them.
    pub(crate) fn insert(&mut self, network: &str, value: &Value) {
        let offset = self.data.push(value);
        let (bits, len) = self.prefix(network);
        self.set(bits, len, Record::Data(offset));
    }

    /// Makes a network of IPv6 an alias of the tree of IPv4, as `2002::/16` is. Call it last.
    pub(crate) fn alias(&mut self, network: &str) {
        let mut node = 0;
        for _ in 0..96 {
            let Record::Node(next) = self.nodes[node][0] else {
                panic!("there is no IPv4 network")
            };
            node = next;
        }
        let (bits, len) = self.prefix(network);
        self.set(bits, len, Record::Node(node));
    }

    /// The bits of a network from the root, the first one on the left, and their number.
    fn prefix(&self, network: &str) -> (u128, u8) {
        let (address, len) = network.split_once('/').unwrap();
        let len: u8 = len.parse().unwrap();
        match (address.parse().unwrap(), self.ip_version) {
            (IpAddr::V4(address), 4) => (u128::from(address.to_bits()) << 96, len),
            (IpAddr::V4(address), _) => (address.to_bits().into(), len + 96),
            (IpAddr::V6(address), 6) => (address.to_bits(), len),
            (IpAddr::V6(_), _) => panic!("{network} in a database of IPv4"),
        }
    }

    fn set(&mut self, bits: u128, len: u8, record: Record) {
        let side = |depth: u8| usize::from(bits << depth >> 127 == 1);
        let mut node = 0;
        for depth in 0..len - 1 {
            node = match self.nodes[node][side(depth)] {
                Record::Node(next) => next,
                before => {
                    self.nodes.push([before; 2]);
                    let next = self.nodes.len() - 1;
                    self.nodes[node][side(depth)] = Record::Node(next);
                    next
                }
            };
        }
        self.nodes[node][side(len - 1)] = record;
    }

    /// The bytes of the file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let count = self.nodes.len();
        let number = |record: Record| match record {
            Record::Empty => count as u32,
            Record::Node(node) => node as u32,
            Record::Data(offset) => (count + 16 + offset) as u32,
        };
        let mut file = Vec::new();
        for [left, right] in &self.nodes {
            let (left, right) = (number(*left).to_be_bytes(), number(*right).to_be_bytes());
            match self.record_size {
                24 => file.extend([&left[1..], &right[1..]].concat()),
                28 => file.extend([&left[1..], &[left[0] << 4 | right[0]], &right[1..]].concat()),
                _ => file.extend([left, right].concat()),
            }
        }
        file.extend([0; 16]);
        file.extend(&self.data.bytes);
        file.extend(b"\xab\xcd\xefMaxMind.com");
        let mut metadata = DataSection::default();
        metadata.push(&self.metadata());
        file.extend(metadata.bytes);
        file
    }

    fn metadata(&self) -> Value {
        Value::Map(vec![
            ("binary_format_major_version", Value::U16(2)),
            ("binary_format_minor_version", Value::U16(0)),
            ("build_epoch", Value::U64(1_793_577_600)),
            ("database_type", "Test".into()),
            (
                "description",
                Value::Map(vec![("en", "Made by a test".into())]),
            ),
            ("ip_version", Value::U16(self.ip_version)),
            ("languages", Value::Array(vec!["en".into()])),
            ("node_count", Value::U32(self.nodes.len() as u32)),
            ("record_size", Value::U16(self.record_size)),
        ])
    }
}

/// Encoded values.
#[derive(Debug, Default)]
struct DataSection {
    bytes: Vec<u8>,
    /// Where each text is. Later ones point to it, as in real databases.
    texts: HashMap<String, usize>,
}

impl DataSection {
    /// Encodes a value and returns its offset.
    fn push(&mut self, value: &Value) -> usize {
        let start = self.bytes.len();
        match value {
            Value::Text(text) => self.push_text(text),
            Value::BadText(bytes) => self.push_sized(2, bytes),
            Value::Double(number) => self.push_sized(3, &number.to_be_bytes()),
            Value::Bytes(bytes) => self.push_sized(4, bytes),
            Value::U16(number) => self.push_number(5, &number.to_be_bytes()),
            Value::U32(number) => self.push_number(6, &number.to_be_bytes()),
            Value::I32(number) => self.push_sized(8, &number.to_be_bytes()),
            Value::U64(number) => self.push_number(9, &number.to_be_bytes()),
            Value::Bool(yes) => self.push_head(14, (*yes).into()),
            Value::Array(items) => {
                self.push_head(11, items.len());
                for item in items {
                    self.push(item);
                }
            }
            Value::Map(pairs) => {
                self.push_head(7, pairs.len());
                for (key, value) in pairs {
                    self.push_text(key);
                    self.push(value);
                }
            }
        }
        start
    }

    fn push_text(&mut self, text: &str) {
        match self.texts.get(text) {
            Some(&at) if at < 2048 => self.bytes.extend([1 << 5 | (at >> 8) as u8, at as u8]),
            Some(&at) => {
                let past = at - 2048;
                self.bytes.extend([
                    1 << 5 | 1 << 3 | (past >> 16) as u8,
                    (past >> 8) as u8,
                    past as u8,
                ]);
            }
            None => {
                self.texts.insert(text.to_owned(), self.bytes.len());
                self.push_sized(2, text.as_bytes());
            }
        }
    }

    /// A number without its leading zeros.
    fn push_number(&mut self, kind: u8, bytes: &[u8]) {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        self.push_sized(kind, &bytes[zeros..]);
    }

    fn push_sized(&mut self, kind: u8, bytes: &[u8]) {
        self.push_head(kind, bytes.len());
        self.bytes.extend(bytes);
    }

    /// The control byte; types above 7 have a second byte, and sizes above 28 further ones.
    fn push_head(&mut self, kind: u8, size: usize) {
        let (in_byte, further) = match size {
            0..29 => (size as u8, vec![]),
            29..285 => (29, vec![(size - 29) as u8]),
            _ => (30, ((size - 285) as u16).to_be_bytes().to_vec()),
        };
        match kind {
            ..8 => self.bytes.push(kind << 5 | in_byte),
            _ => self.bytes.extend([in_byte, kind - 7]),
        }
        self.bytes.extend(further);
    }
}
