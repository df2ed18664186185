/// One place in a value, changed where it stands: what the operations of a JSON Patch do to it.
///
/// A failure may leave the value half taken apart; the caller works on a copy of its own and drops it.
struct JSONPlace {
    private typealias Failure = JSONPatch.Failure

    private let pointer: JSONPointer

    init(_ pointer: JSONPointer) { self.pointer = pointer }

    /// Adds `value`: a new or replaced member, or an element inserted before the one at the index.
    func put(_ value: JSON, into root: inout JSON) throws(JSONPatch.Failure) {
        guard let last = pointer.tokens.last else {
            root = value
            return
        }
        try changeParent(in: &root) { parent throws(Failure) in
            switch parent {
            case .object(var object):
                parent = .null
                object[last] = value
                parent = .object(object)
            case .array(var elements):
                let index = last == "-" ? elements.count : JSONPointer.index(last)
                guard let index, index <= elements.count else { throw missing }
                parent = .null
                elements.insert(value, at: index)
                parent = .array(elements)
            default:
                throw missing
            }
        }
    }

    /// Replaces the value that stands at the place.
    func replace(with value: JSON, in root: inout JSON) throws(JSONPatch.Failure) {
        guard let last = pointer.tokens.last else {
            root = value
            return
        }
        try changeParent(in: &root) { parent throws(Failure) in
            try changeChild(last, of: &parent) { child throws(Failure) in child = value }
        }
    }

    /// Removes the value that stands at the place, and gives it. The whole value cannot be removed.
    func take(from root: inout JSON) throws(JSONPatch.Failure) -> JSON {
        guard let last = pointer.tokens.last else { throw missing }
        return try changeParent(in: &root) { parent throws(Failure) in
            switch parent {
            case .object(var object):
                guard let index = object.index(of: last) else { throw missing }
                parent = .null
                let taken = object.remove(at: index)
                parent = .object(object)
                return taken
            case .array(var elements):
                guard let index = JSONPointer.index(last), index < elements.count else { throw missing }
                parent = .null
                let taken = elements.remove(at: index)
                parent = .array(elements)
                return taken
            default:
                throw missing
            }
        }
    }

    private var missing: Failure { Failure(.noSuchPlace(pointer)) }

    /// Hands the value that holds the place to `body`, to be changed where it stands.
    private func changeParent<Result>(
        in root: inout JSON, _ body: (inout JSON) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try descend(into: &root, along: pointer.tokens.dropLast(), body)
    }

    private func descend<Result>(
        into value: inout JSON, along tokens: ArraySlice<String>,
        _ body: (inout JSON) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let token = tokens.first else { return try body(&value) }
        return try changeChild(token, of: &value) { child throws(Failure) in
            try descend(into: &child, along: tokens.dropFirst(), body)
        }
    }

    /// The parent is emptied while its child changes, so that there is one reference to what it holds.
    private func changeChild<Result>(
        _ token: String, of parent: inout JSON, _ body: (inout JSON) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch parent {
        case .object(var object):
            guard let index = object.index(of: token) else { throw missing }
            parent = .null
            let result = try object.update(at: index, body)
            parent = .object(object)
            return result
        case .array(var elements):
            guard let index = JSONPointer.index(token), index < elements.count else { throw missing }
            parent = .null
            let result = try body(&elements[index])
            parent = .array(elements)
            return result
        default:
            throw missing
        }
    }
}
