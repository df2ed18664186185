use crate::address::Address;
use crate::error::Error;
use crate::feed::{Actions, Changes, Feed, Mirror, Queue};
use crate::link::{random_name, wait_after, Closer, Link};
use crate::options::{Log, Options};
use crate::request::{Reply, Request, Step};
use crate::session::{Event, Session, SubscriptionId, WINDOW};
use crate::subscription::{Action, Change};
use crate::value::{State, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Takes a lock also where a thread has panicked: what it holds is changed in steps that are whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// As good as for ever, and yet a time that can be added to one.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// So many sentences wait to be logged.
const LOG: usize = 1_000;

/// When so much time has passed.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(FOR_EVER)
}

pub(crate) fn wait<'a, T>(news: &Condvar, guard: MutexGuard<'a, T>, until: Instant) -> MutexGuard<'a, T> {
    let left = until.saturating_duration_since(Instant::now());
    news.wait_timeout(guard, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
}

#[derive(Default)]
struct Answer {
    result: Option<Result<Reply, Error>>,
    is_awaited: bool,
}

/// Where an answer comes to.
#[derive(Default)]
pub(crate) struct Slot {
    answer: Mutex<Answer>,
    news: Condvar,
    is_given_up: AtomicBool,
}

impl Slot {
    fn settle(&self, result: Result<Reply, Error>) {
        let mut answer = lock(&self.answer);
        answer.result = Some(result);
        if answer.is_awaited {
            self.news.notify_all();
        }
    }

    fn wait(&self, timeout: Duration) -> Result<Reply, Error> {
        let mut answer = lock(&self.answer);
        if let Some(result) = answer.result.take() {
            return result;
        }
        let until = after(timeout);
        loop {
            if let Some(result) = answer.result.take() {
                return result;
            }
            if Instant::now() >= until {
                self.is_given_up.store(true, Ordering::Relaxed);
                let sentence = "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.";
                return Err(Error::new("timed_out", sentence));
            }
            answer.is_awaited = true;
            answer = wait(&self.news, answer, until);
        }
    }
}

/// A request under way.
pub struct Pending {
    slot: Arc<Slot>,
    timeout: Duration,
}

impl Pending {
    /// Waits for the reply. After the time-out of the request, or else of the bus, it is `timed_out`, and the request is not
    /// sent again.
    pub fn wait(self) -> Result<Reply, Error> {
        self.slot.wait(self.timeout)
    }

    /// Waits for so long.
    pub fn wait_for(self, timeout: Duration) -> Result<Reply, Error> {
        self.slot.wait(timeout)
    }
}

struct Inner {
    session: Session<Arc<Slot>>,
    /// Counts connections, so that a thread that writes knows whether it writes to this one.
    generation: u64,
    closer: Option<Closer>,
    is_writer_idle: bool,
    /// The runner opens a connection, which takes as long as the system or the program takes.
    is_dialling: bool,
    /// The next attempt is not waited for.
    is_hurried: bool,
    waits_for_room: u32,
    changes: HashMap<SubscriptionId, Vec<Weak<Queue<Change>>>>,
    actions: HashMap<SubscriptionId, Weak<Queue<Action>>>,
}

/// What the threads of a bus share.
pub(crate) struct Shared {
    pub(crate) addresses: Vec<Address>,
    pub(crate) options: Options,
    /// Feeds the thread that calls the log function, so that the function may use the bus and close it.
    log: Option<SyncSender<String>>,
    /// This program has closed the bus: nothing is logged any more.
    is_closed: Arc<AtomicBool>,
    inner: Mutex<Inner>,
    /// There is something to send, room for another request, no connection any more or one to be made at once.
    outgoing: Condvar,
    room: Condvar,
    ended: Condvar,
}

impl Inner {
    fn spread_events(&mut self) {
        while let Some(event) = self.session.next_event() {
            match event {
                Event::Answered(slot, result) => slot.settle(result),
                Event::Connected => (),
                Event::Changed(id, change) => self.spread_change(id, change),
                Event::Acted(id, action) => {
                    let revision = match &action {
                        Action::Committed { revision, .. } | Action::Gap(revision) => *revision,
                    };
                    self.tell_actions(id, |queue| queue.push(action, || Action::Gap(revision)));
                }
                Event::Following(id) => self.tell_actions(id, Queue::begin),
                Event::Ended(id, error) => {
                    for queue in self.changes.remove(&id).unwrap_or_default() {
                        queue.upgrade().into_iter().for_each(|queue| queue.end(error.clone()));
                    }
                    self.tell_actions(id, |queue| queue.end(error));
                    self.actions.remove(&id);
                }
            }
        }
    }

    fn tell_actions(&self, id: SubscriptionId, tell: impl FnOnce(&Queue<Action>)) {
        if let Some(queue) = self.actions.get(&id).and_then(Weak::upgrade) {
            tell(&queue);
        }
    }

    fn spread_change(&mut self, id: SubscriptionId, change: Change) {
        let states = self.session.states(id);
        if let Some(queues) = self.changes.get_mut(&id) {
            queues.retain(|queue| match queue.upgrade() {
                None => false,
                Some(queue) => {
                    queue.push(change.clone(), || {
                        let states = states.cloned().unwrap_or_default();
                        Change { revision: change.revision, states, reset: true, coalesced: 1, ..Change::default() }
                    });
                    true
                }
            });
        }
    }
}

impl Shared {
    fn new(addresses: Vec<Address>, mut options: Options) -> std::io::Result<Shared> {
        let session = Session::new(options.hello(), &random_name()[..16]);
        let inner = Inner {
            session,
            generation: 0,
            closer: None,
            is_writer_idle: false,
            is_dialling: false,
            is_hurried: false,
            waits_for_room: 0,
            changes: HashMap::new(),
            actions: HashMap::new(),
        };
        let (outgoing, room, ended) = (Condvar::new(), Condvar::new(), Condvar::new());
        let is_closed = Arc::new(AtomicBool::new(false));
        let log = options.log.take().map(|log| write_log(log, is_closed.clone())).transpose()?;
        Ok(Shared { addresses, options, log, is_closed, inner: Mutex::new(inner), outgoing, room, ended })
    }

    pub(crate) fn connected(&self, token: Option<&str>, closer: Option<Closer>) -> u64 {
        let mut inner = lock(&self.inner);
        inner.session.forget_waiting(|slot| slot.is_given_up.load(Ordering::Relaxed));
        inner.generation += 1;
        inner.closer = closer;
        inner.session.connected(token);
        if inner.session.ended().is_some() {
            inner.closer.iter().for_each(Closer::close);
        }
        inner.generation
    }

    /// No thread writes to this connection any more.
    pub(crate) fn disconnected(&self) {
        let mut inner = lock(&self.inner);
        inner.generation += 1;
        inner.closer = None;
        drop(inner);
        self.outgoing.notify_all();
    }

    pub(crate) fn lost(&self, why: &str) -> Error {
        let mut inner = lock(&self.inner);
        // A `reconnect` from before the loss is void. One from the log function, which hears of the loss next, counts.
        inner.is_hurried &= !inner.session.is_connected();
        let error = inner.session.lost(why);
        self.after(&mut inner);
        error
    }

    pub(crate) fn received(&self, data: &[u8]) -> Result<(), Error> {
        let mut inner = lock(&self.inner);
        let result = inner.session.received(data);
        self.after(&mut inner);
        result
    }

    pub(crate) fn ping(&self) {
        let mut inner = lock(&self.inner);
        inner.session.ping();
        self.after(&mut inner);
    }

    pub(crate) fn take_outgoing(&self, out: &mut Vec<u8>) {
        lock(&self.inner).session.take_outgoing(out);
    }

    /// False when the connection is another one by now.
    pub(crate) fn wait_for_outgoing(&self, generation: u64, out: &mut Vec<u8>) -> bool {
        let mut inner = lock(&self.inner);
        while inner.generation == generation {
            if inner.session.has_outgoing() {
                inner.session.take_outgoing(out);
                return true;
            }
            inner.is_writer_idle = true;
            inner = self.outgoing.wait(inner).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        false
    }

    pub(crate) fn is_connected(&self) -> bool {
        lock(&self.inner).session.is_connected()
    }

    pub(crate) fn is_ended(&self) -> bool {
        lock(&self.inner).session.ended().is_some()
    }

    /// Tells whoever waits what has come of a call of the session.
    fn after(&self, inner: &mut Inner) {
        inner.spread_events();
        if inner.is_writer_idle && inner.session.has_outgoing() {
            inner.is_writer_idle = false;
            self.outgoing.notify_all();
        }
        let unanswered = inner.session.unanswered();
        if inner.waits_for_room > 0 && (unanswered <= WINDOW / 2 || inner.session.ended().is_some()) {
            self.room.notify_all();
        }
    }

    /// Waits until at most so many requests are unanswered; false when the time is over.
    fn wait_for_room<'a>(&self, mut inner: MutexGuard<'a, Inner>, most: usize, until: Instant) -> (MutexGuard<'a, Inner>, bool) {
        while inner.session.unanswered() > most && inner.session.ended().is_none() {
            if Instant::now() >= until {
                return (inner, false);
            }
            inner.waits_for_room += 1;
            inner = wait(&self.room, inner, until);
            inner.waits_for_room -= 1;
        }
        (inner, true)
    }

    fn begin(&self, request: &Request, timeout: Duration) -> Result<Arc<Slot>, Error> {
        let slot = Arc::new(Slot::default());
        let mut inner = lock(&self.inner);
        // The bus may have begun a new one when there is room.
        let epoch = inner.session.epoch_of(request);
        if inner.session.unanswered() >= WINDOW {
            let (again, is_room) = self.wait_for_room(inner, WINDOW - 1, after(timeout));
            if !is_room {
                return Err(Error::new("timed_out", "There was no room in the time allowed; this was not sent."));
            }
            inner = again;
        }
        inner.session.request_in(epoch, request, slot.clone());
        self.after(&mut inner);
        Ok(slot)
    }

    fn end(&self, error: Option<Error>) {
        let mut inner = lock(&self.inner);
        inner.session.end(error);
        inner.closer.iter().for_each(Closer::close);
        self.after(&mut inner);
        self.ended.notify_all();
    }

    /// False where there is to be no connection any more.
    pub(crate) fn begin_to_dial(&self) -> bool {
        let mut inner = lock(&self.inner);
        inner.is_dialling = inner.session.ended().is_none();
        inner.is_dialling
    }

    pub(crate) fn end_of_dialling(&self) {
        lock(&self.inner).is_dialling = false;
    }

    /// What a function that hangs has no room for is not logged.
    fn say(&self, sentence: &str) {
        if let Some(log) = &self.log {
            let _ = log.try_send(sentence.to_string());
        }
    }

    /// Goes from one connection to the next, until there is to be no more.
    fn run(self: Arc<Shared>, first: Link, mut at: usize) {
        let mut link = Some(first);
        while let Some(this) = link.take() {
            let lost = this.serve();
            if !self.is_closed.load(Ordering::Relaxed) {
                self.say(&lost.message);
            }
            link = self.reconnect(&mut at);
        }
    }

    fn reconnect(self: &Arc<Shared>, at: &mut usize) -> Option<Link> {
        for attempt in 0.. {
            let until = after(wait_after(attempt, self.options.back_off));
            let mut inner = lock(&self.inner);
            while inner.session.ended().is_none() && !inner.is_hurried && Instant::now() < until {
                inner = wait(&self.ended, inner, until);
            }
            inner.is_hurried = false;
            if inner.session.ended().is_some() {
                return None;
            }
            drop(inner);
            match Link::connect(self, at) {
                Ok(link) => {
                    self.say("The bus is there again.");
                    return Some(link);
                }
                Err(error) if error.is_passing() => (),
                Err(error) => {
                    self.say(&error.message);
                    self.end(Some(error));
                }
            }
        }
        None
    }
}

struct Handle {
    shared: Arc<Shared>,
    runner: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close(Duration::from_secs(5));
    }
}

impl Handle {
    fn close(&self, timeout: Duration) {
        let until = after(timeout);
        let inner = lock(&self.shared.inner);
        if inner.session.ended().is_none() {
            let (mut inner, is_idle) = self.shared.wait_for_room(inner, 0, until);
            if let (Some(session), true) = (&self.shared.options.session, is_idle) {
                let slot = Arc::new(Slot::default());
                inner.session.leave(session, slot.clone());
                self.shared.after(&mut inner);
                drop(inner);
                let _ = slot.wait(until.saturating_duration_since(Instant::now()));
            } else {
                drop(inner);
            }
            self.shared.is_closed.store(true, Ordering::Relaxed);
            self.shared.end(None);
        } else {
            drop(inner);
        }
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // One that opens a connection ends when it has it.
        let is_dialling = lock(&self.shared.inner).is_dialling;
        if let (Some(runner), false) = (lock(&self.runner).take(), is_dialling) {
            let _ = runner.join();
        }
    }
}

/// A client of the bus. It reconnects by itself; clones are the same client, and any thread may use them. It closes with the
/// last of them.
///
/// A target is one store, `"counter/kitchen"`, or every store of a type, `"counter"`; what reads takes patterns, too, such as
/// `"counter/k*"`. Dispatches, batches, creations and drops carry a key, by which each commits exactly once, whatever becomes
/// of connections.
#[derive(Clone)]
pub struct Bus {
    handle: Arc<Handle>,
}

impl Bus {
    pub(crate) fn start(addresses: Vec<Address>, options: Options) -> Result<Bus, Error> {
        let no_thread = |error| Error::new("limit", format!("There is no thread for the bus: {}.", error));
        let shared = Arc::new(Shared::new(addresses, options).map_err(no_thread)?);
        let mut at = 0;
        let link = Bus::first(&shared, &mut at)?;
        let running = shared.clone();
        let runner = std::thread::Builder::new().name("fluxbus".to_string());
        let runner = runner.spawn(move || running.run(link, at));
        let runner = runner.map_err(no_thread)?;
        Ok(Bus { handle: Arc::new(Handle { shared, runner: Mutex::new(Some(runner)) }) })
    }

    fn first(shared: &Arc<Shared>, at: &mut usize) -> Result<Link, Error> {
        let until = after(shared.options.patience);
        let mut attempt = 0;
        loop {
            let error = match Link::connect(shared, at) {
                Ok(link) => return Ok(link),
                Err(error) => error,
            };
            let wait = wait_after(attempt, shared.options.back_off);
            if !error.is_passing() || after(wait) > until {
                return Err(error);
            }
            std::thread::sleep(wait);
            attempt += 1;
        }
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    /// Sends any request, and waits for its reply.
    pub fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.send(request)?.wait()
    }

    /// Sends any request without waiting for its reply, so that many can be on their way at once. While 10,000 are unanswered,
    /// as may happen without a connection, it waits for room, up to the time-out of the request, or else that of the bus. After
    /// that it fails with `timed_out`, and the request was not sent.
    pub fn send(&self, request: &Request) -> Result<Pending, Error> {
        let timeout = request.timeout.unwrap_or(self.shared().options.timeout);
        Ok(Pending { slot: self.shared().begin(request, timeout)?, timeout })
    }

    /// Commits an action on a store or on all stores of a type, and waits for the reply. `()` is an empty payload.
    pub fn dispatch(&self, target: &str, action: &str, payload: impl Into<Value>) -> Result<Reply, Error> {
        self.ask(&Request::dispatch(target, action, payload))
    }

    /// Commits several steps as one commit.
    pub fn batch(&self, steps: impl IntoIterator<Item = Step>) -> Result<Reply, Error> {
        self.ask(&Request::batch(steps))
    }

    /// Makes a store, which must not exist. A [`Request::create`] says more, such as [`Request::if_missing`].
    pub fn create(&self, address: &str) -> Result<Reply, Error> {
        self.ask(&Request::create(address))
    }

    /// Drops a store.
    pub fn drop_store(&self, address: &str) -> Result<Reply, Error> {
        self.ask(&Request::drop(address))
    }

    /// The state of one store.
    pub fn get(&self, address: &str) -> Result<Value, Error> {
        let reply = self.ask(&Request::new("get").with("store", address))?;
        Ok(reply.get("states").map_or(Value::Null, |states| states[address].clone()))
    }

    /// All states that match, by address, page by page.
    pub fn states(&self, request: &Request) -> Result<BTreeMap<String, Value>, Error> {
        let mut all = BTreeMap::new();
        let mut page = self.ask(request)?;
        loop {
            if let Some(states) = page.get("states").and_then(Value::as_object) {
                all.extend(states.clone());
            }
            match page.get("next").and_then(Value::as_str) {
                Some(after) => page = self.ask(&request.clone().with("after", after))?,
                None => return Ok(all),
            }
        }
    }

    /// Leaves actions for the end of this program: the bus dispatches them, however it ends.
    pub fn will(&self, steps: impl IntoIterator<Item = Step>) -> Result<(), Error> {
        self.ask(&Request::will(steps)).map(|_| ())
    }

    /// A mirror of all stores that match, once it has their states.
    pub fn mirror(&self, target: &str) -> Result<Mirror, Error> {
        self.mirror_of(Request::subscribe(target))
    }

    /// A mirror of what a [`Request::subscribe`] asks for, such as `Request::subscribe("counter").matching("count > 2")`.
    pub fn mirror_of(&self, request: Request) -> Result<Mirror, Error> {
        let shared = self.shared();
        let timeout = request.timeout.unwrap_or(shared.options.timeout);
        let queue = Arc::new(Queue::default());
        let mut inner = lock(&shared.inner);
        let id = inner.session.mirror(request);
        inner.changes.insert(id, vec![Arc::downgrade(&queue)]);
        shared.after(&mut inner);
        drop(inner);
        let mirror = Mirror::new(self.clone(), id);
        match Feed::new(queue).next_for(timeout) {
            Some(Ok(_)) => Ok(mirror),
            Some(Err(error)) => Err(error),
            None => Err(Error::closed()),
        }
    }

    /// Actions as they are committed from now on.
    pub fn actions(&self, target: &str) -> Result<Actions, Error> {
        self.actions_of(Request::subscribe(target))
    }

    /// Those of what a [`Request::subscribe`] asks for: with [`Request::matching`] on stores for which that holds before or after.
    pub fn actions_of(&self, request: Request) -> Result<Actions, Error> {
        let shared = self.shared();
        let timeout = request.timeout.unwrap_or(shared.options.timeout);
        let queue = Arc::new(Queue::default());
        let mut inner = lock(&shared.inner);
        let id = inner.session.actions(request);
        inner.actions.insert(id, Arc::downgrade(&queue));
        shared.after(&mut inner);
        drop(inner);
        // Whoever does not wait any longer does not follow them, either.
        let actions = Actions::new(self.clone(), id, Feed::new(queue.clone()));
        queue.wait_for_begin(timeout)?;
        Ok(actions)
    }

    pub(crate) fn changes(&self, id: SubscriptionId) -> Changes {
        let queue = Arc::new(Queue::default());
        match lock(&self.shared().inner).changes.get_mut(&id) {
            Some(queues) => queues.push(Arc::downgrade(&queue)),
            None => queue.end(None),
        }
        Feed::new(queue)
    }

    pub(crate) fn look<T>(&self, id: SubscriptionId, look: impl FnOnce(&BTreeMap<String, State>) -> T) -> Option<T> {
        lock(&self.shared().inner).session.states(id).map(look)
    }

    pub(crate) fn revision_of(&self, id: SubscriptionId) -> i64 {
        lock(&self.shared().inner).session.revision(id)
    }

    pub(crate) fn unsubscribe(&self, id: SubscriptionId) {
        let mut inner = lock(&self.shared().inner);
        inner.session.unsubscribe(id);
        self.shared().after(&mut inner);
    }

    /// Whether there is a connection now.
    pub fn is_connected(&self) -> bool {
        self.shared().is_connected()
    }

    /// What the bus said of itself when it was last connected: `epoch`, `identity`, `limits`, `version`.
    pub fn greeting(&self) -> Reply {
        lock(&self.shared().inner).session.greeting().clone()
    }

    /// The newest revision that this client has heard of.
    pub fn revision(&self) -> i64 {
        lock(&self.shared().inner).session.seen_revision()
    }

    /// Makes the next attempt at once, where one is waited for.
    pub fn reconnect(&self) {
        lock(&self.shared().inner).is_hurried = true;
        self.shared().ended.notify_all();
    }

    /// Waits until every request is answered or the time-out has passed, then disconnects: requests still waiting fail, and
    /// iterations end.
    pub fn close(&self, timeout: Duration) {
        self.handle.close(timeout);
    }
}

/// Begins a thread that logs what is given to it, until the bus is closed.
fn write_log(log: Log, is_closed: Arc<AtomicBool>) -> std::io::Result<SyncSender<String>> {
    let (sender, sentences) = sync_channel::<String>(LOG);
    let is_open = move |_: &String| !is_closed.load(Ordering::Relaxed);
    let work = move || sentences.iter().filter(is_open).for_each(|sentence| log(&sentence));
    std::thread::Builder::new().name("fluxbus-log".to_string()).spawn(work).map(|_| sender)
}

/// Connects to the bus at an address, as [`Options::connect`] does; `""` is the usual one.
pub fn connect(address: &str) -> Result<Bus, Error> {
    Options::new().connect(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greet(inner: &mut Inner, id: usize, epoch: &str) {
        inner.session.connected(None);
        let line = format!("{{\"id\":{},\"ok\":true,\"epoch\":\"{}\",\"revision\":5}}\n", id, epoch);
        inner.session.received(line.as_bytes()).expect("a greeting");
    }

    #[test]
    fn revision_stays_in_the_epoch_in_which_it_was_named() {
        let shared = Arc::new(Shared::new(Vec::new(), Options::new()).expect("a bus"));
        greet(&mut lock(&shared.inner), 1, "e1");
        let many = (0..WINDOW).map(|_| shared.begin(&Request::new("revert"), Duration::ZERO));
        assert!(many.collect::<Result<Vec<_>, _>>().is_ok());
        let asking = shared.clone();
        let long = Duration::from_secs(20);
        let request = Request::drop("counter/a").if_revision(4);
        let late = std::thread::spawn(move || asking.begin(&request, long)?.wait(long));
        while lock(&shared.inner).waits_for_room == 0 {
            std::thread::yield_now();
        }
        // None of what it waits for is sent again: when it has the lock there is room, in another epoch.
        let mut inner = lock(&shared.inner);
        inner.session.lost("it was cut");
        greet(&mut inner, WINDOW + 2, "e2");
        shared.after(&mut inner);
        drop(inner);
        assert!(late.join().expect("a thread").map_or_else(|error| error.is("conflict"), |_| false));
    }

    #[test]
    fn reconnect_is_kept_for_the_wait_that_begins() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("tcp:{}", listener.local_addr().expect("an address"));
        let hour = Duration::from_secs(3600);
        let options = Options::new().back_off(hour, hour);
        let addresses = Address::list(&address).expect("an address");
        let shared = Arc::new(Shared::new(addresses, options).expect("a bus"));
        let bus = Bus { handle: Arc::new(Handle { shared: shared.clone(), runner: Mutex::new(None) }) };
        greet(&mut lock(&shared.inner), 1, "e");
        bus.reconnect();
        shared.lost("it was cut");
        assert!(!lock(&shared.inner).is_hurried);
        // As a log function may do that hears of the loss, before the wait begins.
        bus.reconnect();
        let (come, comes) = sync_channel(1);
        std::thread::spawn(move || come.send(listener.accept().is_ok()));
        let connecting = shared.clone();
        let client = std::thread::spawn(move || connecting.reconnect(&mut 0).is_none());
        assert_eq!(comes.recv_timeout(Duration::from_secs(20)), Ok(true));
        bus.close(Duration::ZERO);
        assert!(client.join().expect("a client"));
    }
}
