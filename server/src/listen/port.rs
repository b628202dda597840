//! Opens the ports that the backend listens on.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// Approximate size of a connection's receive buffer in the kernel. By default, the kernel buffers megabytes
/// of a peer that sends faster than this side reads.
const RECEIVE_BYTES: u32 = 256 * 1024;
/// How many connections wait to be accepted.
const BACKLOG: u32 = 1024;

/// Opens a port. The kernel's receive buffer of each connection is limited.
///
/// # Errors
/// The operating system cannot open the port.
pub fn open_port(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted backend gets its port immediately.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    // Connections inherit the listening socket's buffer size.
    socket.set_recv_buffer_size(RECEIVE_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
