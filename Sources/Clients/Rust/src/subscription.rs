use crate::request::Request;
use crate::value::{Object, State, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a mirror has become. After a `reset` it stands for everything: what is not in `states` is gone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Up to which the mirror is exact now.
    pub revision: i64,
    /// States that are new or different, by address.
    pub states: BTreeMap<String, State>,
    /// Addresses that are gone.
    pub dropped: Vec<String>,
    /// Whether earlier changes no longer hold: the stores are as they come with this one.
    pub reset: bool,
    /// How many commits are merged in it.
    pub coalesced: i64,
    /// The actions of the commit, by whom and when, where [`Request::cause`] asked for it and this is one commit.
    pub cause: Option<Value>,
}

/// An action that was committed, or a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An action.
    Committed {
        /// Its commit.
        revision: i64,
        /// A store's address, or a type.
        target: String,
        /// Its name.
        action: String,
        /// What it was given, with defaults filled in.
        payload: Value,
        /// Who sent it.
        by: Value,
        /// When, in seconds since 1970.
        time: f64,
        /// What it returned, if it did and the target is a store.
        result: Option<Value>,
        /// What it returned by the addresses of the stores, where the target is a type; else empty.
        results: Object,
        /// The place of its dispatch in a trace (W3C Trace Context), if that had one.
        traceparent: Option<String>,
    },
    /// Actions up to and with this revision may be missing.
    Gap(i64),
}

pub(crate) enum Kind {
    Mirror,
    Actions,
}

/// Where one subscription stands; it outlives connections.
pub(crate) struct Subscription {
    pub request: Request,
    pub kind: Kind,
    /// What was seen last: the states are those of this revision.
    pub revision: i64,
    pub epoch: String,
    pub states: BTreeMap<String, State>,
    /// What has come of a change whose last part has not; `None` stands for one that is gone.
    parts: Option<Parts>,
    /// The place of the action that was seen last.
    seen: (i64, i64),
}

struct Parts {
    is_reset: bool,
    states: BTreeMap<String, Option<State>>,
    cause: Option<Value>,
}

impl Subscription {
    pub fn new(request: Request, kind: Kind) -> Subscription {
        let (epoch, states) = (String::new(), BTreeMap::new());
        Subscription { request, kind, revision: 0, epoch, states, parts: None, seen: (0, 0) }
    }

    /// What asks for all that has not been seen.
    pub fn again(&self) -> Request {
        let request = self.request.clone();
        if self.epoch.is_empty() {
            return request;
        }
        request.with("since", self.revision).with("epoch", self.epoch.as_str())
    }

    /// Whether actions come from now on for the first time.
    pub fn granted(&mut self, revision: i64, epoch: &str) -> bool {
        let is_first = matches!(self.kind, Kind::Actions) && self.epoch.is_empty();
        if is_first {
            self.moves(revision, epoch);
        }
        is_first
    }

    fn moves(&mut self, revision: i64, epoch: &str) {
        self.revision = revision;
        if self.epoch != epoch {
            self.epoch = epoch.to_string();
        }
    }

    pub fn take_change(&mut self, event: Value, revision: i64, epoch: &str) -> Result<Option<Change>, String> {
        match event["event"].as_str() {
            Some("change") => (),
            Some("bookmark") => {
                self.moves(revision, epoch);
                return Ok(None);
            }
            _ => return Ok(None),
        }
        let coalesced = event["coalesced"].as_int().unwrap_or(1);
        let is_last = event["more"] != Value::Bool(true);
        self.collect(event)?;
        Ok(if is_last { self.apply(revision, epoch, coalesced) } else { None })
    }

    /// Adds a part of a change to those before it.
    fn collect(&mut self, event: Value) -> Result<(), String> {
        if let Some(from) = event["from"].as_int() {
            let is_reset = event["reset"] == Value::Bool(true);
            if !is_reset && from != self.revision {
                return Err(format!("changes before revision {} are missing", from));
            }
            self.parts = Some(Parts { is_reset, states: BTreeMap::new(), cause: None });
        }
        let parts = self.parts.as_mut().ok_or("the first part of a change is missing")?;
        let mut members = match event {
            Value::Object(members) => members,
            _ => return Err("a change is no object".to_string()),
        };
        parts.cause = parts.cause.take().or_else(|| members.remove("cause"));
        let mut objects = |name: &str| match members.remove(name) {
            Some(Value::Object(states)) => Ok(states),
            Some(_) => Err(format!("{} is no object", name)),
            None => Ok(Default::default()),
        };
        let (changes, states) = (objects("changes")?, objects("states")?);
        for (address, patch) in changes {
            // The mirror shows what it has until the last part is there.
            let part = parts.states.entry(address);
            let part = part.or_insert_with_key(|address| {
                if parts.is_reset {
                    None
                } else {
                    self.states.get(address).cloned()
                }
            });
            Arc::make_mut(part.get_or_insert_with(Default::default)).merge(patch);
        }
        for (address, state) in states {
            parts.states.insert(address, Some(Arc::new(state)));
        }
        for address in members.get("dropped").and_then(Value::as_array).unwrap_or_default() {
            parts.states.insert(address.as_str().unwrap_or_default().to_string(), None);
        }
        Ok(())
    }

    fn apply(&mut self, revision: i64, epoch: &str, coalesced: i64) -> Option<Change> {
        let parts = self.parts.take()?;
        self.moves(revision, epoch);
        if !parts.is_reset && parts.states.is_empty() {
            return None;
        }
        let mut change = Change { revision, reset: parts.is_reset, coalesced, cause: parts.cause, ..Change::default() };
        if parts.is_reset {
            self.states.clear();
        }
        for (address, state) in parts.states {
            match state {
                Some(state) => {
                    self.states.insert(address.clone(), state.clone());
                    change.states.insert(address, state);
                }
                None => {
                    self.states.remove(&address);
                    change.dropped.push(address);
                }
            }
        }
        Some(change)
    }

    /// A connection may be lost between the actions of one commit: all are asked for again, and what was seen is left out.
    pub fn take_action(&mut self, event: &Value, revision: i64, epoch: &str) -> Option<Action> {
        match event["event"].as_str() {
            Some("action") => {
                let place = (revision, event["index"].as_int().unwrap_or(0));
                if epoch == self.epoch && place <= self.seen {
                    return None;
                }
                // One without an index is the only one of its commit, which is not asked for again.
                self.moves(revision - i64::from(event.get("index").is_some()), epoch);
                self.seen = place;
                let text = |name: &str| event[name].as_str().unwrap_or("").to_string();
                Some(Action::Committed {
                    revision,
                    target: if event["store"].is_null() { text("type") } else { text("store") },
                    action: text("action"),
                    payload: event["payload"].clone(),
                    by: event["by"].clone(),
                    time: event["time"].as_double().unwrap_or(0.0),
                    result: event.get("result").cloned(),
                    results: event["results"].as_object().cloned().unwrap_or_default(),
                    traceparent: event["traceparent"].as_str().map(str::to_string),
                })
            }
            Some(kind @ ("gap" | "bookmark")) => {
                self.moves(revision, epoch);
                self.seen = (0, 0);
                Some(Action::Gap(revision)).filter(|_| kind == "gap")
            }
            _ => None,
        }
    }
}
