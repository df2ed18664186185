use crate::error::Error;
use crate::parse::parse;
use crate::request::{Reply, Request};
use crate::subscription::{Action, Change, Kind, Subscription};
use crate::value::{write_int, write_text, Object, State, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// So many requests are unanswered at most; a program that sends more waits for room.
pub const WINDOW: usize = 10_000;
/// A line from the bus may have this many bytes; a longer one ends the connection.
const LONGEST_LINE: usize = 64 << 20;
/// Lines with room for more bytes are not kept for the next ones.
const LARGEST_SPARE: usize = 1 << 10;

/// A subscription of a session; it outlives connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(u64);

/// What a session has to say.
#[derive(Debug)]
pub enum Event<T> {
    /// The bus has answered the request that was made with this token, or it has failed.
    Answered(T, Result<Reply, Error>),
    /// The bus has greeted: there is a connection.
    Connected,
    /// A mirror has changed, as [`Session::states`] shows.
    Changed(SubscriptionId, Change),
    /// An action was committed, or some may be missing.
    Acted(SubscriptionId, Action),
    /// A subscription to actions is there: what is committed from now on comes.
    Following(SubscriptionId),
    /// Nothing more comes of this subscription; without an error this program has ended it.
    Ended(SubscriptionId, Option<Error>),
}

/// Why a request is made.
enum Purpose<T> {
    Program(T),
    // The rest belongs to one connection, and is not repeated on another.
    Hello,
    Subscribe(SubscriptionId),
    Leave(T),
    Nothing,
}

struct Sent<T> {
    number: u64,
    op: &'static str,
    /// The request without its end. Once it is written, what had been seen by then follows it, for when it is sent again.
    line: Vec<u8>,
    is_keyed: bool,
    tells_seen: bool,
    /// The request, where it is a will.
    will: Option<Box<Request>>,
    written: u32,
    /// The epoch of the revision that it names, if it does.
    epoch: Option<String>,
    is_ephemeral: bool,
    /// The session may have ended in which it was committed.
    is_torn: bool,
    purpose: Purpose<T>,
}

impl<T> Sent<T> {
    /// Whether it means there what it meant when it was made. One with a key says so itself once it was written.
    fn fits(&self, epoch: &str) -> bool {
        self.is_keyed && self.written > 0 || self.epoch.as_deref().map_or(true, |made| made.is_empty() || made == epoch)
    }

    fn is_repeatable(&self) -> bool {
        let reading = [
            "get", "stores", "types", "history", "blame", "samples", "sync", "ping", "stats", "timers", "will", "clients",
            "dispatch",
        ];
        reading.contains(&self.op)
    }
}

/// A client of one bus without its connections: bytes come in, bytes and events go out, whatever connection there is. It
/// knows no socket, no thread and no clock. [`crate::Bus`] is one with threads; for an executor, a `select` loop or a TLS
/// library of your own use this.
///
/// - [`Session::connected`] when there is a connection, [`Session::received`] with what comes, [`Session::lost`] when it ends.
/// - After each of these, and after each request, send what [`Session::take_outgoing`] gives, and take all
///   [`Session::next_event`]s.
///
/// The bus answers in order, so what is unanswered is a queue. A reply that does not belong to its head, or anything else
/// that does not follow the protocol, is an error of `received`: end the connection, and the next one continues from what was
/// exact. A request is encoded once; what it had seen is added when it is first written, and stays the same.
///
/// `T` is what the program wants to have back with the answer to a request.
pub struct Session<T> {
    hello: Request,
    prefix: String,
    count: u64,
    is_open: bool,
    greeting: Reply,
    goodbye: Option<(String, String)>,
    ended: Option<Error>,
    revision: i64,
    epoch: String,
    rest: Vec<u8>,
    out: Vec<u8>,
    unanswered: VecDeque<Sent<T>>,
    waiting: VecDeque<Sent<T>>,
    /// The memory of lines that are answered, for the next ones: mostly another thread made it.
    spare: Vec<Vec<u8>>,
    /// Requests of the program that are not answered.
    size: usize,
    will: Option<Box<Request>>,
    subscriptions: BTreeMap<SubscriptionId, Subscription>,
    granted: HashMap<i64, SubscriptionId>,
    events: VecDeque<Event<T>>,
}

impl<T> Session<T> {
    /// A session whose `hello` has these members, such as `client` or `session` and `linger`. The prefix begins all its
    /// keys: no other client of the same user may have it, so make it of 64 random bits or more.
    pub fn new(hello: Object, prefix: &str) -> Session<T> {
        let mut request = Request::new("hello").with("protocol", 1);
        for (name, value) in hello {
            request = request.with(&name, value);
        }
        Session {
            hello: request,
            prefix: prefix.to_string(),
            count: 0,
            is_open: false,
            greeting: Reply::default(),
            goodbye: None,
            ended: None,
            revision: 0,
            epoch: String::new(),
            rest: Vec::new(),
            out: Vec::new(),
            unanswered: VecDeque::new(),
            waiting: VecDeque::new(),
            spare: Vec::new(),
            size: 0,
            will: None,
            subscriptions: BTreeMap::new(),
            granted: HashMap::new(),
            events: VecDeque::new(),
        }
    }

    /// Whether the bus has greeted on the connection of now.
    pub fn is_connected(&self) -> bool {
        self.is_open
    }

    /// What the bus said of itself when it last greeted: `epoch`, `identity`, `limits`, `version`.
    pub fn greeting(&self) -> &Reply {
        &self.greeting
    }

    /// How many requests of the program are not answered. At [`WINDOW`] wait before the next one.
    pub fn unanswered(&self) -> usize {
        self.size
    }

    /// Why there is no connection any more, if that is so.
    pub fn ended(&self) -> Option<&Error> {
        self.ended.as_ref()
    }

    /// Takes what is to be sent on the connection of now, behind what is in `out`.
    pub fn take_outgoing(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.out);
        } else {
            out.append(&mut self.out);
        }
    }

    /// Whether [`Session::take_outgoing`] has something to give.
    pub fn has_outgoing(&self) -> bool {
        !self.out.is_empty()
    }

    /// What has happened, in its order.
    pub fn next_event(&mut self) -> Option<Event<T>> {
        self.events.pop_front()
    }

    // Requests

    /// Sends a request, now or when there is a connection. One [`Event::Answered`] follows with the token.
    pub fn request(&mut self, request: &Request, token: T) {
        let epoch = self.epoch_of(request);
        self.request_in(epoch, request, token);
    }

    /// The epoch of the revision that a request names, if it does: that of now.
    pub(crate) fn epoch_of(&self, request: &Request) -> Option<String> {
        request.names_revision.then(|| self.epoch.clone())
    }

    pub(crate) fn request_in(&mut self, epoch: Option<String>, request: &Request, token: T) {
        let failure = request.check().err().or_else(|| self.ended.clone());
        if let Some(error) = failure {
            self.events.push_back(Event::Answered(token, Err(error)));
            return;
        }
        self.size += 1;
        let sent = Sent { epoch, ..self.sent(request, Purpose::Program(token)) };
        self.waiting.push_back(sent);
        self.write_waiting();
    }

    fn sent(&mut self, request: &Request, purpose: Purpose<T>) -> Sent<T> {
        self.count += 1;
        let takes_key = matches!(request.op, "dispatch" | "create" | "drop" | "cancel") && !request.is_dry;
        let is_keyed = takes_key && matches!(purpose, Purpose::Program(_));
        let key = Some(self.prefix.as_str()).filter(|_| is_keyed && !request.has_key);
        let will = (request.op == "will").then(|| Box::new(request.clone()));
        let tells_seen = is_keyed && !request.has_seen;
        let mut line = self.spare.pop().unwrap_or_default();
        request.write_line(self.count, key, &mut line);
        let is_ephemeral = is_keyed && request.is_ephemeral;
        let (number, op, written, epoch, is_torn) = (self.count, request.op, 0, None, false);
        Sent { number, op, line, is_keyed, tells_seen, will, written, epoch, is_ephemeral, is_torn, purpose }
    }

    fn own(&mut self, request: &Request, purpose: Purpose<T>) {
        let sent = self.sent(request, purpose);
        self.write(sent);
    }

    fn write(&mut self, mut sent: Sent<T>) {
        let told = sent.line.len();
        if sent.written == 0 && sent.tells_seen {
            sent.line.extend_from_slice(b",\"after\":");
            write_int(self.revision, &mut sent.line);
            sent.line.extend_from_slice(b",\"epoch\":");
            write_text(&self.epoch, &mut sent.line);
        }
        sent.is_torn |= sent.is_ephemeral && sent.written > 0 && !self.is_resumed();
        sent.written += 1;
        self.out.extend_from_slice(&sent.line[..told]);
        self.out.extend_from_slice(b"}\n");
        self.unanswered.push_back(sent);
    }

    fn write_waiting(&mut self) {
        while self.is_open {
            match self.waiting.pop_front() {
                Some(sent) if sent.fits(&self.epoch) => self.write(sent),
                Some(sent) => {
                    let sentence = "The bus began a new epoch after this was asked for, in which the revision that it names means another state.";
                    let _ = self.answered(sent, Err(Error::new("conflict", sentence)));
                }
                None => break,
            }
        }
    }

    /// Forgets requests that wait for a connection, and of which nobody wants to know any more. They may have been committed.
    pub fn forget_waiting(&mut self, is_forgotten: impl Fn(&T) -> bool) {
        let before = self.waiting.len();
        self.waiting.retain(|sent| !matches!(&sent.purpose, Purpose::Program(token) if is_forgotten(token)));
        self.size -= before - self.waiting.len();
    }

    /// Asks a bus that is silent whether it is there.
    pub fn ping(&mut self) {
        self.own(&Request::new("ping"), Purpose::Nothing);
    }

    /// Ends the name of a session with `linger` at once, so that its will is dispatched and its ephemeral stores go. The token
    /// comes back when that is done, or when there is no connection.
    pub fn leave(&mut self, session: &str, token: T) {
        if self.is_open {
            let request = Request::new("hello").with("protocol", 1).with("session", session).with("linger", 0);
            self.own(&request, Purpose::Leave(token));
        } else {
            self.events.push_back(Event::Answered(token, Err(Error::closed())));
        }
    }

    // Subscriptions

    /// Follows the states of the stores that `request`, a [`Request::subscribe`], asks for. [`Event::Changed`] comes when they are there, and
    /// with every change.
    pub fn mirror(&mut self, request: Request) -> SubscriptionId {
        self.subscribe(Subscription::new(request, Kind::Mirror))
    }

    /// Follows actions as they are committed: [`Event::Following`], and then [`Event::Acted`] with each.
    pub fn actions(&mut self, request: Request) -> SubscriptionId {
        self.subscribe(Subscription::new(request.with("actions", true), Kind::Actions))
    }

    fn subscribe(&mut self, subscription: Subscription) -> SubscriptionId {
        self.count += 1;
        let id = SubscriptionId(self.count);
        let failure = subscription.request.check().err().or_else(|| self.ended.clone());
        if let Some(error) = failure {
            self.events.push_back(Event::Ended(id, Some(error)));
            return id;
        }
        self.subscriptions.insert(id, subscription);
        if self.is_open {
            self.ask_for(id);
        }
        id
    }

    fn ask_for(&mut self, id: SubscriptionId) {
        let request = self.subscriptions.get(&id).map(Subscription::again);
        if let Some(request) = request {
            self.own(&request, Purpose::Subscribe(id));
        }
    }

    /// Ends a subscription.
    pub fn unsubscribe(&mut self, id: SubscriptionId) {
        if self.subscriptions.remove(&id).is_none() {
            return;
        }
        let subs: Vec<i64> = self.granted.iter().filter(|each| *each.1 == id).map(|each| *each.0).collect();
        for sub in subs {
            self.granted.remove(&sub);
            self.own(&Request::new("unsubscribe").with("sub", sub), Purpose::Nothing);
        }
        self.events.push_back(Event::Ended(id, None));
    }

    /// The states of a mirror by address; `None` when it has ended.
    pub fn states(&self, id: SubscriptionId) -> Option<&BTreeMap<String, State>> {
        self.subscriptions.get(&id).map(|subscription| &subscription.states)
    }

    /// The newest revision that was heard of.
    pub fn seen_revision(&self) -> i64 {
        self.revision
    }

    /// The revision up to which a mirror is exact.
    pub fn revision(&self, id: SubscriptionId) -> i64 {
        self.subscriptions.get(&id).map_or(0, |subscription| subscription.revision)
    }

    // The connection

    /// There is a new connection, and perhaps a token for it.
    pub fn connected(&mut self, token: Option<&str>) {
        self.rest.clear();
        self.goodbye = None;
        let mut hello = self.hello.clone();
        if let Some(token) = token {
            hello = hello.with("token", token);
        }
        self.own(&hello, Purpose::Hello);
    }

    fn is_resumed(&self) -> bool {
        self.greeting.get("resumed").and_then(Value::as_bool).unwrap_or(false)
    }

    fn greet(&mut self, greeting: Reply) {
        let epoch = greeting.text("epoch");
        if epoch != self.epoch {
            self.epoch = epoch.to_string();
            self.revision = 0;
        }
        self.revision = self.revision.max(greeting.revision);
        self.greeting = greeting;
        self.is_open = true;
        self.events.push_back(Event::Connected);
        if let (Some(will), false) = (self.will.clone(), self.is_resumed()) {
            self.own(&will, Purpose::Nothing);
        }
        let ids: Vec<SubscriptionId> = self.subscriptions.keys().copied().collect();
        for id in ids {
            self.ask_for(id);
        }
        self.write_waiting();
    }

    /// Takes what has come. An error is the refusal of `hello`, or says what does not follow the protocol: end the connection.
    pub fn received(&mut self, mut data: &[u8]) -> Result<(), Error> {
        while let Some(end) = data.iter().position(|byte| *byte == b'\n') {
            let (line, more) = data.split_at(end);
            data = &more[1..];
            if self.rest.is_empty() {
                self.take(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.take(&whole)?;
                whole.clear();
                self.rest = whole;
            }
        }
        if self.rest.len() + data.len() > LONGEST_LINE {
            return Err(foreign("a line is too long"));
        }
        self.rest.extend_from_slice(data);
        Ok(())
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Error> {
        if let Some((id, reply)) = Reply::quick(line) {
            let sent = self.next(Some(id))?;
            return self.answered(sent, Ok(reply));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let message = parse(line).map_err(foreign)?;
        if !matches!(message, Value::Object(_)) {
            return Err(foreign("a line is no object"));
        }
        match message["event"].as_str() {
            Some("goodbye") => {
                let text = |name: &str| message[name].as_str().unwrap_or("").to_string();
                self.goodbye = Some((text("code"), text("message")));
                Ok(())
            }
            Some(_) => self.happened(message),
            None => self.replied(message),
        }
    }

    fn saw(&mut self, revision: i64) {
        self.revision = self.revision.max(revision);
    }

    fn next(&mut self, id: Option<u64>) -> Result<Sent<T>, Error> {
        let is_next = self.unanswered.front().map_or(false, |sent| id.map_or(true, |id| id == sent.number));
        match self.unanswered.pop_front() {
            Some(sent) if is_next => Ok(sent),
            Some(sent) => {
                self.unanswered.push_front(sent);
                Err(foreign("a reply came out of turn"))
            }
            None => Err(foreign("a reply came unasked")),
        }
    }

    fn replied(&mut self, message: Value) -> Result<(), Error> {
        let is_ok = message["ok"] == Value::Bool(true);
        // A line that the bus could not read is answered without its id.
        let id = match message["id"].as_int() {
            None if is_ok || !message["id"].is_null() => return Err(foreign("a reply has no id of ours")),
            id => id.map(|id| id as u64),
        };
        let sent = self.next(id)?;
        if is_ok {
            return self.answered(sent, Ok(Reply::new(message)));
        }
        let mut error = Error::refusal(&message["error"]);
        // What is sent again may have been committed, which these refusals can't say. A conflict over `ifRevision`, which names
        // the store's revision, can.
        let says_nothing = matches!(&*error.code, "conflict" | "forbidden" | "unknown_type" | "too_large" | "limit" | "unavailable");
        if says_nothing && sent.is_keyed && sent.written > 1 && !error.details.contains_key("revision") {
            error = Error::outcome_unknown(&error);
        }
        self.answered(sent, Err(error))
    }

    fn answered(&mut self, mut sent: Sent<T>, mut result: Result<Reply, Error>) -> Result<(), Error> {
        if sent.line.capacity() <= LARGEST_SPARE && self.spare.len() < WINDOW {
            sent.line.clear();
            self.spare.push(sent.line);
        }
        match sent.purpose {
            Purpose::Program(token) => {
                if let Ok(reply) = &result {
                    self.saw(reply.revision);
                    self.will = sent.will.or(self.will.take());
                    if sent.is_torn && reply.duplicate {
                        let sentence = "The store may have gone with the connection over which it was made.";
                        result = Err(Error::outcome_unknown(&Error::new("closed", sentence)));
                    }
                }
                self.size -= 1;
                self.events.push_back(Event::Answered(token, result));
            }
            Purpose::Hello => self.greet(result?),
            Purpose::Subscribe(id) => self.agreed(id, result),
            Purpose::Leave(token) => self.events.push_back(Event::Answered(token, result)),
            Purpose::Nothing => (),
        }
        Ok(())
    }

    fn agreed(&mut self, id: SubscriptionId, result: Result<Reply, Error>) {
        let reply = match result {
            Ok(reply) => reply,
            Err(error) => {
                if self.subscriptions.remove(&id).is_some() {
                    self.events.push_back(Event::Ended(id, Some(error)));
                }
                return;
            }
        };
        let sub = reply.get("sub").and_then(Value::as_int).unwrap_or(0);
        match self.subscriptions.get_mut(&id) {
            None => self.own(&Request::new("unsubscribe").with("sub", sub), Purpose::Nothing),
            Some(subscription) => {
                self.granted.insert(sub, id);
                if subscription.granted(reply.revision, reply.text("epoch")) {
                    self.events.push_back(Event::Following(id));
                }
            }
        }
    }

    fn happened(&mut self, message: Value) -> Result<(), Error> {
        let id = match message["sub"].as_int().and_then(|sub| self.granted.get(&sub)) {
            Some(id) => *id,
            None => return Ok(()),
        };
        let revision = message["revision"].as_int().ok_or_else(|| foreign("an event has no revision"))?;
        let is_whole = message["more"] != Value::Bool(true);
        if let Some(subscription) = self.subscriptions.get_mut(&id) {
            let epoch = &self.epoch;
            match subscription.kind {
                Kind::Mirror => {
                    let change = subscription.take_change(message, revision, epoch).map_err(foreign)?;
                    self.events.extend(change.map(|change| Event::Changed(id, change)));
                }
                Kind::Actions => {
                    let action = subscription.take_action(&message, revision, epoch);
                    self.events.extend(action.map(|action| Event::Acted(id, action)));
                }
            }
        }
        if is_whole {
            self.saw(revision);
        }
        Ok(())
    }

    /// The connection is no more. What may be repeated waits for the next one. Gives what there is to say of the end.
    pub fn lost(&mut self, why: &str) -> Error {
        let (code, message) = self.goodbye.take().unwrap_or_default();
        let why = if message.is_empty() { why } else { &message };
        let sentence = format!("The connection to the bus has ended: {}.", why.trim_end_matches('.'));
        let mut error = Error::new("closed", sentence);
        error.details.insert("reason".to_string(), Value::from(code.as_str()));
        self.is_open = false;
        self.out.clear();
        self.granted.clear();
        for sent in std::mem::take(&mut self.unanswered).into_iter().rev() {
            let may_be_repeated = sent.is_keyed || sent.is_repeatable();
            match sent.purpose {
                Purpose::Program(_) if may_be_repeated => self.waiting.push_front(sent),
                Purpose::Program(token) => {
                    self.size -= 1;
                    let unknown = Err(Error::outcome_unknown(&error));
                    self.events.push_back(Event::Answered(token, unknown));
                }
                Purpose::Leave(token) => self.events.push_back(Event::Answered(token, Err(error.clone()))),
                _ => (),
            }
        }
        if code == "protocol" {
            self.end(Some(error.clone()));
        }
        error
    }

    /// There is no connection after this one. Whoever waits hears why; without an error this program is done.
    pub fn end(&mut self, error: Option<Error>) {
        if self.ended.is_some() {
            return;
        }
        let why = error.clone().unwrap_or_else(Error::closed);
        self.ended = Some(why.clone());
        let unanswered = std::mem::take(&mut self.unanswered);
        for sent in unanswered.into_iter().chain(std::mem::take(&mut self.waiting)) {
            // What was written once may have been committed, or left as the will.
            let is_known = sent.written == 0 || !sent.is_keyed && sent.will.is_none() && sent.is_repeatable();
            if let Purpose::Program(token) | Purpose::Leave(token) = sent.purpose {
                let result = if is_known { why.clone() } else { Error::outcome_unknown(&why) };
                self.events.push_back(Event::Answered(token, Err(result)));
            }
        }
        self.size = 0;
        for id in std::mem::take(&mut self.subscriptions).into_keys() {
            self.events.push_back(Event::Ended(id, error.clone()));
        }
    }
}

fn foreign(what: impl AsRef<str>) -> Error {
    Error::new("closed", format!("What came does not follow the protocol: {}.", what.as_ref()))
}
