import Observation

/// The state of a store for user interfaces, which SwiftUI and whatever else uses Observation follow member by member: who has
/// read a member is notified when that member changes, and of nothing else.
///
/// ```swift
/// let counter = ObservableState(store)
/// counter.value                   // a member of the state
/// counter.isEven                  // a member of Computed<Counter>
/// counter.actions.increment()
/// ```
///
/// It belongs to the main actor. What is committed there is shown at once, unless earlier work still waits for the main thread
/// or another thread is notifying the observers of an earlier commit; then, like what is committed elsewhere, it comes through
/// the main queue. All comes in the order of the commits. What is dispatched there to an optimistic store on a bus is shown at
/// once, too.
///
/// Members are compared if they are `Equatable`; others count as changed by every commit. A member that was read has to be there
/// in later states, too: read an element of a collection as `list.items[3]`, which reads `items`, and not by a key path through
/// the index.
///
/// It keeps its store, and follows it as long as it is held. For the connection of a store on a bus there is an ``ObservableValue`` of
/// its status.
@MainActor
@dynamicMemberLookup
public final class ObservableState<State: Flux.State>: Observable {
    /// What somebody has read since it was last said to have changed.
    private struct Member {
        /// Whether it is different in two states.
        let differs: (State, State) -> Bool
        let willChange: () -> Void
        let didChange: () -> Void
    }

    /// Dispatches to the store.
    public let actions: Actions<State>
    private let owner: any StateStore<State>
    private let registrar = ObservationRegistrar()
    private let scope = DisposableScope()
    private var shown: State
    private var members: [AnyKeyPath: Member] = [:]

    /// The state of a ``Store``, of a part of one, or of a store on a bus.
    ///
    /// ```swift
    /// let kitchen = ObservableState(try await bus.store("kitchen", of: Counter.self))
    /// kitchen.count                // who reads it is notified when it changes, by whichever process
    /// ```
    public init(_ store: some StateStore<State>) {
        shown = store.state
        actions = store.actions
        owner = store
        store.constant.follow(until: scope) { [weak self] in self?.show($0) }
    }

    /// The whole state: who reads it is notified of every change.
    public var state: State {
        read(\.self, as: \.state)
        return shown
    }

    /// The whole state with what is derived from it: who reads it is notified of every change.
    public var computed: Computed<State> {
        read(\.self, as: \.computed)
        return Computed(shown)
    }

    /// A member of the state, or of ``Computed``.
    public subscript<Value>(dynamicMember member: KeyPath<Computed<State>, Value>) -> Value {
        read(member, as: \.[dynamicMember: member])
        return Computed(shown)[keyPath: member]
    }

    /// Somebody reads a member, who wants to know when it changes if Observation tracks what is read now.
    private func read<Value, Shown>(
        _ member: KeyPath<Computed<State>, Value>, as name: KeyPath<ObservableState, Shown>
    ) {
        registrar.access(self, keyPath: name)
        guard members[name] == nil else { return }
        members[name] = Member(
            differs: { !Equality.areEqual(Computed($0)[keyPath: member], Computed($1)[keyPath: member]) },
            willChange: { [unowned self] in registrar.willSet(self, keyPath: name) },
            didChange: { [unowned self] in registrar.didSet(self, keyPath: name) })
    }

    private func show(_ state: State) {
        let changed = members.filter { $0.value.differs(shown, state) }
        // Who is notified reads again, or does not want to know any more.
        for name in changed.keys { members[name] = nil }
        for member in changed.values { member.willChange() }
        shown = state
        for member in changed.values { member.didChange() }
    }
}

/// A value that user interfaces observe through Observation, as SwiftUI does: a ``Variable``, or a value derived from a
/// store with a parameter.
///
/// ```swift
/// let isHigh = ObservableValue(store.select { $0.exceeds(limit) })
/// isHigh.value
/// ```
///
/// It belongs to the main actor and follows its source as long as it is held. It does not keep a store.
@MainActor
public final class ObservableValue<Value: Sendable>: Observable {
    private let registrar = ObservationRegistrar()
    private let scope = DisposableScope()
    private var shown: Value

    /// The value of `constant`. An equal one is no change, if it can be compared.
    public init(_ constant: Constant<Value>) {
        shown = constant.value
        constant.follow(until: scope) { [weak self] in self?.show($0) }
    }

    /// The value: who reads it is notified when it changes.
    public var value: Value {
        registrar.access(self, keyPath: \.value)
        return shown
    }

    private func show(_ value: Value) {
        if Equality.areEqual(shown, value) { return }
        registrar.withMutation(of: self, keyPath: \.value) { shown = value }
    }
}
