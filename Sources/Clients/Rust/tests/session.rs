//! The core without a connection: the bytes that a bus would send, and what comes of them.

use fluxbus::{object, Change, Error, Event, Object, Reply, Request, Session, Step, Value};

struct Run {
    session: Session<u32>,
}

impl Run {
    fn new() -> Run {
        let mut run = Run { session: Session::new(Object::new(), "p") };
        run.connect("e", 5);
        run
    }

    /// What it has to send.
    fn sent(&mut self) -> Vec<Value> {
        let mut out = Vec::new();
        self.session.take_outgoing(&mut out);
        let text = String::from_utf8(out).expect("UTF-8");
        text.lines().map(|line| line.parse().expect("JSON")).collect()
    }

    fn hear(&mut self, line: &str) -> Vec<Event<u32>> {
        self.session.received(format!("{}\n", line).as_bytes()).expect("the protocol");
        self.events()
    }

    fn events(&mut self) -> Vec<Event<u32>> {
        std::iter::from_fn(|| self.session.next_event()).collect()
    }

    fn connect(&mut self, epoch: &str, revision: i64) -> Vec<Value> {
        self.session.connected(None);
        let hello = self.sent();
        let line = format!(r#"{{"id":{},"ok":true,"epoch":"{}","revision":{}}}"#, hello[0]["id"], epoch, revision);
        assert!(matches!(self.hear(&line)[..], [Event::Connected]));
        self.sent()
    }

    fn mirror(&mut self) -> fluxbus::SubscriptionId {
        let id = self.session.mirror(Request::subscribe("counter"));
        let asked = self.sent();
        self.hear(&format!(r#"{{"id":{},"ok":true,"sub":1,"epoch":"e","revision":5}}"#, asked[0]["id"]));
        self.hear(r#"{"event":"change","sub":1,"from":0,"revision":5,"reset":true,"states":{"counter/a":{"n":1}}}"#);
        id
    }
}

fn increment() -> Request {
    Request::dispatch("counter/a", "increment", object! { "by": 1 })
}

fn answers(events: Vec<Event<u32>>) -> Vec<(u32, Result<Reply, Error>)> {
    let answer = |event| match event {
        Event::Answered(token, result) => Some((token, result)),
        _ => None,
    };
    events.into_iter().filter_map(answer).collect()
}

#[test]
fn what_is_lost_is_sent_again_as_it_was() {
    let mut run = Run::new();
    run.session.request(&increment(), 1);
    run.session.request(&Request::new("revert").with("revision", 2), 2);
    let sent = run.sent();
    assert!(sent[0]["after"].is_null() && sent[0]["epoch"].is_null());
    run.session.lost("it was cut");
    let failed = answers(run.events());
    assert!(matches!(&failed[..], [(2, Err(error))] if error.is("outcome_unknown")));
    run.session.request(&increment(), 3);
    let again = run.connect("e", 9);
    // With what had been seen when it was first sent, which the bus needs to know only now.
    for member in ["id", "key", "op", "store", "action", "payload"] {
        assert_eq!(again[0][member], sent[0][member]);
    }
    assert_eq!(again[0]["after"], Value::Int(5));
    assert_eq!(again[0]["epoch"], Value::from("e"));
    assert!(again[1]["after"].is_null());
    let line = format!(r#"{{"id":{},"ok":true,"revision":6,"matched":1,"changed":1,"duplicate":true}}"#, sent[0]["id"]);
    let answered = answers(run.hear(&line));
    assert!(matches!(&answered[..], [(1, Ok(reply))] if reply.duplicate && reply.revision == 6));
}

#[test]
fn revision_means_nothing_in_another_epoch() {
    let drop_at = |revision: i64| Request::drop("counter/a").if_revision(revision);
    let mut run = Run { session: Session::new(Object::new(), "p") };
    run.session.request(&Request::get("counter/a").with("revision", 4), 0);
    assert_eq!(run.connect("e1", 5).len(), 1);
    run.hear(r#"{"id":1,"ok":true,"revision":5}"#);
    run.session.request(&Request::get("counter/a").with("revision", 4), 1);
    run.session.request(&drop_at(4), 2);
    run.session.lost("it was cut");
    run.session.request(&drop_at(4), 3);
    run.session.request(&Request::new("history").with("since", 4), 4);
    run.session.request(&Request::batch([Step::dispatch("counter/a", "go", ()).with("ifRevision", 4)]), 5);
    run.session.request(&Request::batch([Step::dispatch("counter/a", "go", object! { "ifRevision": 4 })]), 6);
    run.session.connected(None);
    let hello = run.sent();
    let line = format!(r#"{{"id":{},"ok":true,"epoch":"e2","revision":5}}"#, hello[hello.len() - 1]["id"]);
    let answered = answers(run.hear(&line));
    let tokens: Vec<u32> = answered.iter().map(|answer| answer.0).collect();
    assert_eq!(tokens, [1, 3, 4, 5]);
    assert!(answered.iter().all(|answer| answer.1.as_ref().map_or_else(|error| error.is("conflict"), |_| false)));
    // What was written with a key says itself of which epoch it is.
    let sent = run.sent();
    assert_eq!((sent.len(), &sent[0]["epoch"], run.session.unanswered()), (2, &Value::from("e1"), 2));
}

#[test]
fn ephemeral_store_may_have_gone_with_its_connection() {
    for is_resumed in [false, true] {
        let mut run = Run::new();
        run.session.request(&Request::create("counter/a").ephemeral(), 1);
        run.session.request(&Request::batch([Step::create("counter/b").with("ephemeral", true)]), 2);
        run.session.request(&Request::create("counter/c"), 3);
        run.session.lost("it was cut");
        run.session.connected(None);
        let hello = run.sent();
        let id = &hello[hello.len() - 1]["id"];
        run.hear(&format!(r#"{{"id":{},"ok":true,"epoch":"e","revision":5,"resumed":{}}}"#, id, is_resumed));
        for sent in run.sent() {
            let answered = answers(run.hear(&format!(r#"{{"id":{},"ok":true,"revision":4,"duplicate":true}}"#, sent["id"])));
            let is_unknown = answered[0].1.as_ref().map_or_else(|error| error.is("outcome_unknown"), |_| false);
            assert_eq!(is_unknown, !is_resumed && answered[0].0 < 3);
        }
    }
}

/// The bus may refuse with some of these before it checks whether it has committed the request.
#[test]
fn refusal_of_what_is_sent_again_does_not_say_whether_it_was_committed() {
    for (refusal, code) in [
        (r#""code":"forbidden""#, "outcome_unknown"),
        (r#""code":"unknown_type""#, "outcome_unknown"),
        (r#""code":"too_large""#, "outcome_unknown"),
        (r#""code":"limit""#, "outcome_unknown"),
        (r#""code":"conflict""#, "outcome_unknown"),
        (r#""code":"conflict","revision":7"#, "conflict"),
        (r#""code":"rejected""#, "rejected"),
    ] {
        for has_id in [true, false] {
            let mut run = Run::new();
            let line = |sent: &Value| {
                let id = if has_id { format!(r#""id":{},"#, sent["id"]) } else { String::new() };
                format!(r#"{{{}"ok":false,"error":{{{}}}}}"#, id, refusal)
            };
            let code_of = |events| match &answers(events)[..] {
                [(_, Err(error))] => error.clone(),
                _ => panic!("it is no refusal"),
            };
            run.session.request(&increment(), 1);
            let sent = run.sent();
            let first = code_of(run.hear(&line(&sent[0])));
            run.session.request(&increment(), 2);
            run.session.request(&Request::get("counter/a"), 3);
            run.session.lost("it was cut");
            run.sent();
            let again = run.connect("e", 5);
            let keyed = code_of(run.hear(&line(&again[0])));
            let read = code_of(run.hear(&line(&again[1])));
            assert_eq!((&*keyed.code, &first.code), (code, &read.code), "{}", refusal);
            assert!(!read.is("outcome_unknown"));
            let original = keyed.details.get("original").map(|original| original.as_str().unwrap_or(""));
            assert_eq!(original.map_or(false, |text| text.contains(&read.code)), code == "outcome_unknown");
        }
    }
}

#[test]
fn will_that_is_not_answered_may_have_been_left() {
    let mut run = Run::new();
    run.session.request(&Request::will([]), 1);
    run.session.request(&Request::new("ping"), 2);
    run.session.lost("it was cut");
    run.session.request(&Request::will([]), 3);
    run.session.end(None);
    let ended = answers(run.events());
    let codes: Vec<&str> = ended.iter().map(|answer| answer.1.as_ref().map_or_else(|error| &*error.code, |_| "ok")).collect();
    assert_eq!(codes, ["outcome_unknown", "closed", "closed"]);
}

#[test]
fn id_and_ack_are_refused_before_they_are_sent() {
    let mut run = Run::new();
    for name in ["id", "ack"] {
        run.session.request(&increment().with(name, false), 1);
        let refused = answers(run.events());
        let is_named = |error: &Error| error.is("invalid_request") && error.to_string().contains(&format!("leave out `{}`", name));
        assert!(matches!(&refused[..], [(1, Err(error))] if is_named(error)), "{}: {:?}", name, refused);
    }
    assert!(run.sent().is_empty());
}

#[test]
fn usual_replies_are_read_as_others_are() {
    for (line, is_one) in [
        (r#""ok":true,"revision":6,"matched":1,"changed":1}"#, true),
        (r#""ok":true,"revision":6,"matched":1,"changed":1,"result":{"a":[1]}}"#, true),
        (r#" "ok" : true , "revision":6,"matched":1,"changed":1 } "#, true),
        (r#""ok":true,"revision":06}"#, false),
        (r#""ok":true,"revision":}"#, false),
        (r#""ok":true,"revision":6,"changed":}"#, false),
        (r#""ok":true,"revision":9223372036854775808}"#, false),
    ] {
        let mut run = Run::new();
        run.session.request(&increment(), 1);
        let line = format!(r#"{{"id":{},{}"#, run.sent()[0]["id"], line);
        let result = run.session.received(format!("{}\n", line).as_bytes());
        assert_eq!(result.is_ok(), is_one, "{}", line);
        if is_one {
            let answered = answers(run.events());
            assert!(matches!(&answered[..], [(1, Ok(reply))] if (reply.revision, reply.matched, reply.changed) == (6, 1, 1)));
        }
    }
}

#[test]
fn bytes_may_be_cut_anywhere() {
    let text = "{\"event\":\"change\",\"sub\":1,\"from\":5,\"revision\":6,\"changes\":{\"counter/a\":{\"n\":2}}}\r\n\n\
                {\"event\":\"change\",\"sub\":1,\"from\":6,\"revision\":7,\"states\":{\"counter/é\":{\"t\":\"🜂\"}}}\n";
    for at in 0..=text.len() {
        let mut run = Run::new();
        let id = run.mirror();
        run.session.received(&text.as_bytes()[..at]).expect("the protocol");
        run.session.received(&text.as_bytes()[at..]).expect("the protocol");
        let states = run.session.states(id).expect("a mirror");
        assert_eq!(states["counter/a"]["n"], Value::Int(2));
        assert_eq!(states["counter/é"]["t"], Value::from("🜂"));
        assert_eq!(run.session.revision(id), 7);
    }
}

#[test]
fn states_that_were_given_never_change() {
    let mut run = Run::new();
    let id = run.mirror();
    let before = run.session.states(id).expect("a mirror")["counter/a"].clone();
    let events = run.hear(r#"{"event":"change","sub":1,"from":5,"revision":6,"changes":{"counter/a":{"n":2}}}"#);
    assert_eq!(before["n"], Value::Int(1));
    let changed: Vec<&Change> = events.iter().filter_map(|event| if let Event::Changed(_, change) = event { Some(change) } else { None }).collect();
    assert_eq!(changed[0].states["counter/a"]["n"], Value::Int(2));
}

#[test]
fn what_is_not_the_protocol_ends_the_connection() {
    for line in [
        "x", "[1]", "null", "{\"id\":77,\"ok\":true}", "{\"id\":77,\"ok\":true,\"revision\":1}", "{\"ok\":true}", "{\"id\":\"a\",\"ok\":false}",
        "{\"event\":\"change\",\"sub\":1}", "{\"event\":\"change\",\"sub\":1,\"from\":4,\"revision\":6}",
        "{\"event\":\"change\",\"sub\":1,\"revision\":6}", "{\"event\":\"change\",\"sub\":1,\"from\":5,\"revision\":6,\"changes\":[]}", "\u{0}",
    ] {
        let mut run = Run::new();
        let id = run.mirror();
        let result = run.session.received(format!("{}\n", line).as_bytes());
        assert!(matches!(result, Err(error) if error.is("closed")), "{}", line);
        assert_eq!(run.session.revision(id), 5);
    }
    let mut run = Run::new();
    assert!(run.session.received(&[b'"', 0xff, b'\n']).is_err());
    let mut run = Run::new();
    assert!((0..65).any(|_| run.session.received(&vec![b'x'; 1 << 20]).is_err()));
}

/// Random bytes, and lines with random changes in them: it takes them or refuses them, and what it shows stays JSON.
#[test]
fn any_bytes_may_come() {
    let seeds = [
        "{\"event\":\"change\",\"sub\":1,\"from\":5,\"revision\":6,\"changes\":{\"counter/a\":{\"n\":null}},\"dropped\":[\"b\"]}\n",
        "{\"id\":3,\"ok\":false,\"error\":{\"code\":\"rejected\",\"message\":\"\\u00e9\"}}\n{\"event\":\"goodbye\"}\n",
        "{\"event\":\"change\",\"sub\":1,\"from\":0,\"reset\":true,\"revision\":6,\"more\":true,\"states\":{\"a\":[{}]}}\n",
    ];
    let mut state: u64 = 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..20_000 {
        let mut run = Run::new();
        let id = run.mirror();
        run.session.request(&increment(), 1);
        let mut bytes = seeds[round % seeds.len()].as_bytes().to_vec();
        for _ in 0..1 + random(4) {
            let at = random(bytes.len());
            match random(3) {
                0 => bytes[at] = random(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"{}[]\",:0-e\\n"[random(12)]),
            }
        }
        let _ = run.session.received(&bytes);
        if let Some(states) = run.session.states(id) {
            for state in states.values() {
                assert!(state.to_string().parse::<Value>().is_ok());
            }
        }
        run.session.lost("it was cut");
        run.session.end(None);
        assert_eq!(answers(run.events()).iter().filter(|answer| answer.0 == 1).count(), 1, "round {}", round);
    }
}
