use crate::bus::{after, lock, wait, Bus, FOR_EVER};
use crate::error::Error;
use crate::session::SubscriptionId;
use crate::subscription::{Action, Change};
use crate::typed::FromValue;
use crate::value::State;
use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// So many changes or actions wait for a consumer; those of one that falls further behind become one.
const BACKLOG: usize = 1_000;

struct Waiting<T> {
    items: VecDeque<T>,
    has_begun: bool,
    end: Option<Option<Error>>,
}

/// What comes, for one consumer.
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    news: Condvar,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        let waiting = Waiting { items: VecDeque::new(), has_begun: false, end: None };
        Queue { waiting: Mutex::new(waiting), news: Condvar::new() }
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&self, item: T, instead: impl FnOnce() -> T) {
        let mut waiting = lock(&self.waiting);
        if waiting.items.len() < BACKLOG {
            waiting.items.push_back(item);
        } else {
            waiting.items.clear();
            waiting.items.push_back(instead());
        }
        self.news.notify_all();
    }

    pub(crate) fn begin(&self) {
        lock(&self.waiting).has_begun = true;
        self.news.notify_all();
    }

    pub(crate) fn end(&self, error: Option<Error>) {
        lock(&self.waiting).end.get_or_insert(error);
        self.news.notify_all();
    }

    pub(crate) fn wait_for_begin(&self, timeout: Duration) -> Result<(), Error> {
        let until = after(timeout);
        let mut waiting = lock(&self.waiting);
        while !waiting.has_begun {
            if let Some(end) = &waiting.end {
                return Err(end.clone().unwrap_or_else(Error::closed));
            }
            if Instant::now() >= until {
                return Err(late());
            }
            waiting = wait(&self.news, waiting, until);
        }
        Ok(())
    }
}

fn late() -> Error {
    Error::new("timed_out", "Nothing came in the time allowed.")
}

/// Iterates over what comes, for one consumer. It keeps the newest thousand; a consumer that falls further behind gets all
/// of them as one: a reset of a mirror, or a gap in actions. It ends when the mirror or the bus is closed, and with an error
/// where that has another reason.
pub struct Feed<T> {
    queue: Arc<Queue<T>>,
}

/// Every change of a mirror.
pub type Changes = Feed<Change>;

impl<T> Feed<T> {
    pub(crate) fn new(queue: Arc<Queue<T>>) -> Feed<T> {
        Feed { queue }
    }

    /// What comes next; `timed_out` where nothing does in that time.
    pub fn next_for(&mut self, timeout: Duration) -> Option<Result<T, Error>> {
        let until = after(timeout);
        let mut waiting = lock(&self.queue.waiting);
        loop {
            if let Some(item) = waiting.items.pop_front() {
                return Some(Ok(item));
            }
            if let Some(end) = &mut waiting.end {
                // The error comes once.
                return end.take().map(Err);
            }
            if Instant::now() >= until {
                return Some(Err(late()));
            }
            waiting = wait(&self.queue.news, waiting, until);
        }
    }
}

impl<T> Iterator for Feed<T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Result<T, Error>> {
        self.next_for(FOR_EVER)
    }
}

/// Iterates over actions as they are committed.
pub struct Actions {
    bus: Bus,
    id: SubscriptionId,
    feed: Feed<Action>,
}

impl Actions {
    pub(crate) fn new(bus: Bus, id: SubscriptionId, feed: Feed<Action>) -> Actions {
        Actions { bus, id, feed }
    }

    /// What comes next; `timed_out` where nothing does in that time.
    pub fn next_for(&mut self, timeout: Duration) -> Option<Result<Action, Error>> {
        self.feed.next_for(timeout)
    }
}

impl Iterator for Actions {
    type Item = Result<Action, Error>;

    fn next(&mut self) -> Option<Result<Action, Error>> {
        self.feed.next()
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        self.bus.unsubscribe(self.id);
    }
}

/// The states of all stores that match, by address, as they are on the bus. Any thread may read it, and what it gives is never
/// changed later. It follows until it is dropped.
pub struct Mirror {
    bus: Bus,
    id: SubscriptionId,
}

impl Mirror {
    pub(crate) fn new(bus: Bus, id: SubscriptionId) -> Mirror {
        Mirror { bus, id }
    }

    /// The state of a store, if there is one.
    pub fn get(&self, address: &str) -> Option<State> {
        self.bus.look(self.id, |states| states.get(address).cloned()).flatten()
    }

    /// All states of one revision.
    pub fn states(&self) -> BTreeMap<String, State> {
        self.bus.look(self.id, BTreeMap::clone).unwrap_or_default()
    }

    /// How many stores there are.
    pub fn len(&self) -> usize {
        self.bus.look(self.id, BTreeMap::len).unwrap_or_default()
    }

    /// Whether there is no store.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Up to which revision it is exact.
    pub fn revision(&self) -> i64 {
        self.bus.revision_of(self.id)
    }

    /// Every change from now on. To miss nothing, call it before you read the mirror.
    pub fn changes(&self) -> Changes {
        self.bus.changes(self.id)
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.bus.unsubscribe(self.id);
    }
}

/// A mirror of a type whose states are `T`s.
pub struct MirrorOf<T> {
    mirror: Mirror,
    type_name: &'static str,
    states: PhantomData<fn() -> T>,
}

impl<T: FromValue> MirrorOf<T> {
    /// Looks at a mirror as one of that type.
    pub fn new(mirror: Mirror, type_name: &'static str) -> MirrorOf<T> {
        MirrorOf { mirror, type_name, states: PhantomData }
    }

    /// The state of the store of that name, if there is one; `mismatch` where it is not as its type says.
    pub fn get(&self, name: &str) -> Option<Result<T, Error>> {
        self.mirror.get(&crate::typed::target(self.type_name, name)).map(|state| T::from_value(&state))
    }

    /// All states of one revision, by the names of their stores.
    pub fn states(&self) -> Result<BTreeMap<String, T>, Error> {
        let states = self.mirror.states().into_iter();
        states.map(|(address, state)| Ok((address[self.type_name.len() + 1..].to_string(), T::from_value(&state)?))).collect()
    }

    /// The mirror without types, with its changes.
    pub fn untyped(&self) -> &Mirror {
        &self.mirror
    }
}
