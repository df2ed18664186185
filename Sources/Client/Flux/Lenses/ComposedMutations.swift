/// Rules composed of reducers, each for one sub-state.
///
/// ```swift
/// struct Mutations: ComposedMutations {
///     let mutators: [Mutator<App>] = [
///         Mutator(\.count) { action, count in … },
///         Mutator(\.settings.theme) { action, theme in … },
///     ]
/// }
/// let store = try Store<App>(state: App())
/// ```
///
/// A reducer that has to look beyond its part takes the whole state as a third argument, which it can only read.
///
/// An action goes through all reducers in the order listed; each either handles or ignores it, and an action that all
/// of them ignore fails with ``FluxError/unhandledAction(action:)``. A sub-state has at most one reducer: two reducers for
/// the same sub-state, or for one inside another, are an error when the store is made. A part without a reducer never changes.
public protocol ComposedMutations<State>: Mutations {
    /// The state as a whole; it follows from the type of ``mutators``.
    associatedtype State

    /// The reducers. A stored property is made once per store; a computed one for each action.
    var mutators: [Mutator<State>] { get }
}

extension ComposedMutations {
    public func commit(_ action: State.Action, to state: inout State) throws {
        var isHandled = false
        var absence: FluxError?
        for mutator in mutators {
            do {
                if try mutator.reduce(action, &state) == .handled { isHandled = true }
            } catch let absent as AbsentPart {
                absence = absence ?? absent.error
            }
        }
        if !isHandled { throw absence ?? FluxError.unhandledAction(action: String(describing: action)) }
    }

    /// Throws if two reducers are for the same sub-state, or for one inside another. A store calls it when it is made.
    public func check() throws(FluxError) {
        let mutators = mutators
        for (place, mutator) in mutators.enumerated() {
            try mutator.checkInside()
            for other in mutators[..<place] {
                switch other.path.relation(to: mutator.path) {
                case .apart: break
                case .same: throw .duplicateReducer(first: other.name, second: mutator.name)
                case .contains: throw .nestedReducer(outer: other.name, inner: mutator.name)
                case .inside: throw .nestedReducer(outer: mutator.name, inner: other.name)
                }
            }
        }
    }
}

extension Store where State.Mutations: ComposedMutations {
    /// A store whose rules are composed of reducers. Throws an error that names both if two of them are for the same sub-state,
    /// or for one inside another.
    public convenience init(
        state: State, mutations: State.Mutations = .init(), executor: FluxExecutor = .immediate,
        skipsEqualStates: Bool = true, middleware: [Middleware<State>] = [],
        initialAction: State.Action? = nil, clock: StoreClock = .continuous
    ) throws(FluxError) {
        try mutations.check()
        self.init(
            core: StoreCore(
                state: state, mutations: mutations, executor: executor, skipsEqualStates: skipsEqualStates,
                middleware: middleware, clock: clock),
            initialAction: initialAction)
    }
}
