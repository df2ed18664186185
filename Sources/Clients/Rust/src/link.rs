//! Keeps a session connected: begins again when a connection is lost or silent.

use crate::address::Address;
use crate::bus::{after, Shared};
use crate::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CHUNK: usize = 256 << 10;

/// What goes both ways: a socket, or what a TLS library makes of one.
pub trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn try_clone(&self) -> io::Result<Socket> {
        Ok(match self {
            Socket::Unix(socket) => Socket::Unix(socket.try_clone()?),
            Socket::Tcp(socket) => Socket::Tcp(socket.try_clone()?),
        })
    }

    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        // None would be for ever.
        let timeout = Some(timeout.max(Duration::from_millis(1)));
        match self {
            Socket::Unix(socket) => socket.set_read_timeout(timeout),
            Socket::Tcp(socket) => socket.set_read_timeout(timeout),
        }
    }

    fn shutdown(&self) {
        let _ = match self {
            Socket::Unix(socket) => socket.shutdown(Shutdown::Both),
            Socket::Tcp(socket) => socket.shutdown(Shutdown::Both),
        };
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(socket) => socket.read(buffer),
            Socket::Tcp(socket) => socket.read(buffer),
        }
    }

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        match self {
            Socket::Unix(socket) => socket.write_all(data),
            Socket::Tcp(socket) => socket.write_all(data),
        }
    }
}

/// Ends a connection from another thread.
pub(crate) struct Closer(Socket);

impl Closer {
    pub(crate) fn close(&self) {
        self.0.shutdown();
    }
}

enum Transport {
    /// A thread of its own writes.
    Split(Socket, Option<JoinHandle<()>>),
    Whole(Box<dyn Stream>, Vec<u8>),
}

/// One connection.
pub(crate) struct Link {
    shared: Arc<Shared>,
    transport: Transport,
    buffer: Vec<u8>,
    heard: Instant,
    /// When the bus was asked whether it is there.
    asked: Option<Instant>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.disconnected();
        if let Transport::Split(socket, writer) = &mut self.transport {
            socket.shutdown();
            if let Some(writer) = writer.take() {
                let _ = writer.join();
            }
        }
    }
}

impl Link {
    /// Makes one attempt at each address, up to the bus's greeting.
    pub(crate) fn connect(shared: &Arc<Shared>, at: &mut usize) -> Result<Link, Error> {
        let count = shared.addresses.len();
        let deadline = after(shared.options.connect_timeout);
        let mut failure = Error::closed();
        for left in (1..=count).rev() {
            let share = deadline.saturating_duration_since(Instant::now()) / left as u32;
            match Link::connect_to(shared, &shared.addresses[*at], Instant::now() + share) {
                Ok(link) => return Ok(link),
                Err(error) => failure = error,
            }
            *at = (*at + 1) % count;
            if !failure.is_passing() {
                break;
            }
        }
        Err(failure)
    }

    fn connect_to(shared: &Arc<Shared>, address: &Address, deadline: Instant) -> Result<Link, Error> {
        let unreachable = |error: io::Error| explained(error, address);
        if !shared.begin_to_dial() {
            return Err(Error::closed());
        }
        let transport = Link::dial(shared, address, deadline);
        shared.end_of_dialling();
        let transport = transport?;
        let (buffer, heard) = (vec![0; CHUNK], Instant::now());
        let mut link = Link { shared: shared.clone(), transport, buffer, heard, asked: None };
        let token = shared.options.token.as_deref().filter(|_| !matches!(address, Address::Unix(_)));
        let closer = link.start().map_err(unreachable)?;
        let generation = shared.connected(token, closer);
        link.begin_to_write(generation).map_err(unreachable)?;
        let result = link.greet(deadline);
        match result {
            Ok(()) => Ok(link),
            Err(error) => {
                let lost = link.end(&error.message);
                Err(if error.is("closed") { lost } else { error })
            }
        }
    }

    fn dial(shared: &Arc<Shared>, address: &Address, deadline: Instant) -> Result<Transport, Error> {
        let unreachable = |error: io::Error| explained(error, address);
        Ok(match (&shared.options.opener, address) {
            (Some(open), _) => Transport::Whole(open(address).map_err(unreachable)?, Vec::new()),
            (None, Address::Unix(path)) => Transport::Split(Socket::Unix(UnixStream::connect(path).map_err(unreachable)?), None),
            (None, Address::Tcp(host, port)) => {
                let places = (host.as_str(), *port).to_socket_addrs().map_err(unreachable)?.collect::<Vec<_>>();
                Transport::Split(Socket::Tcp(dial(&places, deadline).map_err(unreachable)?), None)
            }
            (None, Address::Tls(..)) => {
                let sentence = "This crate has no TLS of its own: give Options::opener a function that makes the stream.";
                return Err(Error::new("invalid_address", sentence));
            }
        })
    }

    fn start(&self) -> io::Result<Option<Closer>> {
        match &self.transport {
            Transport::Split(socket, _) => Ok(Some(Closer(socket.try_clone()?))),
            Transport::Whole(..) => Ok(None),
        }
    }

    fn begin_to_write(&mut self, generation: u64) -> io::Result<()> {
        if let Transport::Split(socket, writer) = &mut self.transport {
            let mut socket = socket.try_clone()?;
            let shared = self.shared.clone();
            let work = move || {
                let mut out = Vec::new();
                while shared.wait_for_outgoing(generation, &mut out) {
                    if socket.write_all(&out).is_err() {
                        socket.shutdown();
                        return;
                    }
                    out.clear();
                }
            };
            *writer = Some(std::thread::Builder::new().name("fluxbus-writer".to_string()).spawn(work)?);
        }
        Ok(())
    }

    fn greet(&mut self, deadline: Instant) -> Result<(), Error> {
        while !self.shared.is_connected() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let sentence = "The bus did not answer in the time allowed; see whether it is busy.";
                return Err(Error::new("timed_out", sentence));
            }
            self.read(left)?;
        }
        Ok(())
    }

    /// Reads until the connection ends.
    pub(crate) fn serve(mut self) -> Error {
        let keep_alive = self.shared.options.keep_alive;
        loop {
            let silent = self.asked.unwrap_or(self.heard).elapsed();
            if silent >= keep_alive && self.asked.is_some() {
                return self.end("the bus has said nothing for a long time");
            }
            if silent >= keep_alive {
                self.asked = Some(Instant::now());
                self.shared.ping();
            }
            if let Err(error) = self.read(keep_alive.saturating_sub(silent)) {
                return self.end(&error.message);
            }
        }
    }

    fn end(self, why: &str) -> Error {
        let shared = self.shared.clone();
        drop(self);
        shared.lost(why)
    }

    /// Takes what comes next, or nothing where it takes too long.
    fn read(&mut self, patience: Duration) -> Result<(), Error> {
        let ended = |why: String| Error::new("closed", why);
        let result = match &mut self.transport {
            Transport::Split(socket, _) => {
                let set = socket.set_read_timeout(patience);
                set.and_then(|_| socket.read(&mut self.buffer))
            }
            Transport::Whole(stream, out) => {
                self.shared.take_outgoing(out);
                let written = if out.is_empty() { Ok(()) } else { stream.write_all(out).and_then(|_| stream.flush()) };
                out.clear();
                written.and_then(|_| stream.read(&mut self.buffer))
            }
        };
        match result {
            Ok(0) => Err(ended("the connection was lost".to_string())),
            Ok(count) => {
                self.heard = Instant::now();
                self.asked = None;
                self.shared.received(&self.buffer[..count])
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted if !self.shared.is_ended() => Ok(()),
                _ => Err(ended(error.to_string())),
            },
        }
    }
}

/// Tries the places of a host, which share the time, as one may swallow what is sent to it.
fn dial(places: &[SocketAddr], deadline: Instant) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for (place, left) in places.iter().zip((1..=places.len()).rev()) {
        let share = deadline.saturating_duration_since(Instant::now()) / left as u32;
        match TcpStream::connect_timeout(place, share.max(Duration::from_millis(1))) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn explained(error: io::Error, address: &Address) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            Error::new("timed_out", "The bus did not answer in the time allowed; see whether it is busy.")
        }
        ErrorKind::InvalidData => Error::new("untrusted", format!("The bus can't prove that it is the one: {}.", error)),
        _ => Error::new("unreachable", format!("Nothing answers at {}: {}.", address, error)),
    }
}

/// A wait that grows after each attempt, and is cut at random by up to half, so that a bus's clients do not come back in step.
pub(crate) fn wait_after(attempt: u32, (first, longest): (Duration, Duration)) -> Duration {
    let grown = first.saturating_mul(1 << attempt.min(30)).min(longest);
    grown.mul_f64(1.0 - random() as f64 / u64::MAX as f64 / 2.0)
}

fn random() -> u64 {
    use std::collections::hash_map::RandomState;
    use std::hash::{BuildHasher, Hasher};
    let mut bytes = [0; 8];
    match std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_ne_bytes(bytes),
        // Its keys come from the system, too.
        Err(_) => RandomState::new().build_hasher().finish(),
    }
}

/// 128 bits that nobody can guess.
pub(crate) fn random_name() -> String {
    format!("{:016x}{:016x}", random(), random())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn place_that_swallows_what_is_sent_leaves_time_for_another() {
        let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = deaf.local_addr().expect("an address");
        // Nobody takes these; once its queue is full, the system drops what comes.
        let short = Duration::from_millis(100);
        let fillers: Vec<TcpStream> = std::iter::from_fn(|| TcpStream::connect_timeout(&place, short).ok()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let places = [place, listener.local_addr().expect("an address")];
        let deadline = Instant::now() + Duration::from_secs(4);
        let socket = dial(&places, deadline).expect("a connection");
        assert_eq!(socket.peer_addr().expect("an address"), places[1]);
        assert!(Instant::now() < deadline);
        drop(fillers);
    }
}
