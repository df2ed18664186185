/// The kinds of writes, in the order in which those of one action run.
package enum WriteKind: String, CaseIterable, Sendable {
    case set, unset, increment, toggle, append, remove, merge

    /// `unset` and `toggle` list paths; the others give each path a value.
    package var takesValue: Bool { self != .unset && self != .toggle }
}
