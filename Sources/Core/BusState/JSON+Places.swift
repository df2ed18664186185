import BusJSON

/// Values where they stand, so that reading one copies nothing and counts no reference. A place is valid until the value
/// that it lies in changes.
extension JSONObject {
    /// The place of the value at an index.
    @inlinable @inline(__always)
    package func place(at index: Int) -> UnsafePointer<JSON> {
        members.withUnsafeBufferPointer { members in
            precondition(index >= 0 && index < members.count, "There is no such member.")
            return (members.baseAddress! + index).pointer(to: \.value)!
        }
    }

    /// The place of a member's value; nil when it is absent. `hint` is tried first.
    @inlinable
    package func place(of key: String, hint: Int = 0) -> UnsafePointer<JSON>? {
        index(of: key, hint: hint).map { place(at: $0) }
    }
}

extension UnsafePointer<JSONObject> {
    /// The place of a member's value; nil when it is absent. Where the key stands at `hint`, nothing is called.
    @inlinable @inline(__always)
    package func place(of key: String, hint: Int) -> UnsafePointer<JSON>? {
        if pointee.has(key, at: hint) { return pointee.place(at: hint) }
        return search(for: key, hint: hint)
    }

    @usableFromInline @inline(never)
    func search(for key: String, hint: Int) -> UnsafePointer<JSON>? {
        pointee.place(of: key, hint: hint)
    }
}

extension UnsafePointer<JSON> {
    /// The place of a member's value; nil when it is absent and for anything that is no object. Where the key stands at
    /// `hint`, nothing is called.
    @inline(__always)
    func place(of key: UnsafePointer<StatePath.Key>) -> UnsafePointer<JSON>? {
        if case .object(let object) = pointee, object.has(key.pointee.name, at: key.pointee.hint) {
            return object.place(at: key.pointee.hint)
        }
        return search(for: key)
    }

    @inline(never)
    private func search(for key: UnsafePointer<StatePath.Key>) -> UnsafePointer<JSON>? {
        guard case .object(let object) = pointee else { return nil }
        return object.place(of: key.pointee.name, hint: key.pointee.hint)
    }

    /// Whether the value has to be released.
    @inline(__always)
    var holdsMemory: Bool {
        switch pointee {
        case .null, .bool, .int, .double: false
        default: true
        }
    }
}

extension UnsafeMutablePointer<JSON> {
    /// Lends the object that stands here, so that nothing else holds it and it changes without being copied: it is moved out
    /// of its place and put back. There must be one.
    @inline(__always)
    func lendObject<Result>(_ body: (UnsafeMutablePointer<JSONObject>) -> Result) -> Result {
        var object = moveObject()
        let result = withUnsafeMutablePointer(to: &object, body)
        initialize(to: .object(object))
        return result
    }

    /// Leaves the place without a value.
    @inline(__always)
    private func moveObject() -> JSONObject {
        guard case .object(let object) = move() else { preconditionFailure("There is no object to lend.") }
        return object
    }
}

extension JSON {
    /// The place of an array's element; nil outside it and for anything that is no array.
    @inlinable @inline(__always)
    package func place(at index: Int) -> UnsafePointer<JSON>? {
        guard case .array(let elements) = self, index >= 0, index < elements.count else { return nil }
        return elements.withUnsafeBufferPointer { $0.baseAddress! + index }
    }

    /// Questions that hold nothing while they are answered, as a pattern would until its end.
    @inline(__always)
    var isObject: Bool { if case .object = self { true } else { false } }
    @inline(__always)
    var isArray: Bool { if case .array = self { true } else { false } }

    /// Moves an object out of its place, where null stands until it is put back: so that nothing else holds it, and it
    /// changes without being copied. Inlined, the old value would be released only after the change.
    @inline(never)
    mutating func takeObject() -> JSONObject {
        guard case .object(let object) = exchange(&self, with: .null) else {
            preconditionFailure("There is no object to take.")
        }
        return object
    }

    /// Moves an array out of its place, in the same way.
    @inline(never)
    mutating func takeArray() -> [JSON] {
        guard case .array(let elements) = exchange(&self, with: .null) else {
            preconditionFailure("There is no array to take.")
        }
        return elements
    }
}
