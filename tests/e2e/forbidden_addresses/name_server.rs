//! A name server over UDP (RFC 1035) whose answers change between look-ups.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;

use super::{PUBLIC, PUBLIC_6};

/// Types of records: an address of IPv4, another name, an address of IPv6.
const A: u16 = 1;
const CNAME: u16 = 5;
const AAAA: u16 = 28;

/// The length of a message's header.
const HEADER: usize = 12;

/// How often each name was asked for, by type.
type Asked = Arc<Mutex<BTreeMap<(String, u16), usize>>>;

/// A name server.
pub(super) struct NameServer {
    asked: Asked,
}

impl NameServer {
    /// Answers at this address.
    pub(super) async fn start(address: &str) -> Self {
        let socket = UdpSocket::bind((address, 53)).await.unwrap();
        let asked = Asked::default();
        tokio::spawn(serve(socket, Arc::clone(&asked)));
        Self { asked }
    }

    /// How often a name was asked for.
    pub(super) fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|((known, _), _)| known == name).map(|(_, count)| count).sum()
    }
}

async fn serve(socket: UdpSocket, asked: Asked) {
    let mut buffer = [0; 512];
    loop {
        let (count, from) = socket.recv_from(&mut buffer).await.unwrap();
        if let Some(answer) = answer(&buffer[..count], &asked) {
            socket.send_to(&answer, from).await.unwrap();
        }
    }
}

/// What a name leads to.
enum Record {
    Address(IpAddr),
    Name(&'static str),
}

/// Returns the answer to a query with one question. None for what is no query.
fn answer(query: &[u8], asked: &Asked) -> Option<Vec<u8>> {
    let (name, end) = name_at(query, HEADER)?;
    let kind = u16::from_be_bytes(query.get(end..end + 2)?.try_into().ok()?);
    let count = {
        let mut asked = asked.lock().unwrap();
        let count = asked.entry((name.clone(), kind)).or_default();
        *count += 1;
        *count
    };
    let mut answers = Vec::new();
    let mut number = 0_u16;
    let mut owner = name;
    let mut found = records(&owner, count);
    while let Some(record) = found.pop() {
        let (record_kind, data) = match record {
            Record::Address(IpAddr::V4(ip)) => (A, ip.octets().to_vec()),
            Record::Address(IpAddr::V6(ip)) => (AAAA, ip.octets().to_vec()),
            Record::Name(target) => (CNAME, wire_name(target)),
        };
        if record_kind != kind && record_kind != CNAME {
            continue;
        }
        number += 1;
        answers.extend(wire_name(&owner));
        answers.extend(record_kind.to_be_bytes());
        // Class IN, and no time to live.
        answers.extend([0, 1, 0, 0, 0, 0]);
        answers.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        answers.extend(data);
        if let Record::Name(target) = record {
            // What the other name leads to is in the same answer.
            owner = target.to_owned();
            found = records(target, 1);
        }
    }
    let mut message = query.get(..2)?.to_vec();
    // A response that could be recursive, one question, so many answers.
    message.extend([0x81, 0x80, 0, 1]);
    message.extend(number.to_be_bytes());
    message.extend([0, 0, 0, 0]);
    message.extend(query.get(HEADER..end + 4)?);
    message.extend(answers);
    Some(message)
}

/// Reads a name in lower case. Returns it, and where it ends.
fn name_at(message: &[u8], mut at: usize) -> Option<(String, usize)> {
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            return Some((labels.join("."), at));
        }
        let label = message.get(at..at + length)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += length;
    }
}

fn wire_name(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    for label in name.split('.') {
        wire.push(u8::try_from(label.len()).unwrap());
        wire.extend(label.as_bytes());
    }
    wire.push(0);
    wire
}

/// What a name leads to, at this look-up of it.
fn records(name: &str, count: usize) -> Vec<Record> {
    let addresses = |addresses: &[&str]| -> Vec<Record> {
        addresses.iter().map(|text| Record::Address(text.parse().unwrap())).collect()
    };
    match name {
        "shop.example" | "other.example" => addresses(&[PUBLIC]),
        "six.example" => addresses(&[PUBLIC_6]),
        "both.example" => addresses(&[PUBLIC, PUBLIC_6]),
        "alias.example" => vec![Record::Name("shop.example")],
        "loopback.example" | "rebound.example" => addresses(&["127.0.0.1"]),
        "loopback6.example" => addresses(&["::1"]),
        "mapped.example" => addresses(&["::ffff:10.0.0.1"]),
        "private.example" => addresses(&["10.9.9.9"]),
        "mixed.example" => addresses(&[PUBLIC, "192.168.0.1"]),
        "mixed6.example" => addresses(&[PUBLIC, "fd00:ec2::254"]),
        "cname.example" => vec![Record::Name("private.example")],
        flipping if flipping.starts_with("flip") => {
            addresses(if count == 1 { &[PUBLIC] } else { &["127.0.0.1"] })
        }
        // Every other name leads to the metadata of a cloud.
        _ => addresses(&["169.254.169.254", "fd00:ec2::254"]),
    }
}
