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
