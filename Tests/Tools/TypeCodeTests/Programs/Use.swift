// Uses printed Swift code as a program of its own does. Each line of output is one state or one action, as JSON.

import FluxBus

func show(_ value: some Encodable) throws { print(try JSON(encoding: value).encoded) }

/// An action as it comes back from its form on the wire.
func show<State: SharedState>(_ action: State.Action, of type: State.Type) throws
where State.Action: Equatable {
    let json = try JSON(encoding: action)
    let again: State.Action = try json.decoded()
    guard again == action else { fatalError("\(again) was \(action)") }
    print(json.encoded)
}

let bus = try await Bus.connect()

let counter = try await bus.store("main", of: Counter.self, isOptimistic: true)
try await counter.dispatch(.increment(by: 5))
try await counter.dispatch(.increment())

let thermostat = try await bus.store("main", of: Thermostat.self)
try await thermostat.dispatch(.setTarget(celsius: 21.5))
thermostat.actions.boost()
try await thermostat.dispatch(.setMode(mode: "manual"))

let door = try await bus.store("main", of: Door.self)
try await door.dispatch(.open)

let todo = try await bus.store("main", of: Todo.self)
try await todo.dispatch(.add(id: "1", title: "Milk"))
try await todo.dispatch(.toggle(id: "1"))

let presence = try await bus.store("main", of: Presence.self)
try await presence.dispatch(.enter(name: "anna"))

let value = try await bus.store("main", of: Value.self)
try await value.dispatch(.set(value: ["a": [.null, 1.5, "x"]]))

let awkward = try await bus.store("main", of: AwkWard1.self)
try await awkward.dispatch(
    .import(
        class: .null, default: ["a": 1], func: "f", in: 5, myName: "n", payload: [1], quoTe: ["q"],
        self_: 2.5,
        value1: true))
// Those who do not wait have a vocabulary.
awkward.actions.import(in: 6)
awkward.actions.switchOn2()
awkward.actions.switch_on()
awkward.actions.switchOn(by: 2)
for action: AwkWard1.Action in [.list, .str, .`init_`, .default, .dispatch, .encode, .self_, .match] {
    awkward.actions.dispatch(action)
}
try await bus.sync()

try show(counter.state)
try show(thermostat.state)
try show(awkward.state)

// A first state of one's own; what is computed is read, not written.
var first = Counter()
first.count = 41
let hall = try await bus.store("hall", of: Counter.self, creating: first)
try show(hall.state.count)
try show(hall.state.isEven)

// What no bus is needed for.
try show(Everything())
var full = Everything()
full.mode = .byHand
full.rooms["attic"] = .init(both: .some(nil), door: .init(open: true), note: "n", self_: false, size: 1.5)
try show(full)
guard try JSON(encoding: full).decoded(as: Everything.self) == full else { fatalError("A state is another.") }
try show(
    .configure(
        door: .init(open: true), extra: .null, measured: nil, mode: .default, names: ["a"], note: .some(nil)),
    of: Everything.self)
try show(
    .configure(door: .init(open: false), level: 1, limit: 2, measured: 3, mode: .unnamed), of: Everything.self
)
try show(.quiet(), of: Everything.self)
try show(.quiet(for: 1), of: Everything.self)
try show(.clear, of: Everything.self)

let everything = try await bus.store("main", of: Everything.self)
try await everything.dispatch(
    .configure(
        ages: ["a b": 1], door: .init(open: true), extra: [1], level: 6, limit: 1.5, measured: nil,
        mode: .byHand,
        names: ["a"], note: .some(nil), step: 2))
try await everything.dispatch(.quiet(for: 1))
guard everything.state.count == 6 else { fatalError("The count is \(everything.state.count).") }
await bus.close()
