//! One counter in as many processes as you like: each line of input is a number to add; every process prints the count
//! whenever any of them changes it.

use fluxbus::{object, Error, Mirror, Request};
use std::io::BufRead;

const ADDRESS: &str = "counter/example";

fn show(counters: &Mirror) {
    if let Some(state) = counters.get(ADDRESS) {
        println!("{}", state["count"]);
    }
}

fn main() -> Result<(), Error> {
    let bus = fluxbus::connect("")?;
    bus.ask(&Request::create(ADDRESS).if_missing())?;
    let counters = bus.mirror(ADDRESS)?;
    let changes = counters.changes();
    show(&counters);
    let printer = std::thread::spawn(move || changes.for_each(|_| show(&counters)));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match line.parse::<i64>() {
            Ok(by) => bus.dispatch(ADDRESS, "increment", object! { "by": by })?,
            Err(_) => bus.dispatch(ADDRESS, "reset", ())?,
        };
    }
    bus.close(std::time::Duration::from_secs(5));
    printer.join().expect("the printer");
    Ok(())
}
