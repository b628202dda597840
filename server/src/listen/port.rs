//! A port that is listened on.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// How many bytes of one connection the system keeps until they are read, about. Left to itself it keeps
/// megabytes of whoever sends faster than is read.
const RECEIVE_BYTES: u32 = 256 * 1024;
/// How many connections wait to be taken in.
const BACKLOG: u32 = 1024;

/// Opens a port. Each of its connections has a bound for what the system keeps of it.
///
/// # Errors
/// What the operating system says.
pub fn open_port(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // So that a backend which starts again gets its port at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections have what the listening socket has.
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
