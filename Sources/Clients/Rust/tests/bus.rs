//! The blocking client, with a bus that says what the test wants.

use fluxbus::{Address, Bus, Error, Options, Value};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread::{spawn, JoinHandle};
use std::time::Duration;

struct Peer {
    lines: BufReader<TcpStream>,
}

impl Peer {
    fn accept(listener: &TcpListener) -> Peer {
        Peer { lines: BufReader::new(listener.accept().expect("a client").0) }
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.parse().expect("JSON")
    }

    fn say(&mut self, line: &str) {
        writeln!(self.lines.get_mut(), "{}", line).expect("a client");
    }

    fn answer(&mut self, members: &str) -> Value {
        let heard = self.hear();
        self.say(&format!(r#"{{"id":{},{}}}"#, heard["id"], members));
        heard
    }
}

const GREETING: &str = r#""ok":true,"epoch":"e","revision":5"#;

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("tcp:{}", listener.local_addr().expect("an address"));
    (listener, address)
}

fn options() -> Options {
    Options::new().back_off(Duration::from_millis(1), Duration::from_millis(2))
}

/// A client, and what the bus does on its first connection.
fn connected<T: Send + 'static>(
    options: Options,
    work: impl FnOnce(Peer, TcpListener) -> T + Send + 'static,
) -> (Bus, JoinHandle<T>) {
    let (listener, address) = listen();
    let bus = spawn(move || {
        let mut peer = Peer::accept(&listener);
        peer.answer(GREETING);
        work(peer, listener)
    });
    (options.connect(&address).expect("a bus"), bus)
}

#[test]
fn refusal_is_an_error_with_its_code() {
    let (bus, peer) = connected(options(), |mut peer, _listener| {
        peer.answer(r#""ok":false,"error":{"code":"conflict","message":"It is another.","revision":9007199254740993}"#);
        peer
    });
    let error = bus.dispatch("counter/a", "increment", ()).unwrap_err();
    assert_eq!(error.details["revision"], Value::Int(9007199254740993));
    assert_eq!(error.to_string(), "It is another. (conflict)");
    let error: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert!(error.downcast_ref::<Error>().map_or(false, |error| error.is("conflict")));
    drop(bus);
    drop(peer);
}

#[test]
fn who_gives_up_is_not_sent_again() {
    let (given_up, gives_up) = channel();
    let (bus, peer) = connected(options().timeout(Duration::from_millis(1)), move |mut peer, listener| {
        peer.hear();
        gives_up.recv().expect("a client");
        drop(peer);
        let mut again = Peer::accept(&listener);
        again.answer(GREETING);
        again.answer(r#""ok":true"#)
    });
    let error = bus.dispatch("counter/a", "increment", ()).unwrap_err();
    assert!(error.is("timed_out"));
    given_up.send(()).expect("a bus");
    let pending = bus.send(&fluxbus::Request::new("ping")).expect("room");
    pending.wait_for(Duration::from_secs(20)).expect("an answer");
    assert_eq!(peer.join().expect("a bus")["op"], Value::from("ping"));
}

#[test]
fn request_may_have_a_time_of_its_own() {
    let (bus, peer) = connected(options().timeout(Duration::MAX), |mut peer, _listener| {
        let heard: Vec<Value> = (0..4).map(|_| peer.hear()).collect();
        (peer, heard)
    });
    let short = Duration::from_millis(1);
    let subscribe = || fluxbus::Request::subscribe("counter").matching("count > 2").timeout(short);
    let is_late = |error: Error| error.is("timed_out");
    assert!(bus.ask(&fluxbus::Request::dispatch("counter/a", "increment", ()).timeout(short)).map_or_else(is_late, |_| false));
    assert!(bus.states(&fluxbus::Request::get("counter").timeout(short)).map_or_else(is_late, |_| false));
    assert!(bus.mirror_of(subscribe()).map_or_else(is_late, |_| false));
    assert!(bus.actions_of(subscribe()).map_or_else(is_late, |_| false));
    let (peer, heard) = peer.join().expect("a bus");
    assert!(heard.iter().all(|request| request.get("timeout").is_none()));
    for (at, actions) in [(2, Value::Null), (3, Value::Bool(true))] {
        assert_eq!((&heard[at]["where"], &heard[at]["actions"]), (&Value::from("count > 2"), &actions));
    }
    drop(peer);
    bus.close(Duration::ZERO);
}

#[test]
fn actions_that_nobody_waits_for_are_not_followed() {
    let (late, is_late) = channel();
    let (bus, peer) = connected(options(), move |mut peer, _listener| {
        let asked = peer.hear();
        is_late.recv().expect("a client");
        peer.say(&format!(r#"{{"id":{},"ok":true,"sub":1,"epoch":"e","revision":5}}"#, asked["id"]));
        peer.answer(r#""ok":true"#)
    });
    let request = fluxbus::Request::subscribe("counter").timeout(Duration::from_millis(1));
    assert!(matches!(bus.actions_of(request), Err(error) if error.is("timed_out")));
    late.send(()).expect("a bus");
    assert_eq!(peer.join().expect("a bus")["op"], Value::from("unsubscribe"));
}

#[test]
fn create_is_what_it_says() {
    let (bus, peer) = connected(options(), |mut peer, _listener| peer.answer(r#""ok":true,"revision":6,"created":true"#));
    bus.create("counter/a").expect("a store");
    assert_eq!(peer.join().expect("a bus").get("ifMissing"), None);
    // Nothing is asked, so that it ends at once.
    bus.close(Duration::MAX);
}

/// The bus refuses what is not the address of one store; all of a type would be something else.
#[test]
fn get_is_for_one_store() {
    for target in ["counter", "counter/*"] {
        let (bus, peer) = connected(options(), |mut peer, _listener| {
            peer.answer(r#""ok":false,"error":{"code":"invalid_request","message":"It is no address."}"#)
        });
        assert!(matches!(bus.get(target), Err(error) if error.is("invalid_request")));
        assert_eq!(peer.join().expect("a bus")["store"], Value::from(target));
    }
}

#[test]
fn times_may_be_as_long_as_there_are() {
    let longest = || Options::new().connect_timeout(Duration::MAX).back_off(Duration::MAX, Duration::MAX).keep_alive(Duration::MAX);
    let (bus, peer) = connected(longest(), |peer, listener| {
        drop(peer);
        Peer::accept(&listener).answer(GREETING)
    });
    while !peer.is_finished() {
        bus.reconnect();
        std::thread::sleep(Duration::from_millis(1));
    }
    let (gone, address) = listen();
    drop(gone);
    assert!(matches!(longest().connect(&address), Err(error) if error.is("unreachable")));
}

#[test]
fn reconnect_does_not_wait() {
    let options = options().back_off(Duration::from_secs(600), Duration::from_secs(600));
    let (bus, peer) = connected(options, |peer, listener| {
        drop(peer);
        Peer::accept(&listener).answer(GREETING)
    });
    assert_eq!(bus.revision(), 5);
    while !peer.is_finished() {
        bus.reconnect();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(peer.join().expect("a bus")["op"], Value::from("hello"));
}

#[test]
fn errors_are_those_of_input_and_output() {
    use std::io::ErrorKind;
    for (code, kind) in [
        ("timed_out", ErrorKind::TimedOut),
        ("closed", ErrorKind::ConnectionAborted),
        ("outcome_unknown", ErrorKind::ConnectionAborted),
        ("conflict", ErrorKind::Other),
    ] {
        assert_eq!(std::io::Error::from(Error::new(code, "It is so.")).kind(), kind, "{}", code);
    }
}

#[test]
fn connect_waits_and_tries_all_addresses() {
    let (gone, first) = listen();
    drop(gone);
    assert!(matches!(options().connect(&first), Err(error) if error.is("unreachable")));
    let (listener, second) = listen();
    let peer = spawn(move || {
        // It is not ready at first.
        drop(Peer::accept(&listener));
        let mut peer = Peer::accept(&listener);
        let hello = peer.answer(GREETING);
        peer.answer(r#""ok":true"#);
        hello
    });
    let options = options().patience(Duration::from_secs(20)).token("secret").client("test");
    let bus = options.connect(&format!("{}, {}", first, second)).expect("a bus");
    bus.ask(&fluxbus::Request::new("ping")).expect("an answer");
    let hello = peer.join().expect("a bus");
    assert_eq!((hello["token"].as_str(), hello["client"].as_str()), (Some("secret"), Some("test")));
}

#[test]
fn stream_of_the_programs_own_takes_the_place_of_a_socket() {
    let (listener, address) = listen();
    let peer = spawn(move || {
        let mut peer = Peer::accept(&listener);
        peer.answer(GREETING);
        peer.answer(r#""ok":true,"sub":1,"epoch":"e","revision":5"#);
        peer.say(r#"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/a":{"count":1}}}"#);
        peer.answer(r#""ok":true,"revision":6,"matched":1,"changed":1"#);
        peer.hear()
    });
    let opening = options().opener(|address| match address {
        Address::Tls(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_read_timeout(Some(Duration::from_millis(1)))?;
            Ok(Box::new(stream))
        }
        _ => Err(std::io::ErrorKind::Unsupported.into()),
    });
    let bus = opening.connect(&address.replace("tcp:", "tls:")).expect("a bus");
    let mirror = bus.mirror("counter").expect("a mirror");
    assert_eq!(mirror.get("counter/a").expect("a state")["count"], Value::Int(1));
    assert_eq!(bus.dispatch("counter/a", "increment", ()).expect("a reply").revision, 6);
    drop(mirror);
    assert_eq!(peer.join().expect("a bus")["op"], Value::from("unsubscribe"));
    assert!(matches!(options().connect(&address.replace("tcp:", "tls:")), Err(error) if error.message.contains("opener")));
}

#[test]
fn iteration_that_is_far_behind_gets_the_rest_as_one() {
    let (bus, peer) = connected(options(), |mut peer, _listener| {
        peer.answer(r#""ok":true,"sub":1,"epoch":"e","revision":5"#);
        peer.say(r#"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/a":{"count":0}}}"#);
        let ping = peer.hear();
        for at in 5..1_020 {
            peer.say(&format!(
                r#"{{"event":"change","sub":1,"from":{},"revision":{},"changes":{{"counter/a":{{"count":{}}}}}}}"#,
                at,
                at + 1,
                at
            ));
        }
        peer.say(&format!(r#"{{"id":{},"ok":true}}"#, ping["id"]));
        peer
    });
    let mirror = bus.mirror("counter").expect("a mirror");
    let mut changes = mirror.changes();
    bus.ask(&fluxbus::Request::new("ping")).expect("an answer");
    let first = changes.next().expect("a change").expect("no error");
    assert!(first.reset && first.revision > 1_000);
    let last = changes.find(|change| change.as_ref().map_or(true, |change| change.revision == 1_020));
    assert!(matches!(last, Some(Ok(_))));
    assert!(matches!(changes.next_for(Duration::from_millis(1)), Some(Err(error)) if error.is("timed_out")));
    bus.close(Duration::ZERO);
    assert!(changes.next().is_none());
    drop(peer);
}

#[test]
fn close_waits_for_answers() {
    let (bus, peer) = connected(options().linger(Duration::from_secs(1)), |mut peer, _listener| {
        let heard = peer.hear();
        // Nothing comes before the answer.
        let patience = Some(Duration::from_millis(100));
        peer.lines.get_mut().set_read_timeout(patience).expect("a socket");
        let nothing = peer.lines.fill_buf().map(<[u8]>::len);
        peer.lines.get_mut().set_read_timeout(None).expect("a socket");
        peer.say(&format!(r#"{{"id":{},"ok":true,"revision":6}}"#, heard["id"]));
        (nothing.is_err(), peer.answer(GREETING))
    });
    let pending = bus.send(&fluxbus::Request::dispatch("counter/a", "increment", ())).expect("room");
    bus.close(Duration::from_secs(20));
    assert_eq!(pending.wait().expect("an answer").revision, 6);
    let (was_silent, leaving) = peer.join().expect("a bus");
    assert!(was_silent && leaving["op"].as_str() == Some("hello") && leaving["linger"] == Value::Int(0));
    assert!(matches!(bus.dispatch("counter/a", "increment", ()), Err(error) if error.is("closed")));
}

#[test]
fn log_may_use_the_bus_and_end_it() {
    let (give, take) = channel::<Bus>();
    let (tell, told) = channel();
    let take = std::sync::Mutex::new(take);
    let log = move |_: &str| {
        if let Ok(bus) = take.lock().expect("a lock").try_recv() {
            let answer = bus.ask(&fluxbus::Request::new("ping").timeout(Duration::from_secs(20)));
            bus.close(Duration::from_secs(20));
            tell.send(answer).expect("a test");
        }
    };
    let (bus, peer) = connected(options().log(log), |mut peer, listener| {
        peer.hear();
        drop(peer);
        let mut again = Peer::accept(&listener);
        again.answer(GREETING);
        again.answer(r#""ok":true"#)
    });
    give.send(bus.clone()).expect("a log");
    assert!(bus.ask(&fluxbus::Request::new("revert")).is_err());
    told.recv().expect("a log").expect("an answer");
    assert!(bus.dispatch("counter/a", "increment", ()).is_err());
    peer.join().expect("a bus");
}

#[test]
fn log_is_not_called_once_the_bus_is_closed() {
    let (tell, told) = channel();
    let (release, hold) = channel::<()>();
    let hold = std::sync::Mutex::new(hold);
    let log = move |sentence: &str| {
        tell.send(sentence.to_string()).expect("a test");
        let _ = hold.lock().expect("a lock").recv();
    };
    let (bus, peer) = connected(options().log(log), |peer, listener| {
        drop(peer);
        let mut again = Peer::accept(&listener);
        again.answer(GREETING);
        again.answer(r#""ok":true"#)
    });
    assert!(told.recv().expect("a log").contains("has ended"));
    // The next sentence waits by then.
    bus.ask(&fluxbus::Request::new("ping")).expect("an answer");
    peer.join().expect("a bus");
    bus.close(Duration::ZERO);
    drop(bus);
    drop(release);
    assert_eq!(told.iter().count(), 0);
}

#[test]
fn log_hears_why_there_is_no_connection_any_more() {
    let (tell, told) = channel();
    let log = move |sentence: &str| tell.send(sentence.to_string()).expect("a test");
    let (bus, peer) = connected(options().log(log), |peer, listener| {
        drop(peer);
        let refusal = r#"{"code":"forbidden","message":"You are not wanted."}"#;
        Peer::accept(&listener).answer(&format!(r#""ok":false,"error":{}"#, refusal))
    });
    assert!(told.recv().expect("a log").contains("has ended"));
    let why = told.recv_timeout(Duration::from_secs(20));
    assert_eq!(why.expect("a log"), "You are not wanted.");
    peer.join().expect("a bus");
    drop(bus);
}

#[test]
fn close_does_not_wait_for_who_opens_a_connection() {
    let (opened, is_opened) = channel();
    let (open, opens) = channel::<()>();
    let opens = std::sync::Mutex::new(opens);
    let options = options().opener(move |address| match address {
        Address::Tcp(host, port) if opened.send(()).is_ok() => {
            opens.lock().expect("a lock").recv().map_err(|_| std::io::ErrorKind::TimedOut)?;
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_read_timeout(Some(Duration::from_millis(1)))?;
            Ok(Box::new(stream))
        }
        _ => Err(std::io::ErrorKind::Unsupported.into()),
    });
    open.send(()).expect("an opener");
    let (bus, peer) = connected(options, |peer, _listener| drop(peer));
    peer.join().expect("a bus");
    for _ in 0..2 {
        is_opened.recv().expect("an opener");
    }
    bus.close(Duration::ZERO);
    drop(open);
}

#[test]
fn silent_bus_is_asked() {
    let (_bus, peer) = connected(options().keep_alive(Duration::from_millis(200)), |mut peer, _listener| peer.hear());
    assert_eq!(peer.join().expect("a bus")["op"], Value::from("ping"));
}

#[test]
fn addresses_are_read_or_refused() {
    let found = Address::list("tcp:[::1]:7411 unix:/a,tls:host:1").expect("addresses");
    let shown: Vec<String> = found.iter().map(Address::to_string).collect();
    assert_eq!(shown, ["tcp:[::1]:7411", "unix:/a", "tls:host:1"]);
    for wrong in ["unix:relative", "tcp:host", "tcp:host:0", "tcp:host:65536", "tcp::1", "tcp:a:b:1", "http:a:1", "x"] {
        assert!(matches!(Address::list(wrong), Err(error) if error.is("invalid_address")), "{}", wrong);
    }
}
