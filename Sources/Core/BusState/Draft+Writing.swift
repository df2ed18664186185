import BusJSON

/// Applies one write: the path is followed, every container on it kept uniquely owned, the old value
/// recorded, and the bytes counted.
extension Draft {
    typealias Path = UnsafePointer<StatePath.Parts>

    /// Applies the most common writes, to a member that only objects lead to and that is where it was in the type's initial
    /// state: one value replaces another, where it stands, and for numbers with nothing to hold. False, with nothing done,
    /// for any other write and for one that fails.
    @inline(__always)
    mutating func writeInPlace(_ kind: WriteKind, _ path: Path, _ value: UnsafePointer<JSON>) -> Bool {
        let keys = path.pointee.keys
        let state = state
        guard state.pointee.has(keys.pointee.name, at: keys.pointee.hint) else { return false }
        return state.pointee.update(at: keys.pointee.hint) { place in
            if path.pointee.count == 1 { return replaceInPlace(kind, &place, value, at: path) }
            return withUnsafeMutablePointer(to: &place) { writeInside($0, 1, kind, value, at: path) }
        }
    }

    /// The same below a place, from segment `depth` on.
    @inline(never)
    private mutating func writeInside(
        _ place: UnsafeMutablePointer<JSON>, _ depth: Int, _ kind: WriteKind, _ value: UnsafePointer<JSON>,
        at path: Path
    ) -> Bool {
        guard place.pointee.isObject else { return false }
        return place.lendObject { object in
            let key = path.pointee.keys + depth
            guard object.pointee.has(key.pointee.name, at: key.pointee.hint) else { return false }
            return object.pointee.update(at: key.pointee.hint) { inner in
                if depth == path.pointee.count - 1 { return replaceInPlace(kind, &inner, value, at: path) }
                return withUnsafeMutablePointer(to: &inner) {
                    writeInside($0, depth + 1, kind, value, at: path)
                }
            }
        }
    }

    /// Replaces a value by another one. False, with nothing done, for a write that fails or does more.
    @inline(__always)
    private mutating func replaceInPlace(
        _ kind: WriteKind, _ place: inout JSON, _ value: UnsafePointer<JSON>, at path: Path
    ) -> Bool {
        switch kind {
        case .increment:
            guard case .int(let number) = place, case .int(let step) = value.pointee else { return false }
            let (sum, overflow) = number.addingReportingOverflow(step)
            if overflow { return false }
            replace(&place, number, with: sum, at: path)
        case .toggle:
            guard case .bool(let flag) = place else { return false }
            count(old: JSON.bool(flag).encodedSize, new: JSON.bool(!flag).encodedSize)
            note(path, .bool(flag))
            withUnsafeMutablePointer(to: &place) { $0.initialize(to: .bool(!flag)) }
        case .set:
            if case .int(let number) = place, case .int(let new) = value.pointee {
                replace(&place, number, with: new, at: path)
            } else if case .double(let number) = place, case .double(let new) = value.pointee {
                count(old: JSON.double(number).encodedSize, new: JSON.double(new).encodedSize)
                note(path, .double(number))
                withUnsafeMutablePointer(to: &place) { $0.initialize(to: .double(new)) }
            } else {
                replace(&place, with: value.pointee, at: path)
            }
        default: return false
        }
        return true
    }

    /// Replaces an integer by another one, neither of which needs to be held or released.
    @inline(__always)
    private mutating func replace(_ place: inout JSON, _ number: Int, with new: Int, at path: Path) {
        count(old: JSON.encodedSize(of: number), new: JSON.encodedSize(of: new))
        note(path, .int(number))
        withUnsafeMutablePointer(to: &place) { $0.initialize(to: .int(new)) }
    }

    /// Follows the path from segment `depth` on through an object.
    mutating func descend(
        _ kind: WriteKind, _ value: JSON, _ depth: Int, _ object: inout JSONObject, at path: Path
    ) throws(WriteFailure) {
        if depth == path.pointee.count - 1 {
            return try write(kind, value, toMember: depth, of: &object, at: path)
        }
        let key = path.pointee.keys + depth
        guard let index = object.index(of: key.pointee.name, hint: key.pointee.hint) else {
            throw failure(.missing, path, depth)
        }
        try object.update(at: index) { place throws(WriteFailure) in
            try descend(kind, value, depth + 1, &place, at: path)
        }
    }

    /// Follows the path from segment `depth` on into any value.
    private mutating func descend(
        _ kind: WriteKind, _ value: JSON, _ depth: Int, _ place: inout JSON, at path: Path
    ) throws(WriteFailure) {
        if place.isObject {
            var object = place.takeObject()
            defer { place = .object(object) }
            return try descend(kind, value, depth, &object, at: path)
        }
        guard place.isArray else { throw failure(.notContainer, path, depth) }
        guard let index = arrayIndex(path.pointee.segments[depth]) else {
            throw failure(.badIndex, path, depth)
        }
        var elements = place.takeArray()
        defer { place = .array(elements) }
        if depth == path.pointee.count - 1 {
            return try write(kind, value, toElement: index, of: &elements, at: path)
        }
        guard index < elements.count else { throw failure(.missing, path, depth) }
        try descend(kind, value, depth + 1, &elements[index], at: path)
    }

    /// Writes to a member of the object the path ends in.
    @inline(__always)
    mutating func write(
        _ kind: WriteKind, _ value: JSON, toMember depth: Int, of object: inout JSONObject, at path: Path
    ) throws(WriteFailure) {
        let key = path.pointee.keys[depth].name
        if let index = object.index(of: key, hint: path.pointee.keys[depth].hint) {
            if kind == .unset {
                moved &+= object.count &- index
                let old = object.remove(at: index)
                size -= JSON.encodedSize(of: key) + old.encodedSize + (object.isEmpty ? 1 : 2)
                return note(path, old)
            }
            return try object.update(at: index) { place throws(WriteFailure) in
                try write(kind, value, to: &place, at: path)
            }
        }
        guard kind == .set else { throw failure(.missing, path, depth) }
        size += JSON.encodedSize(of: key) + value.encodedSize + (object.isEmpty ? 1 : 2)
        let index = object.position(of: key).index
        moved &+= object.count &- index
        object.insert(.init(key: key, value: value), at: index)
        undoLog._withUnsafeGuaranteedRef { $0.noteAbsence(path) }
    }

    /// Writes to an element of the array the path ends in.
    private mutating func write(
        _ kind: WriteKind, _ value: JSON, toElement index: Int, of elements: inout [JSON], at path: Path
    ) throws(WriteFailure) {
        if index < elements.count, kind != .unset {
            return try write(kind, value, to: &elements[index], at: path)
        }
        // The array itself changes: its length, and the places of its elements.
        let array = StatePath(path.pointee.segments.dropLast(), hint: path.pointee.hint)
        if index < elements.count {
            undoLog._withUnsafeGuaranteedRef { $0.hold(array) }
            note(array.parts, .array(elements))
            size -= elements[index].encodedSize + (elements.count > 1 ? 1 : 0)
            work &+= elements.count
            copied &+= elements.count
            elements.remove(at: index)
            return
        }
        guard index == elements.count, kind == .set else {
            throw failure(.missing, path, path.pointee.count - 1)
        }
        undoLog._withUnsafeGuaranteedRef {
            $0.hold(array)
            $0.noteElements(array.parts, elements.count)
        }
        size += value.encodedSize + (elements.isEmpty ? 0 : 1)
        elements.append(value)
    }

    /// Writes to the value at the end of the path.
    @inline(__always)
    private mutating func write(
        _ kind: WriteKind, _ value: JSON, to place: inout JSON, at path: Path
    ) throws(WriteFailure) {
        switch kind {
        case .set: replace(&place, with: value, at: path)
        case .increment: replace(&place, with: try sum(place, value, at: path), at: path)
        case .toggle:
            guard case .bool(let flag) = place else { throw failure(.notBoolean, path) }
            replace(&place, with: .bool(!flag), at: path)
        case .append: try append(value, to: &place, at: path)
        case .remove: try remove(value, from: &place, at: path)
        case .unset, .merge:
            preconditionFailure("A member is removed by its container, and a merge is many writes.")
        }
    }

    /// The old value moves into the undo log, so that nothing of it is counted or copied.
    @inline(__always)
    private mutating func replace(_ place: inout JSON, with value: JSON, at path: Path) {
        count(old: place.encodedSize, new: value.encodedSize)
        note(path, exchange(&place, with: value))
    }

    /// Counts a value of `new` bytes that replaces one of `old` bytes.
    @inline(__always)
    private mutating func count(old: Int, new: Int) {
        size &+= new &- old
        work &+= (old &+ new) >> 4
    }

    @inline(__always)
    private func sum(_ old: JSON, _ amount: JSON, at path: Path) throws(WriteFailure) -> JSON {
        guard case .int(let number) = old, case .int(let step) = amount else {
            return try roundedSum(old, amount, at: path)
        }
        let (sum, overflow) = number.addingReportingOverflow(step)
        guard !overflow else { throw failure(.overflow, path) }
        return .int(sum)
    }

    private func roundedSum(_ old: JSON, _ amount: JSON, at path: Path) throws(WriteFailure) -> JSON {
        guard let number = old.double else { throw failure(.notNumber, path) }
        guard let step = amount.double else { throw failure(.amountNotNumber, path) }
        guard (number + step).isFinite else { throw failure(.overflow, path) }
        return .double(number + step)
    }

    private mutating func append(_ value: JSON, to place: inout JSON, at path: Path) throws(WriteFailure) {
        guard place.isArray else { throw failure(.notArray, path) }
        var elements = place.takeArray()
        size += value.encodedSize + (elements.isEmpty ? 0 : 1)
        undoLog._withUnsafeGuaranteedRef { $0.noteElements(path, elements.count) }
        elements.append(value)
        place = .array(elements)
    }

    private mutating func remove(_ value: JSON, from place: inout JSON, at path: Path) throws(WriteFailure) {
        guard case .array(let elements) = place else { throw failure(.notArray, path) }
        let kept = elements.filter { !$0.isDeeplyEqual(to: value) }
        // Comparing costs at most the size of the array, which is at most the whole state.
        work &+= elements.count &+ size >> 6
        copied &+= kept.count
        if kept.count < elements.count { replace(&place, with: .array(kept), at: path) }
    }

    @inline(__always)
    private func note(_ path: Path, _ old: JSON) {
        undoLog._withUnsafeGuaranteedRef { $0.note(path, old) }
    }

    @inline(never)
    private func failure(_ reason: WriteFailure.Reason, _ path: Path, _ depth: Int) -> WriteFailure {
        WriteFailure(reason, at: Array(path.pointee.segments[...depth]))
    }

    private func failure(_ reason: WriteFailure.Reason, _ path: Path) -> WriteFailure {
        failure(reason, path, path.pointee.count - 1)
    }
}
