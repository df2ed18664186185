import BusJSON

/// Why the daemon closes a connection.
package enum GoodbyeCode: String, Sendable {
    case shutdown, restart
    case slowConsumer = "slow_consumer"
    case limit, `protocol`, kicked
}

/// Events as written to the wire, one per line.
extension BytePen {
    /// The beginning of a change: `{"event":"change","sub":1,"from":42,"revision":43`. Later
    /// parts of a change have no `from`.
    @inlinable @inline(__always)
    public mutating func append(
        changeFor subscription: Int, from: Int?, _ fromDigits: KeptDecimal, revision: Int,
        _ revisionDigits: KeptDecimal
    ) {
        append("{\"event\":\"change\",\"sub\":")
        append(decimal: subscription)
        if let from {
            append(",\"from\":")
            append(decimal: from, kept: fromDigits)
        }
        append(",\"revision\":")
        append(decimal: revision, kept: revisionDigits)
    }

    /// `,"changes":{`
    @inlinable @inline(__always)
    public mutating func appendStartOfChanges() { append(",\"changes\":{") }

    /// A complete bookmark event.
    @inlinable @inline(__always)
    public mutating func append(bookmarkFor subscription: Int, revision: Int, _ revisionDigits: KeptDecimal) {
        append("{\"event\":\"bookmark\",\"sub\":")
        append(decimal: subscription)
        append(",\"revision\":")
        append(decimal: revision, kept: revisionDigits)
        append("}\n")
    }
}

/// The members of a change that concern stores.
public enum ChangeMember {
    case changes, states, dropped
}

extension ByteWriter {
    /// A member of a change; `items` are separated by commas.
    @inlinable @inline(__always)
    public func append(_ member: ChangeMember, _ items: UnsafeRawBufferPointer) {
        switch member {
        case .changes:
            append(",\"changes\":{")
            append(items)
            append(UInt8(ascii: "}"))
        case .states:
            append(",\"states\":{")
            append(items)
            append(UInt8(ascii: "}"))
        case .dropped:
            append(",\"dropped\":[")
            append(items)
            append(UInt8(ascii: "]"))
        }
    }

    /// The end of a change whose only member, `changes`, is still open.
    @inlinable @inline(__always)
    public func appendEndOfChanges() { append("}}\n") }

    /// The end of a change, or of one part of it.
    @inlinable @inline(__always)
    public func appendEndOfChange(more: Bool) { append(more ? ",\"more\":true}\n" : "}\n") }

    /// `,"reset":true`
    public func appendReset() { append(",\"reset\":true") }

    /// `,"coalesced":7`
    public func append(coalesced commits: Int) {
        append(",\"coalesced\":", decimal: commits)
    }

    /// `,"cause":{…}`. `actions` writes the actions as objects separated by commas, `by` is written unchanged, and `rest` adds
    /// further members.
    package func append(causeBy by: [UInt8], _ actions: (ByteWriter) -> Void, rest: (ByteWriter) -> Void) {
        append(",\"cause\":{\"actions\":[")
        actions(self)
        append("],\"by\":")
        by.withUnsafeBytes { append($0) }
        rest(self)
        append("}")
    }

    /// A complete action event; `rest` is what all subscribers share, from the comma after `sub` on.
    public func append(actionFor subscription: Int, _ rest: UnsafeRawBufferPointer) {
        append("{\"event\":\"action\",\"sub\":", decimal: subscription)
        append(rest)
        append("}\n")
    }

    /// The beginning of the shared part of an action event; the action follows. `index` is its index in a batch.
    public func append(actionAt revision: Int, index: Int?) {
        append(revision: revision)
        if let index {
            append(",\"index\":", decimal: index)
        }
        append(UInt8(ascii: ","))
    }

    /// `,"by":{…}`, written unchanged.
    package func append(by: [UInt8]) {
        append(",\"by\":")
        by.withUnsafeBytes { append($0) }
    }

    /// A complete action event for an action of a log entry.
    package func append(
        pastAction action: JSONObject, of entry: JSONObject, for subscription: Int, revision: Int, index: Int?
    ) {
        append("{\"event\":\"action\",\"sub\":", decimal: subscription)
        append(revision: revision)
        if let index {
            append(",\"index\":", decimal: index)
        }
        for member in action.members { append(member.key, member.value) }
        append("by", entry["by"] ?? .null)
        append("time", entry["time"] ?? .null)
        if let traceparent = entry["traceparent"] { append("traceparent", traceparent) }
        append("}\n")
    }

    private func append(_ name: String, _ value: JSON) {
        append(UInt8(ascii: ","))
        append(quoted: name)
        append(UInt8(ascii: ":"))
        append(json: value)
    }

    /// A complete gap event: the actions up to `revision` can no longer be delivered.
    package func append(gapOf subscription: Int, revision: Int) {
        append("{\"event\":\"gap\",\"sub\":", decimal: subscription)
        append(revision: revision)
        append("}\n")
    }

    /// A complete goodbye event.
    package func append(goodbye code: GoodbyeCode, _ message: String) {
        append("{\"event\":\"goodbye\",\"code\":\"", raw: code.rawValue)
        append("\",\"message\":", quoted: message)
        append("}\n")
    }
}
