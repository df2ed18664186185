use crate::value::{Object, Value};
use std::fmt;

/// A refusal of the bus, or a failure on the way to it.
///
/// Besides the codes of the protocol there are those of the client: `invalid_address`, `unreachable`, `untrusted`,
/// `timed_out`, `closed`, `outcome_unknown`, `unexpected_reply` and, for states that are not of a type, `mismatch`.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// For programs: `conflict`, `rejected`, `closed` …
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// The further members of the bus's error.
    pub details: Object,
}

impl Error {
    /// An error of that code, with one sentence.
    pub fn new(code: &str, message: impl Into<String>) -> Error {
        Error { code: code.to_string(), message: message.into(), details: Object::new() }
    }

    /// Whether it is of that code.
    pub fn is(&self, code: &str) -> bool {
        self.code == code
    }

    /// Reads the error of a reply.
    pub(crate) fn refusal(source: &Value) -> Error {
        let mut details = source.as_object().cloned().unwrap_or_default();
        let mut text = |name: &str, usual: &str| match details.remove(name) {
            Some(Value::String(text)) => text,
            _ => usual.to_string(),
        };
        let code = text("code", "unexpected_reply");
        let message = text("message", "The bus refused the request without saying why.");
        Error { code, message, details }
    }

    pub(crate) fn outcome_unknown(cause: &Error) -> Error {
        let sentence = "The connection was lost, and whether this was committed is unknown: look, then decide.";
        let mut error = Error::new("outcome_unknown", sentence);
        error.details.insert("original".to_string(), Value::from(cause.to_string()));
        error
    }

    pub(crate) fn closed() -> Error {
        Error::new("closed", "The bus was closed by this program.")
    }

    /// Whether another attempt to connect may succeed after it.
    pub(crate) fn is_passing(&self) -> bool {
        let passing = ["unreachable", "untrusted", "timed_out", "limit", "unavailable", "closed"];
        passing.contains(&self.code.as_str())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Error {}

/// For functions that give errors of input and output: `timed_out` is `TimedOut`, and so on.
impl From<Error> for std::io::Error {
    fn from(error: Error) -> std::io::Error {
        use std::io::ErrorKind;
        let kind = match error.code.as_str() {
            "timed_out" => ErrorKind::TimedOut,
            "unreachable" => ErrorKind::NotConnected,
            "closed" | "outcome_unknown" => ErrorKind::ConnectionAborted,
            "forbidden" | "unauthorized" | "untrusted" => ErrorKind::PermissionDenied,
            "unknown_store" => ErrorKind::NotFound,
            "exists" => ErrorKind::AlreadyExists,
            _ => ErrorKind::Other,
        };
        std::io::Error::new(kind, error)
    }
}
