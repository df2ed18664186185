import Flux

/// Remembers in its state every action that was committed, so that the order can be compared. Each suite that
/// dispatches globally uses a type of its own: `Mark` keeps them apart.
struct Ledger<Mark: Sendable>: State {
    struct Item: Sendable, Equatable, Hashable {
        var thread: Int
        var number: Int
        var isGlobal = false
    }

    fileprivate(set) var items: [Item] = []

    enum Action: Sendable { case note(Item), call(@Sendable () -> Void) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Ledger) {
            switch action {
            case .note(let item): state.items.append(item)
            case .call(let misdeed): misdeed()
            }
        }
    }
}
