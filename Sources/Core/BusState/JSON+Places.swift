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
    /// The place of a member's value; nil when it is absent and for anything that is no object. Where the key stands
    /// first, nothing is called.
    @inline(__always)
    func place(of key: String) -> UnsafePointer<JSON>? {
        if case .object(let object) = pointee, object.has(key, at: 0) { return object.place(at: 0) }
        return search(for: key)
    }

    @inline(never)
    private func search(for key: String) -> UnsafePointer<JSON>? {
        guard case .object(let object) = pointee else { return nil }
        return object.place(of: key)
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
