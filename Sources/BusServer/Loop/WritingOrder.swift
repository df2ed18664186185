import BusEngine

/// In what order connections are written to at the end of a turn.
///
/// Who is sent little comes first, in the order of coming; those that others come before stand in a line of their own. Who is
/// not reached in one turn keeps its place for the next.
package struct WritingOrder {
    private var first = Line()
    private var later = Line()
    /// Who stands in the second line, by number: nobody stands there twice.
    private var isPutOff: [Bool] = []

    package init() {}

    package var isEmpty: Bool { first.isEmpty && later.isEmpty }

    /// Something is to be written to a connection, or it is to be looked at.
    package mutating func add(_ id: ConnectionID) { first.append(id) }

    /// The next one that others don't come before; who does not belong here is put off.
    package mutating func takeFirst(unless comesLater: (ConnectionID) -> Bool) -> ConnectionID? {
        while let id = first.takeFirst() {
            guard comesLater(id) else { return id }
            putOff(id)
        }
        return nil
    }

    /// The next one of those that were put off.
    package mutating func takeLater() -> ConnectionID? {
        guard let id = later.takeFirst() else { return nil }
        isPutOff[id] = false
        return id
    }

    private mutating func putOff(_ id: ConnectionID) {
        while isPutOff.count <= id { isPutOff.append(false) }
        if isPutOff[id] { return }
        isPutOff[id] = true
        later.append(id)
    }

    /// First come, first served.
    private struct Line {
        private var ids: [ConnectionID] = []
        private var head = 0

        var isEmpty: Bool { head == ids.count }

        mutating func append(_ id: ConnectionID) { ids.append(id) }

        mutating func takeFirst() -> ConnectionID? {
            guard head < ids.count else { return nil }
            let id = ids[head]
            head += 1
            if head == ids.count {
                ids.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024, head * 2 > ids.count {
                ids.removeFirst(head)
                head = 0
            }
            return id
        }
    }
}
