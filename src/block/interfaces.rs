//! The addresses of this machine's interfaces, as the kernel lists them under `/proc/net`.
//!
//! Opens no socket. The public address of a router in front of the machine is not listed there: it belongs in an allow list.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The folder where the kernel lists network interfaces.
pub const PROC_NET: &str = "/proc/net";

/// The addresses of all interfaces, sorted. `folder` is [`PROC_NET`].
///
/// # Errors
///
/// The IPv4 file cannot be read, as on systems other than Linux. A missing IPv6 file is not an error.
pub fn interface_addresses(folder: &Path) -> io::Result<Vec<IpAddr>> {
    let mut found = parse_fib_trie(&fs::read_to_string(folder.join("fib_trie"))?);
    match fs::read_to_string(folder.join("if_inet6")) {
        Ok(text) => found.extend(parse_if_inet6(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// IPv4: the routing trie has the address on one line and `host LOCAL` on a later one.
fn parse_fib_trie(text: &str) -> Vec<IpAddr> {
    let mut address = None;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(leaf) = line.strip_prefix("|-- ") {
            address = leaf.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            found.extend(address.map(IpAddr::from));
        }
    }
    found
}

/// IPv6: each line begins with the address as 32 hexadecimal digits.
fn parse_if_inet6(text: &str) -> impl Iterator<Item = IpAddr> {
    let address = |line: &str| u128::from_str_radix(line.get(..32)?, 16).ok();
    text.lines().filter_map(address).map(|bits| Ipv6Addr::from_bits(bits).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIE: &str = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 127.0.0.0/8 2 0 2\n\
         \u{20}       +-- 127.0.0.0/31 1 0 0\n           |-- 127.0.0.0\n              /8 host LOCAL\n           |-- 127.0.0.1\n\
         \u{20}             /32 host LOCAL\n     +-- 192.0.2.0/24 2 0 2\n           |-- 192.0.2.0\n              /24 link UNICAST\n\
         \u{20}          |-- 192.0.2.2\n              /32 host LOCAL\n        |-- 192.0.2.255\n           /32 link BROADCAST\nLocal:\n\
         \u{20}          |-- 192.0.2.2\n              /32 host LOCAL\n";
    const LIST: &str =
        "20010db8000000000000000000000002 04 40 00 82     eth0\n00000000000000000000000000000001 01 80 10 80       lo\nshort\n";

    #[test]
    fn parses_the_files_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(interface_addresses(folder.path()).unwrap_err().kind(), ErrorKind::NotFound);
        fs::write(folder.path().join("fib_trie"), TRIE).unwrap();
        let texts = || interface_addresses(folder.path()).unwrap().iter().map(IpAddr::to_string).collect::<Vec<_>>();
        assert_eq!(texts(), ["127.0.0.1", "192.0.2.2"]);
        fs::write(folder.path().join("if_inet6"), LIST).unwrap();
        assert_eq!(texts(), ["127.0.0.1", "192.0.2.2", "::1", "2001:db8::2"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_a_loopback_address() {
        let own = interface_addresses(Path::new(PROC_NET)).unwrap();
        assert!(own.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)), "{own:?}");
    }
}
