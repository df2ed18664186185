//! The core without the client: whoever has sockets of an executor or a TLS library does with them what this does with one of
//! the standard library. Dispatches `increment` to all counters, and prints how many there are.

use fluxbus::{object, Event, Object, Request, Session};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::var("FLUXBUS_ADDRESS")?;
    let mut socket = UnixStream::connect(address.trim_start_matches("unix:"))?;
    // Keys begin with what no other client of this user has; a real one takes 64 random bits.
    let mut session: Session<&str> = Session::new(Object::new(), &format!("{:x}", std::process::id()));
    session.connected(None);
    session.request(&Request::dispatch("counter", "increment", object! { "by": 1 }), "increment");
    let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        session.take_outgoing(&mut out);
        socket.write_all(&out)?;
        out.clear();
        let count = socket.read(&mut buffer)?;
        session.received(&buffer[..count])?;
        while let Some(event) = session.next_event() {
            if let Event::Answered("increment", result) = event {
                println!("{} counters", result?.matched);
                return Ok(());
            }
        }
    }
}
