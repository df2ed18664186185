import BusJSON

/// The writes of one commit, in order, with the old values: enough to roll them back, and enough to derive what changed
/// without comparing whole states.
///
/// One undo log serves all stores of a commit, one after the other; its driver remembers which range of
/// records belongs to which store.
package final class UndoLog {
    package struct Record {
        /// The parts of a path that lives as long as the record.
        let parts: UnsafePointer<StatePath.Parts>
        /// What stood at the path; the number of elements for an array that was appended to, and null for nothing.
        let old: JSON
        let kind: Kind

        enum Kind { case value, absent, elements }

        package var path: [String] {
            @inline(__always) _read { yield parts.pointee.segments }
        }
        /// What a path of a type is known by, which is written to again and again; nil for any other.
        package var pathOfType: UnsafeRawPointer? { parts.pointee.isOfType ? UnsafeRawPointer(parts) : nil }
        /// The index of the path's first segment at the write; only a guess by now.
        package var hint: Int { parts.pointee.hint }

        package var before: Before {
            switch kind {
            case .value: .value(old)
            case .absent: .absent
            case .elements: .elements(old.int ?? 0)
            }
        }
    }

    /// The value at a record's path before its write.
    package enum Before {
        case value(JSON)
        case absent
        /// The array at the path had this many elements, and more were appended.
        case elements(Int)
    }

    package let records = Stack<Record>(capacity: 64)
    /// The paths of records that nothing else holds.
    private let paths = Stack<StatePath>()

    package init() {}

    @inline(__always) package var count: Int { records.count }

    /// A record in place; valid until the undo log changes.
    @inline(__always)
    package func record(_ index: Int) -> UnsafePointer<Record> {
        precondition(index >= 0 && index < records.count, "There is no such record.")
        return records.elements.baseAddress! + index
    }

    /// Whether all records are of paths of types that a set has.
    package func writesOnly(to paths: PathSet) -> Bool {
        for record in records.elements {
            let parts = record.parts
            if !parts.pointee.isOfType || !paths.contains(UnsafeRawPointer(parts)) { return false }
        }
        return true
    }

    /// Records a write and what stood at its place before.
    @inline(__always)
    func note(_ path: UnsafePointer<StatePath.Parts>, _ old: consuming JSON) {
        records.append(Record(parts: path, old: old, kind: .value))
    }

    /// Records that a member was added.
    @inline(__always)
    func noteAbsence(_ path: UnsafePointer<StatePath.Parts>) {
        records.append(Record(parts: path, old: .null, kind: .absent))
    }

    /// Records that elements are appended to an array of `count`.
    @inline(__always)
    func noteElements(_ path: UnsafePointer<StatePath.Parts>, _ count: Int) {
        records.append(Record(parts: path, old: .int(count), kind: .elements))
    }

    /// Holds a path until everything is forgotten, unless its type does.
    @inline(__always)
    func hold(_ path: StatePath) {
        if !path.parts.pointee.isOfType { paths.append(path) }
    }

    /// Forgets everything; the writes stay.
    @inline(__always)
    package func clear() {
        records.clear { $0.pointer(to: \.old)!.holdsMemory }
        if !paths.isEmpty { paths.clear() }
    }

    /// Releases what an unusually large commit took.
    package func relax() {
        records.relax()
        paths.relax()
    }

    /// Rolls back the writes recorded since `mark`, all of which went into `state`, and forgets them.
    package func undo(to mark: Int, in state: inout JSONObject) {
        undo(mark..<records.count, in: &state)
        records.cut(to: mark)
    }

    /// Rolls back a range of writes, newest first, without forgetting them.
    package func undo(_ range: Range<Int>, in state: inout JSONObject) {
        for index in range.reversed() {
            Self.restore(records[index].before, at: records[index].path[...], in: &state)
        }
    }

    /// Restores the value at `path`.
    package static func restore(_ before: Before, at path: ArraySlice<String>, in object: inout JSONObject) {
        let first = path.first!
        let (index, found) = object.position(of: first)
        if path.count > 1 {
            precondition(found, "The undoLog leads to a member that is not there.")
            object.update(at: index) { restore(before, at: path.dropFirst(), in: &$0) }
            return
        }
        switch before {
        case .absent:
            precondition(found, "The undoLog removes a member that is not there.")
            object.remove(at: index)
        case .value(let value):
            if found {
                object.update(at: index) { $0 = value }
            } else {
                object.insert(.init(key: first, value: value), at: index)
            }
        case .elements(let count):
            object.update(at: index) { truncate(&$0, to: count) }
        }
    }

    package static func restore(_ before: Before, at path: ArraySlice<String>, in value: inout JSON) {
        guard let first = path.first else {
            switch before {
            case .value(let old): value = old
            case .elements(let count): truncate(&value, to: count)
            case .absent: preconditionFailure("A value can't be restored to absence from inside.")
            }
            return
        }
        if value.isObject {
            var object = value.takeObject()
            restore(before, at: path, in: &object)
            value = .object(object)
        } else {
            precondition(value.isArray, "The undoLog leads through a value that is neither object nor array.")
            var elements = value.takeArray()
            restore(before, segment: first, rest: path.dropFirst(), in: &elements)
            value = .array(elements)
        }
    }

    private static func restore(
        _ before: Before, segment: String, rest: ArraySlice<String>, in elements: inout [JSON]
    ) {
        guard let index = arrayIndex(segment), index < elements.count else {
            preconditionFailure("The undoLog leads to an element that is not there.")
        }
        restore(before, at: rest, in: &elements[index])
    }

    private static func truncate(_ value: inout JSON, to count: Int) {
        precondition(value.isArray, "The undoLog shortens a value that is not an array.")
        var elements = value.takeArray()
        elements.removeLast(elements.count - count)
        value = .array(elements)
    }
}

/// Paths of types, as many as there is room for: one that it has was added, one that it lacks may have been, too.
package final class PathSet {
    private let slots: UnsafeMutablePointer<UnsafeRawPointer?>
    private static let count = 64

    package init() {
        slots = .allocate(capacity: Self.count)
        slots.initialize(repeating: nil, count: Self.count)
    }

    deinit { slots.deallocate() }

    @inline(__always)
    private func slot(of path: UnsafeRawPointer) -> UnsafeMutablePointer<UnsafeRawPointer?> {
        let bits = UInt(bitPattern: path)
        return slots + Int((bits >> 4 ^ bits >> 10) % UInt(Self.count))
    }

    @inline(__always)
    func contains(_ path: UnsafeRawPointer) -> Bool { slot(of: path).pointee == path }

    package func insert(_ path: UnsafeRawPointer) { slot(of: path).pointee = path }

    package func removeAll() { slots.update(repeating: nil, count: Self.count) }
}
