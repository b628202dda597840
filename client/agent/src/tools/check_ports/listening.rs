//! Finds what listens on this device, in the kernel's own tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use orion_domain::hosts::Address;
use orion_domain::{ToolError, visible};

use super::Listening;
use crate::tools::Context;
use crate::tools::processes::MAX_PROCESSES;

/// Maximum size of a table of sockets that is read, in bytes: about 50,000 sockets.
const MAX_TABLE_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum number of open files of one process that are looked at.
const MAX_FILES: usize = 4096;
/// The state of a socket that listens, as the tables have it.
const LISTEN: &str = "0A";
/// Lines read between two checks of the deadline.
const LINES_PER_CHECK: usize = 1024;

/// Returns which of the addresses something listens on, all of them on this device. `None` if the kernel has
/// no tables.
pub(super) fn on(
    addresses: &[Address],
    context: &Context<'_>,
) -> Result<Option<Listening>, ToolError> {
    let mut sockets = BTreeMap::new();
    let mut is_known = false;
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let Ok(file) = File::open(table) else { continue };
        is_known = true;
        let lines = BufReader::new(file.take(MAX_TABLE_BYTES)).lines();
        for (number, line) in lines.map_while(Result::ok).enumerate() {
            if number % LINES_PER_CHECK == 0 {
                context.check()?;
            }
            let Some(Socket { ip, port, inode }) = listener(&line) else { continue };
            if addresses.iter().any(|address| address.port == port && serves(ip, &address.host)) {
                sockets.insert(inode, port);
            }
        }
    }
    if !is_known {
        return Ok(None);
    }
    let mut listening: Listening = sockets.values().map(|port| (*port, None)).collect();
    name(sockets, &mut listening, context)?;
    Ok(Some(listening))
}

/// A socket that listens.
#[derive(Debug, PartialEq, Eq)]
struct Socket {
    ip: IpAddr,
    port: u16,
    inode: u64,
}

/// Parses a line of a table. `None` for a socket that does not listen, and for the heading.
fn listener(line: &str) -> Option<Socket> {
    let mut fields = line.split_ascii_whitespace();
    let (local, state) = (fields.nth(1)?, fields.nth(1)?);
    if state != LISTEN {
        return None;
    }
    let inode = fields.nth(5)?.parse().ok()?;
    let (ip, port) = local.split_once(':')?;
    Some(Socket { ip: ip_of(ip)?, port: u16::from_str_radix(port, 16).ok()?, inode })
}

/// Parses an address of a table: words of 32 bits in the machine's own order.
fn ip_of(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        u32::from_str_radix(hex.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes)
    };
    match hex.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).to_canonical())
        }
        _ => None,
    }
}

/// Returns whether a socket that listens on `ip` accepts connections to a host of this device.
fn serves(ip: IpAddr, host: &str) -> bool {
    ip.is_unspecified()
        || host.parse::<IpAddr>().map_or_else(|_| ip.is_loopback(), |wanted| wanted == ip)
}

/// Names the processes of the sockets. The kernel shows the files of other accounts to root alone.
fn name(
    mut sockets: BTreeMap<u64, u16>,
    listening: &mut Listening,
    context: &Context<'_>,
) -> Result<(), ToolError> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Ok(()) };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let pids: BTreeSet<_> = pids.take(MAX_PROCESSES).collect();
    for pid in pids {
        if sockets.is_empty() {
            return Ok(());
        }
        context.check()?;
        let Ok(files) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for file in files.take(MAX_FILES).filter_map(Result::ok) {
            let Ok(target) = std::fs::read_link(file.path()) else { continue };
            let Some(port) = inode_of(&target.to_string_lossy()).and_then(|it| sockets.remove(&it))
            else {
                continue;
            };
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok();
            let name = name.map(|name| visible(name.trim_end_matches('\n')));
            if let Some(known) = listening.get_mut(&port).filter(|known| known.is_none()) {
                *known = name;
            }
        }
    }
    Ok(())
}

/// Returns the number of a socket from the target of a link to it, `socket:[123]`.
fn inode_of(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_kernels_tables_are_read() {
        let line = |local: &str, state: &str| {
            format!(
                "   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0000000000000000 100 0 0 10 0"
            )
        };
        let wide = "00000000000000000000000001000000:1F90";
        let mapped = "0000000000000000FFFF00000100007F:1F90";
        for (local, ip, port) in [
            ("0100007F:1F90", "127.0.0.1", 8080),
            ("00000000:0016", "0.0.0.0", 22),
            (wide, "::1", 8080),
            (mapped, "127.0.0.1", 8080),
        ] {
            let expected = Socket { ip: ip.parse().unwrap(), port, inode: 4711 };
            assert_eq!(listener(&line(local, "0A")), Some(expected), "{local}");
            assert_eq!(listener(&line(local, "01")), None, "{local}");
        }
        for odd in ["", "  sl  local_address rem_address   st", "0: x y 0A", "\u{e9}\u{e9}"] {
            assert_eq!(listener(odd), None, "{odd}");
        }
        assert_eq!(listener(&line("\u{e9}\u{e9}\u{e9}\u{e9}:1F90", "0A")), None);
    }

    #[test]
    fn a_socket_serves_its_own_address_and_one_on_all_addresses_every_one() {
        for (ip, host, expected) in [
            ("127.0.0.1", "localhost", true),
            ("::1", "localhost", true),
            ("0.0.0.0", "127.0.0.1", true),
            ("::", "localhost", true),
            ("127.0.0.2", "127.0.0.1", false),
            ("192.0.2.1", "localhost", false),
        ] {
            assert_eq!(serves(ip.parse().unwrap(), host), expected, "{ip} {host}");
        }
        assert_eq!(inode_of("socket:[4711]"), Some(4711));
        assert_eq!(inode_of("/srv/socket:[4711]"), None);
    }
}
