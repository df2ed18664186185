//! JSON as the bus has it: exact both ways, and refused where it is none.

use fluxbus::{object, FromValue, Request, Value};
use std::collections::BTreeMap;

fn value(text: &str) -> Value {
    text.parse().unwrap_or_else(|error| panic!("{}: {}", text, error))
}

#[test]
fn numbers_stay_what_they_were() {
    for text in [
        "0", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "1.0", "-0.0",
        "0.30000000000000004", "1.2345678901234568e25", "-0.12345678901234566", "1e-7",
    ] {
        assert_eq!(value(text).to_string(), text);
    }
    assert_eq!(value("1E+2"), Value::Double(100.0));
    assert_ne!(value("1"), value("1.0"));
}

#[test]
fn texts_stay_what_they_were() {
    let text = r#"{"a":"日本 🜂 \"\\/ é","b":["\u0001\u001f"],"c":{}}"#;
    assert_eq!(value(text).to_string(), text);
    assert_eq!(value(r#""\ud83d\ude00\b\f\n\r\t\/""#), Value::from("😀\u{8}\u{c}\n\r\t/"));
}

#[test]
fn what_is_no_json_is_refused() {
    for text in [
        "", " ", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "-", "1.", ".5", "1e", "+1", "nul", "truee", "\"", "\"\\x\"",
        "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "1 2", "9223372036854775808", "1e999", "NaN", "[1}", "\u{feff}1",
    ] {
        assert!(text.parse::<Value>().is_err(), "{}", text);
    }
    let deep = "[".repeat(100_000);
    assert!(deep.parse::<Value>().is_err());
    assert!(("[".repeat(200) + &"]".repeat(200)).parse::<Value>().is_ok());
}

/// The examples of RFC 7396.
#[test]
fn merge_patch() {
    for (state, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"a":1,"e":null}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        let mut merged = value(state);
        merged.merge(value(patch));
        assert_eq!(merged.to_string(), result, "{} with {}", state, patch);
    }
}

#[test]
fn values_become_types_or_say_what_they_are() {
    let ages: BTreeMap<String, Vec<Option<i64>>> = FromValue::from_value(&value(r#"{"a":[1,null]}"#)).unwrap();
    assert_eq!(ages["a"], [Some(1), None]);
    assert_eq!(f64::from_value(&value("1")), Ok(1.0));
    let error = i64::from_value(&value("1.5")).unwrap_err();
    assert!(error.is("mismatch") && error.message.contains("`1.5` is no integer"), "{}", error);
}

#[test]
fn objects_are_written_as_they_are() {
    let who = "anna".to_string();
    let payload = object! { "who": who, "tags": vec!["a", "b"], "none": None::<i64>, "more": object! { "n": 1.0 } };
    assert_eq!(payload.to_string(), r#"{"more":{"n":1.0},"none":null,"tags":["a","b"],"who":"anna"}"#);
    assert_eq!(payload["more"]["n"].as_double(), Some(1.0));
    assert!(payload["absent"]["deeper"].is_null());
    let _ = Request::dispatch("counter", "reset", ());
}
