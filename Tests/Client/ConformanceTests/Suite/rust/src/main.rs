//! The conformance driver of the Rust client.

use fluxbus::{object, Action, Actions, Bus, Changes, Error, Mirror, Options, Reply, Request, Step, Value};
use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Default)]
struct Driver {
    bus: Mutex<Option<Bus>>,
    mirrors: Mutex<HashMap<String, Arc<Mirror>>>,
    changes: Mutex<HashMap<String, Arc<Mutex<Changes>>>>,
    actions: Mutex<HashMap<String, Arc<Mutex<Actions>>>>,
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or("")
}

fn answer(call: &Value, result: Result<Value, Error>) {
    let line = match result {
        Ok(value) => object! { "call": call.clone(), "value": value },
        Err(error) => object! { "call": call.clone(), "error": error.code, "message": error.message },
    };
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", line).and_then(|_| output.flush()).expect("the suite has gone");
}

fn shown(reply: Reply) -> Value {
    object! { "revision": reply.revision, "duplicate": reply.duplicate }
}

fn payload(command: &Value) -> Value {
    command.get("payload").cloned().unwrap_or_else(|| Value::from(()))
}

fn steps(command: &Value) -> Vec<Step> {
    let parts = command["actions"].as_array().unwrap_or_default();
    parts.iter().map(|part| Step::dispatch(text(part, "target"), text(part, "action"), payload(part))).collect()
}

fn chosen(request: Request, command: &Value) -> Request {
    match command.get("where") {
        Some(expression) => request.matching(expression.clone()),
        None => request,
    }
}

fn traced(request: Request, command: &Value) -> Request {
    match command["traceparent"].as_str() {
        Some(traceparent) => request.traceparent(traceparent),
        None => request,
    }
}

impl Driver {
    fn bus(&self) -> Bus {
        self.bus.lock().unwrap().clone().expect("connect comes first")
    }

    fn connect(&self, command: &Value) -> Result<Value, Error> {
        let mut options = Options::new().back_off(Duration::from_millis(1), Duration::from_millis(10));
        options = options.timeout(Duration::from_secs(60));
        if let Some(linger) = command["options"]["linger"].as_double() {
            options = options.linger(Duration::from_secs_f64(linger));
        }
        if let Some(patience) = command["options"]["patience"].as_double() {
            options = options.patience(Duration::from_secs_f64(patience));
        }
        *self.bus.lock().unwrap() = Some(options.connect(text(command, "address"))?);
        Ok(Value::Null)
    }

    fn mirror(&self, command: &Value) -> Result<Value, Error> {
        let mut request = chosen(Request::subscribe(text(command, "target")), command);
        if command["cause"] == Value::Bool(true) {
            request = request.cause();
        }
        let mirror = self.bus().mirror_of(request)?;
        let name = text(command, "name").to_string();
        self.changes.lock().unwrap().insert(name.clone(), Arc::new(Mutex::new(mirror.changes())));
        self.mirrors.lock().unwrap().insert(name, Arc::new(mirror));
        Ok(Value::Null)
    }

    fn named(&self, command: &Value) -> (Arc<Mirror>, Arc<Mutex<Changes>>) {
        let name = text(command, "name");
        (self.mirrors.lock().unwrap()[name].clone(), self.changes.lock().unwrap()[name].clone())
    }

    fn states(&self, command: &Value) -> Value {
        let states = self.named(command).0.states();
        Value::Object(states.into_iter().map(|(address, state)| (address, Value::clone(&state))).collect())
    }

    fn until(&self, command: &Value) -> Result<Value, Error> {
        let (mirror, changes) = self.named(command);
        while mirror.revision() < command["revision"].as_int().unwrap_or(0) {
            if let Some(Err(error)) = changes.lock().unwrap().next() {
                return Err(error);
            }
        }
        Ok(self.states(command))
    }

    fn next_changes(&self, command: &Value) -> Result<Value, Error> {
        let (_, changes) = self.named(command);
        let mut taken = Vec::new();
        for _ in 0..command["count"].as_int().unwrap_or(0) {
            let next = changes.lock().unwrap().next().transpose()?;
            let change = next.ok_or_else(|| Error::new("closed", "There are no more changes."))?;
            let members = [("revision", Some(Value::from(change.revision))), ("cause", change.cause)];
            taken.push(Value::Object(members.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()));
        }
        Ok(Value::from(taken))
    }

    fn take(&self, command: &Value) -> Result<Value, Error> {
        let actions = self.actions.lock().unwrap()[text(command, "name")].clone();
        let mut taken = Vec::new();
        for _ in 0..command["count"].as_int().unwrap_or(0) {
            let next = actions.lock().unwrap().next();
            taken.push(match next.transpose()? {
                Some(Action::Gap(revision)) => object! { "gap": revision },
                Some(Action::Committed { target, action, result, results, traceparent, .. }) => {
                    let others = [("result", result), ("results", Some(results).filter(|all| !all.is_empty()).map(Value::Object)), ("traceparent", traceparent.map(Value::from))];
                    let names = [("target", Some(Value::from(target))), ("action", Some(Value::from(action)))];
                    let members = names.into_iter().chain(others);
                    Value::Object(members.filter_map(|(name, value)| Some((name.to_string(), value?))).collect())
                }
                None => return Err(Error::new("closed", "There are no more actions.")),
            });
        }
        Ok(Value::from(taken))
    }

    fn request(&self, command: &Value) -> Result<Value, Error> {
        // An op has the length of the program's life, mostly as a literal.
        let mut request = Request::new(Box::leak(text(command, "op").to_string().into_boxed_str()));
        for (name, value) in command["members"].as_object().into_iter().flatten() {
            request = request.with(name, value.clone());
        }
        self.bus().ask(&request).map(|_| Value::Null)
    }

    fn carry_out(&self, command: &Value) -> Result<Value, Error> {
        let target = text(command, "target");
        match text(command, "do") {
            "connect" => self.connect(command),
            "batch" => self.bus().ask(&traced(Request::batch(steps(command)), command)).map(shown),
            "drop" => self.bus().ask(&chosen(Request::drop(target), command)).map(shown),
            "get" => self.bus().get(target),
            "request" => self.request(command),
            "will" => self.bus().will(steps(command)).map(|_| Value::Null),
            "mirror" => self.mirror(command),
            "until" => self.until(command),
            "states" => Ok(self.states(command)),
            "changes" => self.next_changes(command),
            "ended" => {
                let (_, changes) = self.named(command);
                let mut changes = changes.lock().unwrap();
                changes.by_ref().try_for_each(|change| change.map(|_| ())).map(|_| Value::Null)
            }
            "actions" => {
                let actions = self.bus().actions(target)?;
                let name = text(command, "name").to_string();
                self.actions.lock().unwrap().insert(name, Arc::new(Mutex::new(actions)));
                Ok(Value::Null)
            }
            "take" => self.take(command),
            "close" => {
                let timeout = command["timeout"].as_double().unwrap_or(5.0);
                self.bus().close(Duration::from_secs_f64(timeout));
                Ok(Value::Null)
            }
            _ => Err(Error::new("invalid_request", "There is no such command.")),
        }
    }
}

fn main() {
    let driver = Arc::new(Driver::default());
    for line in std::io::stdin().lock().lines() {
        let command: Value = line.expect("input").parse().expect("a command");
        let call = command["call"].clone();
        if text(&command, "do") == "dispatch" {
            // What is sent goes in the order of the commands.
            let request = Request::dispatch(text(&command, "target"), text(&command, "action"), payload(&command));
            match driver.bus().send(&traced(request, &command)) {
                Ok(pending) => {
                    std::thread::spawn(move || answer(&call, pending.wait().map(shown)));
                }
                Err(error) => answer(&call, Err(error)),
            }
            continue;
        }
        let driver = driver.clone();
        std::thread::spawn(move || answer(&call, driver.carry_out(&command)));
    }
    // What nobody waits for any more must not keep the program.
    std::process::exit(0);
}
