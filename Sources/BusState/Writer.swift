import BusJSON

/// One write of a mutation, its expressions already evaluated.
enum Write {
    case set(JSON)
    case unset
    case increment(JSON)
    case toggle
    case append(JSON)
    case remove(JSON)
}

/// Carries one write to its place: follows the path, keeps every container on it uniquely owned, notes what
/// stood there, and counts the bytes.
struct Writer {
    let path: [String]
    /// Where the first segment probably stands.
    let hint: Int
    /// Whoever writes holds it for as long as that takes.
    unowned(unsafe) let journal: Journal
    var size: Int
    /// Elements that were compared or moved, in operations, and elements that were copied: what a write costs
    /// beyond its place.
    var work = 0
    var copied = 0

    /// Follows the path from segment `depth` on through an object.
    mutating func descend(
        _ write: Write, _ depth: Int, _ object: inout JSONObject
    ) throws(WriteFailure) {
        if depth == path.count - 1 { return try apply(write, toMember: depth, of: &object) }
        guard let index = object.index(of: path[depth], hint: depth == 0 ? hint : 0) else {
            throw failure(.missing, depth)
        }
        try object.update(at: index) { value throws(WriteFailure) in
            try descend(write, depth + 1, &value)
        }
    }

    /// Follows the path from segment `depth` on into any value.
    private mutating func descend(_ write: Write, _ depth: Int, _ value: inout JSON) throws(WriteFailure) {
        switch value {
        case .object(var object):
            value = .null
            defer { value = .object(object) }
            try descend(write, depth, &object)
        case .array(var elements):
            value = .null
            defer { value = .array(elements) }
            guard let index = arrayIndex(path[depth]) else { throw failure(.badIndex, depth) }
            if depth == path.count - 1 { return try apply(write, toElement: index, of: &elements) }
            guard index < elements.count else { throw failure(.missing, depth) }
            try descend(write, depth + 1, &elements[index])
        default:
            throw failure(.notContainer, depth)
        }
    }

    /// Applies the write to a member of the object it ends in.
    @inline(__always)
    mutating func apply(
        _ write: Write, toMember depth: Int, of object: inout JSONObject
    ) throws(WriteFailure) {
        let key = path[depth]
        if let index = object.index(of: key, hint: depth == 0 ? hint : 0) {
            if case .unset = write {
                let old = object.remove(at: index)
                size -= JSON.encodedSize(of: key) + old.encodedSize + (object.isEmpty ? 1 : 2)
                return journal.note(path, hint: hint, .value(old))
            }
            return try object.update(at: index) { value throws(WriteFailure) in try apply(write, to: &value) }
        }
        guard case .set(let value) = write else { throw failure(.missing, depth) }
        size += JSON.encodedSize(of: key) + value.encodedSize + (object.isEmpty ? 1 : 2)
        object.insert(.init(key: key, value: value), at: object.position(of: key).index)
        journal.note(path, hint: hint, .absent)
    }

    /// Applies the write to an element of the array it ends in.
    private mutating func apply(
        _ write: Write, toElement index: Int, of elements: inout [JSON]
    ) throws(WriteFailure) {
        let arrayPath = Array(path.dropLast())
        if index < elements.count {
            guard case .unset = write else { return try apply(write, to: &elements[index]) }
            // The elements behind move up, so the whole array counts as replaced.
            journal.note(arrayPath, .value(.array(elements)))
            size -= elements[index].encodedSize + (elements.count > 1 ? 1 : 0)
            work &+= elements.count
            copied &+= elements.count
            elements.remove(at: index)
            return
        }
        guard index == elements.count, case .set(let value) = write else {
            throw failure(.missing, path.count - 1)
        }
        journal.note(arrayPath, .elements(elements.count))
        size += value.encodedSize + (elements.isEmpty ? 0 : 1)
        elements.append(value)
    }

    /// Applies the write to the value that stands at the end of the path.
    @inline(__always)
    private mutating func apply(_ write: Write, to place: inout JSON) throws(WriteFailure) {
        switch write {
        case .set(let value): replace(&place, with: value)
        case .increment(let amount): replace(&place, with: try sum(place, amount))
        case .toggle:
            guard case .bool(let flag) = place else { throw failure(.notBoolean) }
            replace(&place, with: .bool(!flag))
        case .append(let value): try append(value, to: &place)
        case .remove(let value): try remove(value, from: &place)
        case .unset: preconditionFailure("A member is removed by its container.")
        }
    }

    @inline(__always)
    private mutating func replace(_ place: inout JSON, with value: JSON) {
        let (old, new) = (place.encodedSize, value.encodedSize)
        size += new - old
        work &+= (old &+ new) >> 4
        journal.note(path, hint: hint, .value(place))
        place = value
    }

    private func sum(_ old: JSON, _ amount: JSON) throws(WriteFailure) -> JSON {
        switch (old, amount) {
        case (.int(let number), .int(let step)):
            let (sum, overflow) = number.addingReportingOverflow(step)
            guard !overflow else { throw failure(.overflow) }
            return .int(sum)
        case (.int, .double), (.double, .int), (.double, .double):
            let sum = old.double! + amount.double!
            guard sum.isFinite else { throw failure(.overflow) }
            return .double(sum)
        case (.int, _), (.double, _): throw failure(.amountNotNumber)
        default: throw failure(.notNumber)
        }
    }

    private mutating func append(_ value: JSON, to place: inout JSON) throws(WriteFailure) {
        guard case .array(var elements) = place else { throw failure(.notArray) }
        place = .null
        size += value.encodedSize + (elements.isEmpty ? 0 : 1)
        journal.note(path, hint: hint, .elements(elements.count))
        elements.append(value)
        place = .array(elements)
    }

    private mutating func remove(_ value: JSON, from place: inout JSON) throws(WriteFailure) {
        guard case .array(let elements) = place else { throw failure(.notArray) }
        let kept = elements.filter { !$0.isDeeplyEqual(to: value) }
        // Comparing takes at most what there is in the array, and that is at most the whole state.
        work &+= elements.count &+ size >> 6
        copied &+= kept.count
        if kept.count < elements.count { replace(&place, with: .array(kept)) }
    }

    private func failure(_ reason: WriteFailure.Reason, _ depth: Int) -> WriteFailure {
        WriteFailure(reason, at: Array(path[...depth]))
    }

    private func failure(_ reason: WriteFailure.Reason) -> WriteFailure { WriteFailure(reason, at: path) }
}
