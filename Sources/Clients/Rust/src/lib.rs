//! A client of FluxBus, the state bus: mirrors of stores, and dispatches that commit exactly once. The standard library and
//! nothing else.
//!
//! ```no_run
//! use fluxbus::object;
//! let bus = fluxbus::connect("")?;
//! let counters = bus.mirror("counter")?;
//! bus.dispatch("counter/kitchen", "increment", object! { "by": 2 })?;
//! for change in counters.changes() {
//!     println!("{:?}", change?.states);
//! }
//! # Ok::<(), fluxbus::Error>(())
//! ```
//!
//! [`Bus`] blocks and has threads. Below it is [`Session`], which has neither threads nor sockets nor a clock: bytes in, bytes and
//! events out, for executors and TLS libraries of your own.

#![deny(unsafe_code)]
#![warn(missing_docs)]

mod address;
mod bus;
mod error;
mod feed;
mod link;
mod options;
mod parse;
mod request;
mod session;
mod subscription;
mod typed;
mod value;

pub use address::Address;
pub use bus::{connect, Bus, Pending};
pub use error::Error;
pub use feed::{Actions, Changes, Feed, Mirror, MirrorOf};
pub use link::Stream;
pub use options::Options;
pub use request::{Reply, Request, Step};
pub use session::{Event, Session, SubscriptionId, WINDOW};
pub use subscription::{Action, Change};
pub use typed::{member, mismatch, optional, put, target, FromValue, NotValue};
pub use value::{Object, State, Value};

impl std::str::FromStr for Value {
    type Err = Error;

    /// Reads JSON text.
    fn from_str(text: &str) -> Result<Value, Error> {
        parse::parse(text.as_bytes()).map_err(|what| Error::new("parse_error", format!("This is not JSON: {}.", what)))
    }
}
