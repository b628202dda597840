//! Sends a message with open handles over a socket between two processes of the agent, so that a folder is the
//! one that was checked and not the one that has its name now.

use std::io::{self, BufWriter, ErrorKind, IoSlice, IoSliceMut, Read as _, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The most handles of one message. The kernel takes 253.
pub(super) const MAX_HANDLES: usize = 250;
/// The most bytes of a message.
const MAX_BYTES: usize = 2 * 1024 * 1024;
pub(super) const HEADER: usize = size_of::<u64>();

/// Sends a message with handles. The receiver gets its own copies of them.
pub(super) fn send<T: Serialize>(
    socket: &UnixStream,
    message: &T,
    handles: &[BorrowedFd<'_>],
) -> io::Result<()> {
    send_within(socket, message, handles, MAX_BYTES)
}

/// As [`send`], with another limit in bytes.
pub(super) fn send_within<T: Serialize>(
    mut socket: &UnixStream,
    message: &T,
    handles: &[BorrowedFd<'_>],
    max_bytes: usize,
) -> io::Result<()> {
    // Written twice rather than kept: a large message may wait for a process that starts.
    let mut length = Length(0);
    serde_json::to_writer(&mut length, message)?;
    if length.0 > max_bytes || handles.len() > MAX_HANDLES {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the message is too large"));
    }
    let header = u64::try_from(length.0).unwrap_or(u64::MAX).to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !control.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "too many handles"));
    }
    // A stream socket may take fewer bytes, but takes the handles with the first one.
    let sent = sendmsg(socket, &[IoSlice::new(&header)], &mut control, SendFlags::NOSIGNAL)?;
    socket.write_all(header.get(sent..).unwrap_or_default())?;
    let mut body = BufWriter::new(socket);
    serde_json::to_writer(&mut body, message)?;
    body.flush()
}

/// Counts what is written, and keeps nothing of it.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Receives a message with its handles. `None` where the other side has closed the socket.
pub(super) fn receive<T: DeserializeOwned>(
    socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    receive_within(socket, MAX_BYTES)
}

/// As [`receive`], with another limit in bytes.
pub(super) fn receive_within<T: DeserializeOwned>(
    mut socket: &UnixStream,
    max_bytes: usize,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut header = [0; HEADER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = {
        let mut parts = [IoSliceMut::new(&mut header)];
        recvmsg(socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes
    };
    if received == 0 {
        return Ok(None);
    }
    let mut handles = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            handles.extend(rights);
        }
    }
    if let Some(rest) = header.get_mut(received..) {
        socket.read_exact(rest)?;
    }
    let length = usize::try_from(u64::from_le_bytes(header)).unwrap_or(usize::MAX);
    if length > max_bytes {
        return Err(io::Error::new(ErrorKind::InvalidData, "the message is too large"));
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, handles)))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn a_message_arrives_with_the_files_that_were_open_and_not_with_what_has_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "first").unwrap();
        let open = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "second").unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let sending = std::thread::spawn(move || {
            send(&one, &vec!["x".repeat(1_000_000)], &[open.as_fd(), open.as_fd()])
        });
        let (message, mut handles) = receive::<Vec<String>>(&other).unwrap().unwrap();
        sending.join().unwrap().unwrap();
        assert_eq!((message[0].len(), handles.len()), (1_000_000, 2));
        let mut text = String::new();
        File::from(handles.remove(0)).read_to_string(&mut text).unwrap();
        assert_eq!(text, "first");
        assert!(receive::<Vec<String>>(&other).unwrap().is_none(), "the end");
    }

    #[test]
    fn a_length_that_is_too_large_is_refused_before_anything_is_kept_for_it() {
        let (mut one, other) = UnixStream::pair().unwrap();
        one.write_all(&u64::MAX.to_le_bytes()).unwrap();
        assert_eq!(receive::<String>(&other).unwrap_err().kind(), ErrorKind::InvalidData);
        let (one, _other) = UnixStream::pair().unwrap();
        let error = send(&one, &"x".repeat(MAX_BYTES), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
