import BusJSON

extension DeltaBuilder {
    /// More writes than this are sorted in a better way.
    private static let sortedByHand = 16

    /// Appends the entries for a few writes, each of which went to another member of the state, as mostly those of an
    /// action and of the computed values do: each write gets its own entry, in the order of the members. False, with
    /// nothing appended, for any others.
    package static func appendMembers(
        _ range: Range<Int>, of undoLog: UndoLog, _ state: UnsafePointer<JSONObject>,
        to entries: borrowing Stack<DeltaEntry>
    ) -> Bool {
        guard range.count <= sortedByHand else { return false }
        return withUnsafeTemporaryAllocation(of: UnsafePointer<UndoLog.Record>.self, capacity: range.count) {
            sorted in
            for index in range {
                let record = undoLog.record(index)
                guard record.pointee.path.count == 1 else { return false }
                var place = index - range.lowerBound
                while place > 0, precedes(record, sorted[place - 1]) {
                    sorted[place] = sorted[place - 1]
                    place -= 1
                }
                if place > 0, !precedes(sorted[place - 1], record) { return false }
                sorted[place] = record
            }
            for record in sorted { appendOnly(record, state, entries) }
            return true
        }
    }

    @inline(__always)
    private static func precedes(
        _ left: UnsafePointer<UndoLog.Record>, _ right: UnsafePointer<UndoLog.Record>
    ) -> Bool {
        UTF8Order.precedes(left.pointee.path[0], right.pointee.path[0])
    }
}
