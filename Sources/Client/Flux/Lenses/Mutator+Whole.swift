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
    /// `whole` is the state as the reducers before this one have left it. It changes no other part: exactly this part is its
    /// own. While it is kept, a collection that the reducer changes is copied once.
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
