import BusJSON

/// One write of an action, the same for every state that it is committed to.
package struct PrecomputedWrite {
    let kind: WriteKind
    /// A path that belongs to a type, which outlives the commits that use it.
    let path: UnsafePointer<StatePath.Parts>
    /// Null for kinds that take none.
    package var value: JSON

    package init(_ kind: WriteKind, at path: StatePath, value: JSON = .null) {
        precondition(path.parts.pointee.isOfType, "Only a type's own writes can be planned.")
        self.kind = kind
        self.path = path.parts
        self.value = value
    }
}

/// The kinds of writes, in the order in which those of one action run.
package enum WriteKind: String, CaseIterable, Sendable {
    case set, unset, increment, toggle, append, remove, merge

    /// `unset` and `toggle` list paths; the others give each path a value.
    package var takesValue: Bool { self != .unset && self != .toggle }
}
