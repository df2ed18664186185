import BusJSON

/// A state while a mutation writes to it: in place, each write recorded in the undo log with the old value.
///
/// A write costs what it touches, whatever the size of the state. A write that fails changes nothing itself; the driver
/// rolls back the ones before it through the undo log. `size` follows the state's encoded size.
package struct Draft: ~Copyable {
    /// The state in its place.
    package let state: UnsafeMutablePointer<JSONObject>
    /// The caller that opened the draft holds it, so that no reference is counted for each store.
    let undoLog: Unmanaged<UndoLog>

    /// The encoded size of the state, in bytes, if it was right when the draft was made.
    package internal(set) var size: Int
    /// What the writes cost beyond their places: work in operations, array elements copied, and members moved because one
    /// before them came or went.
    package internal(set) var work = 0
    package internal(set) var copied = 0
    package internal(set) var moved = 0

    /// A merge with more members than this is applied as a whole: members are kept in order, so adding or removing
    /// many, one by one, would move the rest as often.
    private static let mergedOneByOne = 256

    /// Opens `state` for writing; it must stay where it is, and the caller must hold the
    /// undo log, while the draft lives.
    package init(_ state: UnsafeMutablePointer<JSONObject>, size: Int, undoLog: borrowing UndoLog) {
        self.state = state
        self.size = size
        self.undoLog = .passUnretained(copy undoLog)
    }

    /// The current state. Release it before the next write, or the write has to copy.
    package var current: JSONObject { state.pointee }

    /// How many records the undo log has.
    package var noted: Int { undoLog._withUnsafeGuaranteedRef { $0.count } }

    /// Sets the value at `path`. The last segment may be new (on an array: the index after the last).
    package mutating func set(_ path: StatePath, to value: JSON) throws(WriteFailure) {
        try write(.set, path, value)
    }

    /// Sets a member of the state itself, by a path of its type, unless it has that value.
    package mutating func setMember(_ path: StatePath, to value: JSON) {
        let key = path.parts.pointee.keys
        let state = state
        let isThere = state.pointee.has(key.pointee.name, at: key.pointee.hint)
        if isThere, state.pointee.update(at: key.pointee.hint, { $0 == value }) { return }
        let isSet = withUnsafePointer(to: value) { carryOut(.set, path.parts, $0) }
        precondition(isSet, "A member of a state can always be set.")
    }

    /// Removes the member or element at `path`, which must exist.
    package mutating func unset(_ path: StatePath) throws(WriteFailure) {
        try write(.unset, path, .null)
    }

    /// Adds to the number at `path`: integers exactly, else as doubles.
    package mutating func increment(_ path: StatePath, by amount: JSON) throws(WriteFailure) {
        try write(.increment, path, amount)
    }

    /// Inverts the boolean at `path`.
    package mutating func toggle(_ path: StatePath) throws(WriteFailure) {
        try write(.toggle, path, .null)
    }

    /// Appends to the array at `path`.
    package mutating func append(_ path: StatePath, _ value: JSON) throws(WriteFailure) {
        try write(.append, path, value)
    }

    /// Removes every element of the array at `path` that is equal to `value`; numbers compare by value.
    package mutating func remove(_ path: StatePath, _ value: JSON) throws(WriteFailure) {
        try write(.remove, path, value)
    }

    /// Merges a patch into the value at `path`, which must exist (RFC 7396).
    package mutating func merge(_ path: StatePath, _ patch: JSON) throws(WriteFailure) {
        try write(.merge, path, patch)
    }

    /// Applies one write.
    package mutating func write(_ kind: WriteKind, _ path: StatePath, _ value: JSON) throws(WriteFailure) {
        undoLog._withUnsafeGuaranteedRef { $0.hold(path) }
        try write(kind, path.parts, value)
    }

    /// Applies writes, all of them or none: false, with nothing changed, if one of them fails.
    package mutating func carryOut(_ writes: UnsafeBufferPointer<PrecomputedWrite>) -> Bool {
        let mark = noted
        let before = size
        for index in writes.indices {
            let write = writes.baseAddress! + index
            let value = write.pointer(to: \.value)!
            if writeInPlace(write.pointee.kind, write.pointee.path, value) { continue }
            do throws(WriteFailure) {
                try self.write(write.pointee.kind, write.pointee.path, write.pointee.value)
            } catch {
                takeBack(to: mark, size: before)
                return false
            }
        }
        return true
    }

    /// Applies one write to a path of a type. False, with nothing changed, for a merge, which is many writes, and where it
    /// fails: `write` says why.
    package mutating func carryOut(
        _ kind: WriteKind, _ path: UnsafePointer<StatePath.Parts>, _ value: UnsafePointer<JSON>
    ) -> Bool {
        if writeInPlace(kind, path, value) { return true }
        if kind == .merge || !path.pointee.isOfType { return false }
        do throws(WriteFailure) {
            try write(kind, path, value.pointee)
            return true
        } catch {
            return false
        }
    }

    /// Rolls back what was written since the undo log had `mark` records and the state was `size` bytes long.
    private mutating func takeBack(to mark: Int, size: Int) {
        let state = state
        undoLog._withUnsafeGuaranteedRef { $0.undo(to: mark, in: &state.pointee) }
        self.size = size
        work = 0
        copied = 0
        moved = 0
    }

    private mutating func write(
        _ kind: WriteKind, _ path: UnsafePointer<StatePath.Parts>, _ value: JSON
    ) throws(WriteFailure) {
        if kind == .merge { return try merge(value, at: path) }
        let state = state
        if path.pointee.count == 1 {
            try write(kind, value, toMember: 0, of: &state.pointee, at: path)
        } else {
            try descend(kind, value, 0, &state.pointee, at: path)
        }
    }

    // MARK: Merging

    private struct Step {
        let path: [String]
        let kind: WriteKind
        let value: JSON
    }

    private mutating func merge(
        _ patch: JSON, at path: UnsafePointer<StatePath.Parts>
    ) throws(WriteFailure) {
        guard let old = state.pointee.value(at: path.pointee.segments) else {
            throw WriteFailure(.missing, at: path.pointee.segments)
        }
        var steps: [Step] = []
        Self.plan(patch, over: consume old, at: path.pointee.segments, into: &steps)
        for step in steps { try write(step.kind, StatePath(step.path, hint: path.pointee.hint), step.value) }
    }

    /// Breaks a merge into single writes, so that each records only what it touches.
    private static func plan(_ patch: JSON, over old: JSON, at path: [String], into steps: inout [Step]) {
        guard case .object(let changes) = patch else {
            return steps.append(Step(path: path, kind: .set, value: patch))
        }
        guard case .object(let members) = old else {
            return steps.append(Step(path: path, kind: .set, value: patch.withoutNullMembers))
        }
        if changes.count > mergedOneByOne {
            return steps.append(Step(path: path, kind: .set, value: MergePatch.apply(patch, to: old)))
        }
        for change in changes.members {
            let place = path + [change.key]
            switch (change.value, members[change.key]) {
            case (.null, nil): break
            case (.null, .some): steps.append(Step(path: place, kind: .unset, value: .null))
            case (let value, let old?): plan(value, over: old, at: place, into: &steps)
            case (let value, nil):
                steps.append(Step(path: place, kind: .set, value: value.withoutNullMembers))
            }
        }
    }
}
