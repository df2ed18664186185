use crate::error::Error;
use std::fmt;

/// So many bytes may a path have: `sun_path` holds 108 with the closing zero.
const LONGEST_PATH: usize = 107;

/// Where a bus listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// The path of a Unix socket.
    Unix(String),
    /// A host and a port.
    Tcp(String, u16),
    /// A host and a port behind TLS.
    Tls(String, u16),
}

impl Address {
    /// Reads addresses between commas or spaces; without any those of `$FLUXBUS_ADDRESS`, else that of this machine.
    pub fn list(text: &str) -> Result<Vec<Address>, Error> {
        let own = std::env::var("FLUXBUS_ADDRESS").unwrap_or_default();
        let named = |text: &str| {
            let words = text.split(|each: char| each == ',' || each.is_whitespace());
            words.filter(|word| !word.is_empty()).map(Address::parse).collect::<Result<Vec<_>, _>>()
        };
        let mut found = named(text)?;
        if found.is_empty() {
            found = named(&own)?;
        }
        if found.is_empty() {
            found.push(Address::Unix(usual_path()));
        }
        Ok(found)
    }

    fn parse(text: &str) -> Result<Address, Error> {
        let found = match text.split_once(':') {
            Some(("unix", path)) if path.starts_with('/') && path.len() <= LONGEST_PATH => {
                Some(Address::Unix(path.to_string()))
            }
            Some(("tcp", rest)) => host_and_port(rest).map(|(host, port)| Address::Tcp(host, port)),
            Some(("tls", rest)) => host_and_port(rest).map(|(host, port)| Address::Tls(host, port)),
            _ => None,
        };
        found.ok_or_else(|| {
            let forms = "write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT";
            Error::new("invalid_address", format!("`{}` is not an address of a bus: {}.", text, forms))
        })
    }
}

fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = inner.unwrap_or(host);
    let is_host = !host.is_empty() && (inner.is_some() || !host.contains(':'));
    let port = port.parse().ok().filter(|port| *port != 0)?;
    Some((host.to_string(), port)).filter(|_| is_host)
}

fn usual_path() -> String {
    let own = std::env::var("XDG_RUNTIME_DIR").unwrap_or_default() + "/fluxbus/bus.sock";
    if own.starts_with('/') && own != "/fluxbus/bus.sock" && std::path::Path::new(&own).exists() {
        return own;
    }
    "/run/fluxbus/bus.sock".to_string()
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = |host: &String| if host.contains(':') { format!("[{}]", host) } else { host.clone() };
        match self {
            Address::Unix(path) => write!(formatter, "unix:{}", path),
            Address::Tcp(host, port) => write!(formatter, "tcp:{}:{}", bracketed(host), port),
            Address::Tls(host, port) => write!(formatter, "tls:{}:{}", bracketed(host), port),
        }
    }
}
