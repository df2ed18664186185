import Flux
import Synchronization

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
