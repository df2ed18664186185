import Flux
import Synchronization

/// Dispatches to a store of this process that is observed, for benchmarks and for tests that count what they cost.
///
/// The module is one of many that use `Flux`: what is measured here is what programs get.
package final class FluxLoad {
    /// How the store is observed.
    package enum Watching: String, CaseIterable, Sendable {
        /// By objects that subscribe to the state.
        case subscribers
        /// By objects that subscribe to a member of it.
        case members
        /// By closures.
        case observers
    }

    /// How an action reaches the store.
    package enum Way: CaseIterable, Sendable {
        /// `store.dispatch(…)`
        case store
        /// `store.actions.dispatch(…)`
        case actions
        /// `Store<Tally>.actions.dispatch(…)`
        case all
    }

    private let store = Store<Tally>(state: Tally())
    private let readers: [StateReader]
    private let memberReaders: [MemberReader]

    /// A store that so many observers watch in one way.
    package init(_ watching: Watching = .subscribers, observers: Int) {
        readers = (0..<(watching == .members ? 0 : observers)).map { _ in StateReader() }
        memberReaders = (0..<(watching == .members ? observers : 0)).map { _ in MemberReader() }
        for reader in readers {
            if watching == .observers {
                store.observe { reader.newState($0) }
            } else {
                store.subscribe(reader)
            }
        }
        for reader in memberReaders { store.subscribe(reader) { $0.select(\.value) } }
    }

    /// Changes the state so many times.
    package func dispatch(_ count: Int, _ way: Way = .store) {
        switch way {
        case .store: for _ in 0..<count { store.dispatch(.add(1)) }
        case .actions: for _ in 0..<count { store.actions.dispatch(.add(1)) }
        case .all: for _ in 0..<count { Store<Tally>.actions.dispatch(.add(1)) }
        }
    }

    /// The number of changes so far.
    package var value: Int { store.state.value }

    /// Whether every observer has seen every change: each adds up what it sees.
    package var isComplete: Bool {
        let sum = value * (value + 1) / 2
        return (readers.map(\.sum) + memberReaders.map(\.sum)).allSatisfy { $0 == sum }
    }
}

/// Adds up the values that it is told.
final class StateReader: StoreSubscriber {
    private let total = Atomic<Int>(0)

    var sum: Int { total.load(ordering: .relaxed) }

    func newState(_ state: Tally) { total.wrappingAdd(state.value, ordering: .relaxed) }
}

/// The same for a member of the state.
final class MemberReader: StoreSubscriber {
    private let total = Atomic<Int>(0)

    var sum: Int { total.load(ordering: .relaxed) }

    func newState(_ value: Int) { total.wrappingAdd(value, ordering: .relaxed) }
}

/// The smallest state there is: what is measured is the store.
package struct Tally: State, Equatable {
    package fileprivate(set) var value = 0

    package init() {}

    package enum Action: Sendable { case add(Int), reset }

    package struct Mutations: Flux.Mutations {
        package init() {}

        package func commit(_ action: Action, to state: inout Tally) {
            switch action {
            case .add(let amount): state.value &+= amount
            case .reset: state.value = 0
            }
        }
    }
}
