import BusJSON

/// A state while a mutation writes to it: in place, each write noted in the journal with what stood there.
///
/// A write costs what it touches, whatever the size of the state. A write that fails changes nothing itself;
/// the driver takes back the ones before it through the journal. `size` follows the state's encoded size.
package struct Draft: ~Copyable {
    private var state: UnsafeMutablePointer<JSONObject>
    package let journal: Journal

    /// The encoded size of the state, in bytes, if it was right when the draft was made.
    package private(set) var size: Int
    /// What the writes cost beyond their places: work in operations, and array elements copied.
    package private(set) var work = 0
    package private(set) var copied = 0

    /// A merge with more members than this is worked out as a whole: members are kept in order, so many new or
    /// removed ones, one by one, would move the rest as often.
    private static let mergedOneByOne = 256

    /// Opens `state` for writing; it must stay where it is while the draft lives.
    package init(_ state: UnsafeMutablePointer<JSONObject>, size: Int, journal: Journal) {
        self.state = state
        self.size = size
        self.journal = journal
    }

    /// Goes on to another state: one draft serves all stores of a commit, one after the other.
    @inline(__always)
    package mutating func turn(to state: UnsafeMutablePointer<JSONObject>, size: Int) {
        self.state = state
        self.size = size
        work = 0
        copied = 0
    }

    /// The state as it stands now. Let go of it before the next write, or the write has to copy.
    package var current: JSONObject { state.pointee }

    /// Sets the value at `path`. The last segment may be new (on an array: the index behind the last).
    package mutating func set(_ path: StatePath, to value: JSON) throws(WriteFailure) {
        try write(.set(value), at: path)
    }

    /// Removes the member or element at `path`, which must exist.
    package mutating func unset(_ path: StatePath) throws(WriteFailure) {
        try write(.unset, at: path)
    }

    /// Adds to the number at `path`: integers exactly, else as doubles.
    package mutating func increment(_ path: StatePath, by amount: JSON) throws(WriteFailure) {
        try write(.increment(amount), at: path)
    }

    /// Inverts the boolean at `path`.
    package mutating func toggle(_ path: StatePath) throws(WriteFailure) {
        try write(.toggle, at: path)
    }

    /// Appends to the array at `path`.
    package mutating func append(_ path: StatePath, _ value: JSON) throws(WriteFailure) {
        try write(.append(value), at: path)
    }

    /// Removes every element of the array at `path` that is equal to `value`; numbers compare by value.
    package mutating func remove(_ path: StatePath, _ value: JSON) throws(WriteFailure) {
        try write(.remove(value), at: path)
    }

    /// Merges a patch into the value at `path`, which must exist (RFC 7396).
    package mutating func merge(_ path: StatePath, _ patch: JSON) throws(WriteFailure) {
        guard let old = state.pointee.value(at: path.segments) else {
            throw WriteFailure(.missing, at: path.segments)
        }
        var steps: [(path: [String], write: Write)] = []
        Self.plan(patch, over: consume old, at: path.segments, into: &steps)
        for step in steps { try writeAny(step.write, at: StatePath(step.path)) }
    }

    /// Breaks a merge into single writes, so that each notes only what it touches.
    private static func plan(
        _ patch: JSON, over old: JSON, at path: [String], into steps: inout [(path: [String], write: Write)]
    ) {
        guard case .object(let changes) = patch else { return steps.append((path, .set(patch))) }
        guard case .object(let members) = old else {
            return steps.append((path, .set(patch.withoutNullMembers)))
        }
        if changes.count > mergedOneByOne {
            return steps.append((path, .set(MergePatch.apply(patch, to: old))))
        }
        for change in changes.members {
            let place = path + [change.key]
            switch (change.value, members[change.key]) {
            case (.null, nil): break
            case (.null, .some): steps.append((place, .unset))
            case (let value, let old?): plan(value, over: old, at: place, into: &steps)
            case (let value, nil): steps.append((place, .set(value.withoutNullMembers)))
            }
        }
    }

    private mutating func writeAny(_ write: Write, at path: StatePath) throws(WriteFailure) {
        try self.write(write, at: path)
    }

    /// Built into each kind of write, so that none has to find out which it is.
    @inline(__always)
    private mutating func write(_ write: Write, at path: StatePath) throws(WriteFailure) {
        var writer = Writer(path: path.segments, hint: path.hint, journal: journal, size: size)
        if path.segments.count == 1 {
            try writer.apply(write, toMember: 0, of: &state.pointee)
        } else {
            try writer.descend(write, 0, &state.pointee)
        }
        size = writer.size
        work &+= writer.work
        copied &+= writer.copied
    }
}
