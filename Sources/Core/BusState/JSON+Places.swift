import BusJSON

/// Values where they stand, so that reading one copies nothing and counts no reference. A place is valid until the value
/// that it lies in changes.
extension JSONObject {
    /// The place of the value at an index.
    @inline(__always)
    package func place(at index: Int) -> UnsafePointer<JSON> {
        members.withUnsafeBufferPointer { members in
            precondition(index >= 0 && index < members.count, "There is no such member.")
            return (members.baseAddress! + index).pointer(to: \.value)!
        }
    }

    /// The place of a member's value; nil when it is absent. `hint` is tried first.
    @inline(__always)
    package func place(of key: String, hint: Int = 0) -> UnsafePointer<JSON>? {
        if has(key, at: hint) { return place(at: hint) }
        guard let index = index(of: key, hint: hint) else { return nil }
        return place(at: index)
    }
}

extension JSON {
    /// The place of an array's element; nil outside it and for anything that is no array.
    @inline(__always)
    package func place(at index: Int) -> UnsafePointer<JSON>? {
        guard case .array(let elements) = self, index >= 0, index < elements.count else { return nil }
        return elements.withUnsafeBufferPointer { $0.baseAddress! + index }
    }
}
