extension JSONPatch {
    /// Writes operations, separated by commas, that turn `old` into `new`, both standing at `path`.
    ///
    /// Nothing is written when they are equal. `first` says whether the next operation is the first in its
    /// array, and becomes false with it. Where replacing a whole value takes fewer bytes than editing it, it
    /// is replaced.
    public static func append(
        from old: JSON, to new: JSON, at path: [String], into writer: ByteWriter, first: inout Bool
    ) {
        var difference = Difference(writer: writer, first: first)
        for token in path { difference.push(token) }
        difference.write(from: old, to: new)
        first = difference.first
    }

    /// The writing of one difference: the operations so far, and where in the value the walk stands.
    private struct Difference {
        let writer: ByteWriter
        var first: Bool

        /// The pointer to where the walk stands, escaped for a JSON string.
        private let pointer = ByteWriter(capacity: 128)

        init(writer: ByteWriter, first: Bool) {
            self.writer = writer
            self.first = first
        }

        func push(_ token: String) {
            pointer.append(UInt8(ascii: "/"))
            pointer.append(pointerToken: token)
        }

        mutating func write(from old: JSON, to new: JSON) {
            let start = writer.count
            let wasFirst = first
            switch (old, new) {
            case (.object(let before), .object(let after)): write(from: before, to: after)
            case (.array(let before), .array(let after)): write(from: before, to: after)
            default:
                if old != new { write("replace", new) }
                return
            }
            // What a replacement writes beside the value: {"op":"replace","path":"","value":} and a comma.
            let frame = 35 + pointer.count + (wasFirst ? 0 : 1)
            let room = writer.count - start - frame
            guard room > 0, new.isEncoded(within: room - 1) else { return }
            writer.truncate(to: start)
            first = wasFirst
            write("replace", new)
        }

        private mutating func write(from old: JSONObject, to new: JSONObject) {
            if old.sharesStorage(with: new) { return }
            for pair in MemberPairs(old, new) {
                let parent = pointer.count
                push(pair.key)
                switch (pair.old, pair.new) {
                case (let before?, let after?): write(from: before, to: after)
                case (nil, let after?): write("add", after)
                case (_?, nil): write("remove")
                case (nil, nil): break
                }
                pointer.truncate(to: parent)
            }
        }

        /// Keeps what both have at their beginnings and at their ends, and edits what is between.
        private mutating func write(from old: [JSON], to new: [JSON]) {
            let shorter = min(old.count, new.count)
            var prefix = 0
            while prefix < shorter, old[prefix] == new[prefix] { prefix += 1 }
            var suffix = 0
            while suffix < shorter - prefix, old[old.count - 1 - suffix] == new[new.count - 1 - suffix] {
                suffix += 1
            }
            let common = shorter - suffix
            for index in prefix..<common {
                at(index) { $0.write(from: old[index], to: new[index]) }
            }
            for index in common..<new.count - suffix {
                at(index) { $0.write("add", new[index]) }
            }
            // Each removal moves the next element to the same place.
            for _ in common..<old.count - suffix {
                at(common) { $0.write("remove") }
            }
        }

        private mutating func at(_ index: Int, _ body: (inout Difference) -> Void) {
            let parent = pointer.count
            pointer.append(UInt8(ascii: "/"))
            pointer.append(decimal: index)
            body(&self)
            pointer.truncate(to: parent)
        }

        private mutating func write(_ operation: StaticString, _ value: JSON? = nil) {
            if !first { writer.append(UInt8(ascii: ",")) }
            first = false
            writer.append("{\"op\":\"")
            writer.append(operation)
            writer.append("\",\"path\":\"")
            writer.append(pointer.bytes)
            writer.append(UInt8(ascii: "\""))
            if let value {
                writer.append(",\"value\":", json: value)
            }
            writer.append(UInt8(ascii: "}"))
        }
    }
}

extension JSON {
    /// Whether the canonical encoding takes at most `limit` bytes; gives up as soon as it does not, so the
    /// cost is bounded by `limit`, not by the value.
    func isEncoded(within limit: Int) -> Bool {
        var room = limit
        return takesFrom(&room)
    }

    private func takesFrom(_ room: inout Int) -> Bool {
        switch self {
        case .array(let elements):
            room -= max(2, 1 + elements.count)
            guard room >= 0 else { return false }
            return elements.allSatisfy { $0.takesFrom(&room) }
        case .object(let object):
            room -= max(2, 1 + 2 * object.count)
            guard room >= 0 else { return false }
            return object.members.allSatisfy { member in
                room -= JSON.encodedSize(of: member.key)
                return room >= 0 && member.value.takesFrom(&room)
            }
        case .string(let text) where text.utf8.count > room:
            return false
        default:
            room -= encodedSize
            return room >= 0
        }
    }
}
