import BusJSON

/// Writes what changed in one state, as a merge patch (RFC 7396) or a JSON Patch (RFC 6902), from the delta
/// entries alone: the cost grows with the change, not with the state.
package enum ChangeEncoder {
    /// Writes a merge patch. False, with nothing written, when a merge patch can't express it exactly.
    package static func appendMerge(
        _ entries: DeltaEntries, of state: JSONObject, to writer: ByteWriter
    ) -> Bool {
        let mark = writer.count
        if appendMerge(entries, depth: 0, in: .object(state), to: writer) { return true }
        writer.truncate(to: mark)
        return false
    }

    /// Writes the patch object for the entries below one container; they are grouped by their next segment.
    private static func appendMerge(
        _ entries: DeltaEntries, depth: Int, in container: JSON, to writer: ByteWriter
    ) -> Bool {
        writer.append(UInt8(ascii: "{"))
        var rest = entries
        var first = true
        while let entry = rest.first {
            let segment = entry.path[depth]
            let group = rest.prefix { UTF8Order.equal($0.path[depth], segment) }
            rest = rest.dropFirst(group.count)
            if !first { writer.append(UInt8(ascii: ",")) }
            first = false
            writer.append(quoted: segment)
            writer.append(UInt8(ascii: ":"))
            let child = container[segment] ?? .null
            if case .array = child, group.count > 1 || entry.path.count > depth + 1 {
                writer.append(json: child)
            } else if entry.path.count == depth + 1 {
                guard appendMergeValue(from: entry.before, to: entry.after, into: writer) else {
                    return false
                }
            } else {
                guard appendMerge(group, depth: depth + 1, in: child, to: writer) else { return false }
            }
        }
        writer.append(UInt8(ascii: "}"))
        return true
    }

    /// Writes one member of a merge patch: `before` is its old value, `after` the new one.
    static func appendMergeValue(from before: JSON?, to after: JSON?, into writer: ByteWriter) -> Bool {
        guard let after else {
            writer.append("null")
            return true
        }
        if case .object = after, let before, case .object = before {
            return MergePatch.append(from: before, to: after, into: writer)
        }
        guard MergePatch.canSet(after) else { return false }
        writer.append(json: after)
        return true
    }

    /// Writes a JSON Patch, brackets included.
    package static func appendPatch(_ entries: DeltaEntries, to writer: ByteWriter) {
        writer.append(UInt8(ascii: "["))
        var first = true
        for entry in entries {
            if let from = entry.appendedFrom, case .array(let elements)? = entry.after {
                for element in elements[from...] {
                    appendOperation("add", entry.path, last: "-", element, to: writer, first: &first)
                }
            } else if let before = entry.before, let after = entry.after {
                JSONPatch.append(from: before, to: after, at: entry.path, into: writer, first: &first)
            } else if let after = entry.after {
                appendOperation("add", entry.path, last: nil, after, to: writer, first: &first)
            } else {
                appendOperation("remove", entry.path, last: nil, nil, to: writer, first: &first)
            }
        }
        writer.append(UInt8(ascii: "]"))
    }

    private static func appendOperation(
        _ name: StaticString, _ path: [String], last: String?, _ value: JSON?, to writer: ByteWriter,
        first: inout Bool
    ) {
        if !first { writer.append(UInt8(ascii: ",")) }
        first = false
        writer.append("{\"op\":\"")
        writer.append(name)
        writer.append("\",\"path\":\"")
        for segment in path {
            writer.append(UInt8(ascii: "/"))
            writer.append(pointerToken: segment)
        }
        if let last {
            writer.append(UInt8(ascii: "/"))
            writer.append(raw: last)
        }
        writer.append(UInt8(ascii: "\""))
        if let value {
            writer.append(",\"value\":", json: value)
        }
        writer.append(UInt8(ascii: "}"))
    }
}
