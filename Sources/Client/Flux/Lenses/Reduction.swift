/// What a reducer says of an action.
public enum Reduction: Sendable {
    /// The action was its business, whether or not anything changed.
    case handled
    /// The action is somebody else's.
    case ignored
}
