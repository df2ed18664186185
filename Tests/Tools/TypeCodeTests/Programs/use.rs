//! Uses printed Rust as a program of its own does: dispatches, and prints the states that it mirrors.

mod awkward;
mod counter;
mod door;
mod everything;
mod presence;
mod thermostat;
mod todo;
mod value;

use fluxbus::{object, FromValue, Request, Value};
use std::collections::BTreeMap;

fn list(elements: &[&str]) -> Vec<Value> {
    elements.iter().map(|element| Value::from(*element)).collect()
}

fn requests() -> Vec<Request> {
    let configure = everything::Configure {
        note: Some(None),
        extra: Some(Value::Array(vec![Value::Int(1)])),
        names: Some(vec!["a".to_string()]),
        ages: Some(BTreeMap::from([("a b".to_string(), 1)])),
        level: Some(6),
        limit: Some(Some(1.5)),
        step: Some(2),
        ..everything::Configure::new(everything::ConfigureDoor::new(true), None, everything::Mode::ByHand)
    };
    let import = awkward::Import {
        my_name: Some("n".to_string()),
        class: Some(Value::Null),
        quo_te: Some(list(&["q"])),
        self_: Some(2.5),
        func: Some("f".to_string()),
        default: Some(BTreeMap::from([("a".to_string(), Value::Int(1))])),
        value1: Some(true),
        payload: Some(Value::Array(vec![Value::Int(1)])),
        ..awkward::Import::new(5)
    };
    let all = "main";
    vec![
        counter::Increment { by: Some(5) }.request(all),
        counter::Increment::new().request(all),
        thermostat::SetTarget::new(21.5).request(all),
        thermostat::Boost::new().request(all),
        thermostat::SetMode::new("manual".to_string()).request(all),
        door::Open::new().request(all),
        todo::Add::new("1".to_string(), "Milk".to_string()).request(all),
        todo::Toggle::new("1".to_string()).request(all),
        presence::Enter::new("anna".to_string()).request(all),
        value::Set::new(object! { "a": vec![Value::Null, Value::Double(1.5), Value::from("x")] }).request(all),
        import.request(all),
        awkward::Import::new(6).request(all),
        awkward::SwitchOn::new().request(all),
        awkward::SwitchOn3::new().request(all),
        awkward::SwitchOn2::new(2).request(all),
        awkward::List::new().request(all),
        awkward::Str::new().request(all),
        awkward::Init::new().request(all),
        awkward::Default_::new().request(all),
        awkward::Dispatch::new().request(all),
        awkward::Encode::new().request(all),
        awkward::Self_::new().request(all),
        awkward::Match::new().request(all),
        configure.request(all),
    ]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bus = fluxbus::connect("")?;
    for request in requests() {
        bus.ask(&request)?;
    }
    bus.batch([everything::Quiet { for_: Some(1) }.step("main")])?;
    counter::Increment { by: Some(0) }.dispatch(&bus, "")?;

    let counters = counter::Counter::mirror(&bus)?;
    println!("{} {}", counters.states()?.len(), counters.states()?["main"].count);
    let all = everything::Everything::mirror(&bus)?.get("main").expect("a store")?;
    let hall = &all.rooms["hall"];
    println!("{} {} {} {}", all.count + 1, all.mode == everything::Mode::ByHand, hall.size, all.measured.is_none());
    let odd = awkward::AwkWard1::mirror(&bus)?.get("main").expect("a store")?;
    let again = awkward::AwkWard1::from_value(&Value::from(odd.clone()))?;
    println!("{} {} {} {}", odd == again, odd.größe, odd.日本, odd.import);
    // What is not as its type says is told, and is no panic.
    let wrong = everything::Mode::from_value(&Value::from("nowhere"));
    println!("{}", wrong.expect_err("no such mode"));
    Ok(())
}
