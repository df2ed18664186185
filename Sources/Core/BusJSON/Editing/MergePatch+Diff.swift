extension MergePatch {
    /// Writes the smallest merge patch that turns `old` into `new`: `{}` when both are the same object.
    ///
    /// Gives false, and leaves the writer as it was, when no merge patch does so exactly: a member becomes
    /// null, or a new object holds one that is. A null is never written for a value itself either, since
    /// within a larger patch it would mean "remove".
    public static func append(from old: JSON, to new: JSON, into writer: ByteWriter) -> Bool {
        let start = writer.count
        guard write(from: old, to: new, into: writer) != .impossible else {
            writer.truncate(to: start)
            return false
        }
        return true
    }

    private enum Outcome {
        case unchanged, changed, impossible
    }

    /// Writes the patch whatever happens; `unchanged` says that the value needs none.
    private static func write(from old: JSON, to new: JSON, into writer: ByteWriter) -> Outcome {
        if case .object(let before) = old, case .object(let after) = new {
            return write(from: before, to: after, into: writer)
        }
        guard canSet(new) else { return .impossible }
        writer.append(json: new)
        return .changed
    }

    private static func write(from old: JSONObject, to new: JSONObject, into writer: ByteWriter) -> Outcome {
        writer.append(UInt8(ascii: "{"))
        let start = writer.count
        for pair in MemberPairs(old, new) where !isUnchanged(pair) {
            let before = writer.count
            if before > start { writer.append(UInt8(ascii: ",")) }
            writer.append(quoted: pair.key)
            writer.append(UInt8(ascii: ":"))
            guard let value = pair.new else {
                writer.append("null")
                continue
            }
            switch write(from: pair.old ?? .null, to: value, into: writer) {
            case .impossible: return .impossible
            case .unchanged: writer.truncate(to: before)
            case .changed: break
            }
        }
        let outcome: Outcome = writer.count > start ? .changed : .unchanged
        writer.append(UInt8(ascii: "}"))
        return outcome
    }

    /// Two objects are left to the recursion, which finds out while it writes, unless they share their storage.
    private static func isUnchanged(_ pair: MemberPairs.Pair) -> Bool {
        switch (pair.old, pair.new) {
        case (.object(let before), .object(let after)): before.sharesStorage(with: after)
        default: pair.old == pair.new
        }
    }
}
