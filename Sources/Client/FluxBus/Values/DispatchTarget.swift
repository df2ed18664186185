/// Whom an action is for.
public enum DispatchTarget: Hashable, Sendable {
    /// One store, by its address: `counter/kitchen`.
    case store(String)
    /// Every store of a type.
    case type(String)
    /// Every store of every type that declares the action.
    case everything
}
