use crate::error::Error;
use crate::value::{write_int, write_text, Object, Value};
use std::time::Duration;

/// A request of the protocol: its `op` and members.
///
/// ```
/// use fluxbus::{object, Request};
/// let request = Request::dispatch("counter/kitchen", "increment", object! { "by": 2 }).if_revision(4);
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) op: &'static str,
    /// The members behind the `op` as JSON, each with a comma before it.
    pub(crate) members: Vec<u8>,
    pub(crate) has_key: bool,
    pub(crate) has_seen: bool,
    pub(crate) is_dry: bool,
    /// It, or an element of its batch, names a revision, which means nothing in another epoch.
    pub(crate) names_revision: bool,
    /// It, or an element of its batch, makes a store that goes with its session.
    pub(crate) is_ephemeral: bool,
    pub(crate) timeout: Option<Duration>,
    has_id: bool,
    has_ack: bool,
    is_writable: bool,
}

/// What an action, or an element of a batch, is for: one store where a name stands behind the type, else all of the type.
fn kind_of(target: &str) -> &'static str {
    if target.contains('/') {
        "store"
    } else {
        "type"
    }
}

impl Request {
    /// A request with that `op`, without members.
    pub fn new(op: &'static str) -> Request {
        Request {
            op,
            members: Vec::with_capacity(112),
            has_key: false,
            has_seen: false,
            is_dry: false,
            names_revision: false,
            is_ephemeral: false,
            timeout: None,
            has_id: false,
            has_ack: false,
            is_writable: true,
        }
    }

    /// An action on one store, `"counter/kitchen"`, or on every store of a type, `"counter"`.
    pub fn dispatch(target: &str, action: &str, payload: impl Into<Value>) -> Request {
        Request::new("dispatch").text(kind_of(target), target).text("action", action).with("payload", payload)
    }

    /// Several steps as one commit.
    pub fn batch(steps: impl IntoIterator<Item = Step>) -> Request {
        Request::new("dispatch").steps(steps)
    }

    /// A new store.
    pub fn create(address: &str) -> Request {
        Request::new("create").text("store", address)
    }

    /// Drops a store or, with [`Request::matching`], the stores of a type for which that holds.
    pub fn drop(target: &str) -> Request {
        Request::new("drop").text(kind_of(target), target)
    }

    /// The states of one store, of all of a type, or of those that match a pattern such as `"counter/k*"`.
    pub fn get(target: &str) -> Request {
        Request::new("get").target(target)
    }

    /// A subscription to what [`Request::get`] reads.
    pub fn subscribe(target: &str) -> Request {
        Request::new("subscribe").target(target)
    }

    /// Actions for the end of this program.
    pub fn will(steps: impl IntoIterator<Item = Step>) -> Request {
        Request::new("will").steps(steps)
    }

    fn target(self, target: &str) -> Request {
        let is_pattern = target.contains(&['*', '?'][..]);
        self.text(if is_pattern { "match" } else { kind_of(target) }, target)
    }

    fn steps(self, steps: impl IntoIterator<Item = Step>) -> Request {
        self.with("actions", steps.into_iter().map(|step| Value::Object(step.0)).collect::<Vec<_>>())
    }

    fn text(mut self, name: &str, value: &str) -> Request {
        self.name(name);
        write_text(value, &mut self.members);
        self
    }

    fn name(&mut self, name: &str) {
        self.members.push(b',');
        write_text(name, &mut self.members);
        self.members.push(b':');
    }

    /// Any member but `id` and `ack`, by its name in the protocol.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Request {
        let value = value.into();
        self.has_key |= name == "key";
        self.has_seen |= name == "after" || name == "epoch";
        self.has_id |= name == "id";
        self.has_ack |= name == "ack";
        self.is_dry |= name == "dryRun" && value == Value::Bool(true);
        let steps = value.as_array().filter(|_| name == "actions").unwrap_or(&[]);
        self.names_revision |= matches!(name, "ifRevision" | "revision" | "since" | "until");
        self.names_revision |= steps.iter().any(|step| step.get("ifRevision").is_some());
        self.is_ephemeral |= name == "ephemeral" && value == Value::Bool(true);
        self.is_ephemeral |= steps.iter().any(|step| step.get("ephemeral") == Some(&Value::Bool(true)));
        self.is_writable &= value.is_writable();
        self.name(name);
        value.write(&mut self.members);
        self
    }

    /// How long [`Bus`](crate::Bus) waits for the reply, instead of the time-out of its options; of a mirror, for the first states.
    pub fn timeout(mut self, timeout: Duration) -> Request {
        self.timeout = Some(timeout);
        self
    }

    /// The store's revision has to be this one, else it is a `conflict`.
    pub fn if_revision(self, revision: i64) -> Request {
        self.with("ifRevision", revision)
    }

    /// The expression has to hold for the store's state, else it is a `conflict`: text, or JsonLogic as a value.
    pub fn condition(self, expression: impl Into<Value>) -> Request {
        self.with("if", expression)
    }

    /// Chooses the stores for which the expression holds: the protocol's `where`.
    pub fn matching(self, expression: impl Into<Value>) -> Request {
        self.with("where", expression)
    }

    /// Has the reply tell what has changed: `"changes"` or `"states"`.
    pub fn returning(self, what: &str) -> Request {
        self.with("return", what)
    }

    /// A key of the program's own.
    pub fn key(self, key: &str) -> Request {
        self.with("key", key)
    }

    /// Has the bus dispatch it after a while.
    pub fn delay(self, wait: Duration) -> Request {
        self.with("in", wait.as_secs_f64())
    }

    /// Has the bus dispatch it at a time, in seconds since 1970.
    pub fn at(self, time: f64) -> Request {
        self.with("at", time)
    }

    /// The name of the timer that `delay` or `at` sets.
    pub fn timer(self, name: &str) -> Request {
        self.with("timer", name)
    }

    /// Its place in a trace (W3C Trace Context), which goes along into events, the log and what follows.
    pub fn traceparent(self, text: &str) -> Request {
        self.with("traceparent", text)
    }

    /// Has the bus say what would happen, and commit nothing.
    pub fn dry_run(self) -> Request {
        self.with("dryRun", true)
    }

    /// The store goes with this program.
    pub fn ephemeral(self) -> Request {
        self.with("ephemeral", true)
    }

    /// It is no error that the store exists.
    pub fn if_missing(self) -> Request {
        self.with("ifMissing", true)
    }

    /// The store goes when no action has reached it for so long.
    pub fn ttl(self, life: Duration) -> Request {
        self.with("ttl", life.as_secs_f64())
    }

    /// What a store's first state has instead of what its type says.
    pub fn initial(self, state: impl Into<Value>) -> Request {
        self.with("state", state)
    }

    /// Has only parts of states sent: those at these JSON Pointers.
    pub fn select(self, pointers: &[&str]) -> Request {
        self.with("select", pointers.to_vec())
    }

    /// Has each change of a mirror that is one commit tell what caused it.
    pub fn cause(self) -> Request {
        self.with("cause", true)
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.has_id {
            return Err(Error::new("invalid_request", "The client numbers its requests itself: leave out `id`."));
        }
        if self.has_ack {
            return Err(Error::new("invalid_request", "The client matches replies by order and needs them all: leave out `ack`."));
        }
        if self.is_writable {
            return Ok(());
        }
        Err(Error::new("invalid_request", "A number is infinite or none, which JSON has no word for."))
    }

    /// Writes the line up to its last members: those that say what was seen, and the brace.
    pub(crate) fn write_line(&self, id: u64, key: Option<&str>, line: &mut Vec<u8>) {
        line.reserve(self.members.len() + 160);
        line.extend_from_slice(b"{\"id\":");
        write_int(id as i64, line);
        if let Some(prefix) = key {
            line.extend_from_slice(b",\"key\":\"");
            line.extend_from_slice(prefix.as_bytes());
            line.push(b'-');
            write_int(id as i64, line);
            line.push(b'"');
        }
        line.extend_from_slice(b",\"op\":\"");
        line.extend_from_slice(self.op.as_bytes());
        line.push(b'"');
        line.extend_from_slice(&self.members);
    }
}

/// One action of a batch or a will, or a store that a batch creates or drops.
#[derive(Clone, Debug)]
pub struct Step(pub(crate) Object);

impl Step {
    /// An action.
    pub fn dispatch(target: &str, action: &str, payload: impl Into<Value>) -> Step {
        let step = Step(Object::new()).with(kind_of(target), target).with("action", action);
        step.with("payload", payload)
    }

    /// A new store.
    pub fn create(address: &str) -> Step {
        Step(Object::new()).with("op", "create").with("store", address)
    }

    /// A store that goes.
    pub fn drop(target: &str) -> Step {
        Step(Object::new()).with("op", "drop").with(kind_of(target), target)
    }

    /// Any member, by its name in the protocol.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Step {
        self.0.insert(name.to_string(), value.into());
        self
    }
}

/// What the bus answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// That of the commit; of what commits nothing, that of the answer.
    pub revision: i64,
    /// How many stores saw the actions.
    pub matched: i64,
    /// How many stores are different now.
    pub changed: i64,
    /// It was committed before, and this is the answer of then.
    pub duplicate: bool,
    others: Option<Box<Value>>,
}

impl Reply {
    /// A further member: `reply.get("result")`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.others.as_ref()?.get(name)
    }

    pub(crate) fn new(members: Value) -> Reply {
        let number = |name: &str| members[name].as_int().unwrap_or(0);
        Reply {
            revision: number("revision"),
            matched: number("matched"),
            changed: number("changed"),
            duplicate: members["duplicate"].as_bool().unwrap_or(false),
            others: Some(Box::new(members)),
        }
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or("")
    }

    /// Reads the usual reply to a dispatch, which has its members in one order, with its id; `None` where a line is anything else.
    pub(crate) fn quick(line: &[u8]) -> Option<(u64, Reply)> {
        let (id, rest) = number(line, b"{\"id\":")?;
        let (revision, mut rest) = number(rest.strip_prefix(b",\"ok\":true")?, b",\"revision\":")?;
        let mut reply = Reply { revision, ..Reply::default() };
        if let Some((matched, more)) = number(rest, b",\"matched\":") {
            reply.matched = matched;
            rest = more;
        }
        if let Some((changed, more)) = number(rest, b",\"changed\":") {
            reply.changed = changed;
            rest = more;
        }
        if let Some(more) = rest.strip_prefix(b",\"duplicate\":true") {
            reply.duplicate = true;
            rest = more;
        }
        (rest == b"}").then_some((id as u64, reply))
    }
}

/// A natural number behind a name, and what stands behind it.
fn number<'a>(line: &'a [u8], name: &[u8]) -> Option<(i64, &'a [u8])> {
    let digits = line.strip_prefix(name)?;
    let mut value: i64 = 0;
    let mut count = 0;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        if value == 0 && count > 0 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add((digit - b'0').into())?;
        count += 1;
    }
    (count > 0).then_some((value, &digits[count..]))
}
