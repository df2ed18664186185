use crate::address::Address;
use crate::bus::Bus;
use crate::error::Error;
use crate::link::Stream;
use crate::value::{Object, Value};
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub(crate) type Log = Arc<dyn Fn(&str) + Send + Sync>;
pub(crate) type Opener = Arc<dyn Fn(&Address) -> io::Result<Box<dyn Stream>> + Send + Sync>;

/// How to connect to a bus.
///
/// ```no_run
/// # use std::time::Duration;
/// let bus = fluxbus::Options::new().client("heating").patience(Duration::from_secs(60)).connect("")?;
/// # Ok::<(), fluxbus::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    client: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) session: Option<String>,
    linger: Duration,
    pub(crate) patience: Duration,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) keep_alive: Duration,
    pub(crate) back_off: (Duration, Duration),
    pub(crate) opener: Option<Opener>,
    pub(crate) log: Option<Log>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            client: None,
            token: std::env::var("FLUXBUS_TOKEN").ok().filter(|token| !token.is_empty()),
            session: None,
            linger: Duration::ZERO,
            patience: Duration::ZERO,
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            keep_alive: Duration::from_secs(30),
            back_off: (Duration::from_millis(50), Duration::from_secs(10)),
            opener: None,
            log: None,
        }
    }
}

impl Options {
    /// What suits a service on the same machine.
    pub fn new() -> Options {
        Options::default()
    }

    /// What this program calls itself.
    pub fn client(mut self, name: &str) -> Options {
        self.client = Some(name.to_string());
        self
    }

    /// Who this is beyond this machine; else `$FLUXBUS_TOKEN` says so.
    pub fn token(mut self, token: &str) -> Options {
        self.token = Some(token.to_string());
        self
    }

    /// How long the bus keeps the will and the ephemeral stores of this program after a lost connection.
    pub fn linger(mut self, linger: Duration) -> Options {
        self.linger = linger;
        self
    }

    /// The name of what `linger` keeps, so that the program finds it again when it is restarted. It is a secret.
    pub fn session(mut self, name: &str) -> Options {
        self.session = Some(name.to_string());
        self
    }

    /// For how long `connect` tries until the bus answers for the first time; without it there is one attempt.
    pub fn patience(mut self, patience: Duration) -> Options {
        self.patience = patience;
        self
    }

    /// How long a request may take (30 s).
    pub fn timeout(mut self, timeout: Duration) -> Options {
        self.timeout = timeout;
        self
    }

    /// How long an attempt to connect may take, over all addresses (5 s).
    pub fn connect_timeout(mut self, timeout: Duration) -> Options {
        self.connect_timeout = timeout;
        self
    }

    /// After how long a silence the bus is asked whether it is there (30 s); after two of them the connection counts as lost.
    pub fn keep_alive(mut self, silence: Duration) -> Options {
        self.keep_alive = silence;
        self
    }

    /// The wait before the first attempt to reconnect, and the longest one (50 ms, 10 s).
    pub fn back_off(mut self, first: Duration, longest: Duration) -> Options {
        self.back_off = (first, longest);
        self
    }

    /// What opens a connection instead of this crate: for TLS, of which it has none, or for a tunnel. The stream needs a read
    /// time-out, such as 5 ms: so long may a request wait until it is written, because one thread reads and writes.
    pub fn opener<F>(mut self, open: F) -> Options
    where
        F: Fn(&Address) -> io::Result<Box<dyn Stream>> + Send + Sync + 'static,
    {
        self.opener = Some(Arc::new(open));
        self
    }

    /// A function that the client calls, on a separate thread, when it loses the connection and when it is connected again.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Options {
        self.log = Some(Arc::new(log));
        self
    }

    /// Connects to the bus at an address, such as `unix:/run/fluxbus/bus.sock` or `tcp:127.0.0.1:7411`. Several, between
    /// commas, are the members of one bus; `""` is `$FLUXBUS_ADDRESS`, else that of this machine.
    pub fn connect(mut self, address: &str) -> Result<Bus, Error> {
        if self.linger > Duration::ZERO && self.session.is_none() {
            self.session = Some(crate::link::random_name());
        }
        Bus::start(Address::list(address)?, self)
    }

    pub(crate) fn hello(&self) -> Object {
        let mut members = Object::new();
        if let Some(client) = &self.client {
            members.insert("client".to_string(), Value::from(client));
        }
        if let Some(session) = &self.session {
            members.insert("session".to_string(), Value::from(session));
            members.insert("linger".to_string(), Value::from(self.linger.as_secs_f64()));
        }
        members
    }
}
