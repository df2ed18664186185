import BusJSON

/// The place of a write in a state: keys of objects and indices of arrays, outermost first.
///
/// Whether a segment is a key or an index depends on the value at its place when the write runs: on an array, `3` is an
/// index; on an object it is a key.
///
/// `@unchecked Sendable`: it is written once, when it is made, and its parts are freed with it.
package final class StatePath: @unchecked Sendable {
    /// The contents of a path, behind a constant pointer: the undo log records this pointer for each store, and no
    /// reference is counted for it.
    package struct Parts {
        package let segments: [String]
        /// The same segments where they are read in place; they lie behind these parts and live as long.
        let keys: UnsafePointer<Key>
        let count: Int
        /// Whether the path belongs to a type, which outlives the commits that use it.
        let isOfType: Bool

        /// The index of the first segment in the type's initial state; only a guess, checked at every use.
        package var hint: Int { keys.pointee.hint }
    }

    /// One segment.
    struct Key {
        let name: String
        /// Its index in the type's initial state; only a guess, checked at every use.
        let hint: Int
        /// As a merge patch has it; nil for a long one and for one that needs escapes.
        let encoded: EncodedKey?
    }

    package let parts: UnsafePointer<Parts>

    package var segments: [String] { parts.pointee.segments }
    package var hint: Int { parts.pointee.hint }

    /// - Parameters:
    ///   - hints: The indices of the first segments in the type's initial state, as far as they are known.
    ///   - isOfType: Whether it belongs to a type. Any other path is held by the undo log that records it.
    package init(_ segments: [String], hints: [Int] = [], isOfType: Bool = false) {
        precondition(!segments.isEmpty, "A write needs a path of at least one segment.")
        let count = segments.count
        let start = MemoryLayout<Parts>.stride
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: start + count * MemoryLayout<Key>.stride,
            alignment: max(MemoryLayout<Parts>.alignment, MemoryLayout<Key>.alignment))
        let keys = (memory + start).bindMemory(to: Key.self, capacity: count)
        for (depth, name) in segments.enumerated() {
            (keys + depth).initialize(
                to: Key(
                    name: name, hint: depth < hints.count ? hints[depth] : 0, encoded: EncodedKey(name)))
        }
        let parts = memory.bindMemory(to: Parts.self, capacity: 1)
        parts.initialize(
            to: Parts(segments: segments, keys: UnsafePointer(keys), count: count, isOfType: isOfType))
        self.parts = UnsafePointer(parts)
    }

    /// - Parameter hint: The index of the first segment in the type's initial state.
    package convenience init(_ segments: [String], hint: Int, isOfType: Bool = false) {
        self.init(segments, hints: [hint], isOfType: isOfType)
    }

    deinit {
        let parts = UnsafeMutablePointer(mutating: parts)
        UnsafeMutablePointer(mutating: parts.pointee.keys).deinitialize(count: parts.pointee.count)
        parts.deinitialize(count: 1)
        UnsafeMutableRawPointer(parts).deallocate()
    }
}

extension StatePath: CustomStringConvertible {
    /// The dotted form, as in definitions.
    package var description: String { segments.joined(separator: ".") }
}

/// The index a path segment names on an array: digits without a leading zero; nil for anything else.
package func arrayIndex(_ segment: String) -> Int? {
    let digits = segment.utf8
    guard let first = digits.first, digits.count <= 9 else { return nil }
    if first == UInt8(ascii: "0") && digits.count > 1 { return nil }
    var index = 0
    for digit in digits {
        guard 48...57 ~= digit else { return nil }
        index = index * 10 + Int(digit - 48)
    }
    return index
}

extension JSON {
    /// The value at a path below this one; nil where the path leads nowhere.
    package func value(at segments: ArraySlice<String>) -> JSON? {
        guard let segment = segments.first else { return self }
        switch self {
        case .object(let object): return object[segment]?.value(at: segments.dropFirst())
        case .array(let elements):
            guard let index = arrayIndex(segment), index < elements.count else { return nil }
            return elements[index].value(at: segments.dropFirst())
        default: return nil
        }
    }
}

extension JSONObject {
    /// The value at a path; nil where the path leads nowhere.
    package func value(at segments: [String]) -> JSON? {
        guard let first = segments.first else { return .object(self) }
        return self[first]?.value(at: segments.dropFirst())
    }
}
