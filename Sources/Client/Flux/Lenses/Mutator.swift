/// A reducer for one sub-state: it says where the sub-state is, and what actions do to it. See ``ComposedMutations``.
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

extension Mutator {
    /// A reducer for each element of a collection: `id` says which one an action is for, nil if for none.
    ///
    /// ```swift
    /// Mutator(each: Lens(\.todos), id: \.todoID) { action, todo in
    ///     guard case .toggle = action else { return .ignored }
    ///     todo.isDone.toggle()
    ///     return .handled
    /// }
    /// ```
    ///
    /// An action for an element that is not there fails with ``FluxError/missingElement(lens:)``.
    public init<Items: MutableCollection & Sendable>(
        each lens: Lens<State, Items>, name: String? = nil,
        id: @escaping @Sendable (State.Action) -> Items.Element.ID?,
        reduce: @escaping @Sendable (State.Action, inout Items.Element) throws -> Reduction
    ) where Items.Element: Identifiable & Sendable, Items.Element.ID: Sendable {
        self.init(name: name, path: lens.path.stepping(.each, size: MemoryLayout<Items.Element>.size)) {
            action, state in
            guard let id = id(action) else { return .ignored }
            return try lens.element(id: id).update(&state) { try reduce(action, &$0) }
        }
    }

    /// A reducer for each element of a collection: `index` says which one an action is for, nil if for none.
    public init<Items: MutableCollection & Sendable>(
        each lens: Lens<State, Items>, name: String? = nil,
        index: @escaping @Sendable (State.Action) -> Int?,
        reduce: @escaping @Sendable (State.Action, inout Items.Element) throws -> Reduction
    ) where Items.Element: Sendable, Items.Index == Int {
        self.init(name: name, path: lens.path.stepping(.each, size: MemoryLayout<Items.Element>.size)) {
            action, state in
            guard let index = index(action) else { return .ignored }
            return try lens.element(at: index).update(&state) { try reduce(action, &$0) }
        }
    }

    /// A reducer for each value of a dictionary: `key` says which one an action is for, nil if for none. A value that
    /// is not there is nil; setting one adds it, setting nil removes it.
    public init<Key: Hashable & Sendable, Value: Sendable>(
        each lens: Lens<State, [Key: Value]>, name: String? = nil,
        key: @escaping @Sendable (State.Action) -> Key?,
        reduce: @escaping @Sendable (State.Action, inout Value?) throws -> Reduction
    ) {
        self.init(name: name, path: lens.path.stepping(.each, size: MemoryLayout<Value?>.size)) {
            action, state in
            guard let key = key(action) else { return .ignored }
            return try lens.value(forKey: key).update(&state) { try reduce(action, &$0) }
        }
    }
}

/// Reducers that may read the whole state while they change their part of it.
extension Mutator {
    /// A reducer for the part that `lens` sees, which may read everything else.
    ///
    /// ```swift
    /// Mutator(\.detail) { action, detail, whole in
    ///     guard case .open(let id) = action else { return .ignored }
    ///     detail = whole.items.first { $0.id == id }
    ///     return .handled
    /// }
    /// ```
    ///
    /// `whole` is the state as the reducers before this one have left it. The reducer changes no part but its own. Since
    /// `whole` shares storage with the part, a collection that the reducer changes is copied once.
    public init<Part>(
        _ lens: Lens<State, Part>, name: String? = nil,
        reduce:
            @escaping @Sendable (_ action: State.Action, _ part: inout Part, _ whole: State) throws ->
            Reduction
    ) {
        let path = lens.path
        self.init(name: name, path: path) { action, state in
            let whole = state
            return try Mutator(lens, name: name) { try reduce($0, &$1, whole) }.reduce(action, &state)
        }
    }

    /// A reducer for the part at `keyPath`, which may read everything else.
    public init<Part: Sendable>(
        _ keyPath: WritableKeyPath<State, Part> & Sendable, name: String? = nil,
        reduce:
            @escaping @Sendable (_ action: State.Action, _ part: inout Part, _ whole: State) throws ->
            Reduction
    ) {
        self.init(Lens(keyPath), name: name, reduce: reduce)
    }
}
