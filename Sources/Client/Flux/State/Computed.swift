/// A read-only view of a state: its members, and values that extensions derive from them.
///
/// ```swift
/// extension Computed<Counter> {
///     var isEven: Bool { state.count.isMultiple(of: 2) }
///     func exceeds(_ limit: Int) -> Bool { state.count > limit }
/// }
///
/// store.computed.isEven
/// store.computed.count      // members of the state itself, too
/// ```
///
/// It is a snapshot: all that is read from one value belongs to one moment.
@dynamicMemberLookup
public struct Computed<State: Flux.State>: Sendable {
    public let state: State

    @inlinable
    public init(_ state: State) { self.state = state }

    @inlinable
    public subscript<Value>(dynamicMember member: KeyPath<State, Value>) -> Value { state[keyPath: member] }
}
