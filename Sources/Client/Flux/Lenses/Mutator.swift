/// A reducer for one sub-state: where the sub-state is, and what actions do to it. See ``ComposedMutations``.
///
/// ```swift
/// Mutator(\.count) { action, count in
///     guard case .increment(let amount) = action else { return .ignored }
///     count += amount
///     return .handled
/// }
/// ```
public struct Mutator<State: Flux.State>: Sendable {
    /// The sub-state's name in errors.
    public let name: String
    let path: LensPath
    let reduce: @Sendable (State.Action, inout State) throws -> Reduction
    /// Checks the rules inside the sub-state, if they are composed themselves.
    let checkInside: @Sendable () throws(FluxError) -> Void

    init(
        name: String?, path: LensPath, checkInside: @escaping @Sendable () throws(FluxError) -> Void = {},
        reduce: @escaping @Sendable (State.Action, inout State) throws -> Reduction
    ) {
        self.name = name ?? path.description
        self.path = path
        self.checkInside = checkInside
        self.reduce = reduce
    }

    /// A reducer for the part that `lens` sees. While the part is absent the reducer is not called; an action that no
    /// other reducer handles then fails with ``FluxError/missingElement(lens:)``.
    public init<Part>(
        _ lens: Lens<State, Part>, name: String? = nil,
        reduce: @escaping @Sendable (State.Action, inout Part) throws -> Reduction
    ) {
        self.init(name: name, path: lens.path) { action, state in
            var isReached = false
            do {
                return try lens.update(&state) { part in
                    isReached = true
                    return try reduce(action, &part)
                }
            } catch let error as FluxError where !isReached {
                throw AbsentPart(error: error)
            }
        }
    }

    /// A reducer for the part at `keyPath`.
    public init<Part: Sendable>(
        _ keyPath: WritableKeyPath<State, Part> & Sendable, name: String? = nil,
        reduce: @escaping @Sendable (State.Action, inout Part) throws -> Reduction
    ) {
        self.init(Lens(keyPath), name: name, reduce: reduce)
    }

    /// A state within a state: the part has rules of its own, and `action` says which of the actions are meant for it.
    ///
    /// ```swift
    /// Mutator(\.todos, mutations: Todos.Mutations()) { if case .todos(let action) = $0 { action } else { nil } }
    /// ```
    public init<Part: Flux.State>(
        _ keyPath: WritableKeyPath<State, Part> & Sendable, name: String? = nil,
        mutations: Part.Mutations,
        action: @escaping @Sendable (State.Action) -> Part.Action?
    ) {
        let lens = Lens(keyPath)
        self.init(
            name: name, path: lens.path,
            checkInside: { () throws(FluxError) in
                try (mutations as? any ComposedMutations)?.check()
            }
        ) { whole, state in
            guard let inner = action(whole) else { return .ignored }
            try lens.update(&state) { try mutations.commit(inner, to: &$0) }
            return .handled
        }
    }
}

/// Thrown when a reducer could not be called because its sub-state is absent, so that another reducer
/// may still handle the action.
struct AbsentPart: Error {
    /// The error if no other reducer handles it.
    let error: FluxError
}

/// The answer of a reducer to an action.
public enum Reduction: Sendable {
    /// The action was for this reducer, whether or not anything changed.
    case handled
    /// The action is for another reducer.
    case ignored
}
