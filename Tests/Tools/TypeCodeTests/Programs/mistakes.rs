//! Mistakes that the compiler finds: each line that says so, and no other.

mod counter;
mod door;
mod everything;
mod thermostat;

fn main() {
    let _ = counter::Increment { by: Some("5") }; // wrong
    let _ = counter::Increment { bye: Some(5) }; // wrong
    let _ = thermostat::SetTarget::new(); // wrong
    let _ = door::Opens::new(); // wrong
    let _ = everything::Mode::Nowhere; // wrong
    let _ = everything::Configure::new(everything::ConfigureDoor::new(true), None); // wrong
    let _ = everything::Configure::new(everything::ConfigureDoor::new(1), None, everything::Mode::Auto); // wrong
    let _: i64 = everything::Spot::new(everything::ModesItem::Auto, 0.5).x; // wrong
    let _ = everything::Configure::new(everything::ConfigureDoor::new(true), None, everything::Mode::Auto);
}

fn sum(state: everything::Everything) -> Option<String> {
    state.sum // wrong
}
