import BusJSON

/// Replies as written to the wire: `{"id":…,"ok":true,…}`, one per line.
extension BytePen {
    /// The beginning of every reply: `{`, and the `id` of its request, byte for byte, with a comma, if it had one.
    @inlinable @inline(__always)
    public mutating func append(headOfReplyTo id: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "{"))
        if id.isEmpty { return }
        append("\"id\":")
        append(id)
        append(UInt8(ascii: ","))
    }
}

extension ByteWriter {
    /// The beginning of the reply to a request that was executed; members follow, each with a comma before it.
    public func append(successOf id: UnsafeRawBufferPointer) {
        write(atMost: 24 + id.count) { pen in
            pen.append(headOfReplyTo: id)
            pen.append("\"ok\":true")
        }
    }

    /// The whole reply to a dispatch. Most of what is written is this, so it is written with one look for room.
    @inlinable @inline(__always)
    public func append(
        outcomeOf id: UnsafeRawBufferPointer, revision: Int, kept digits: KeptDecimal, matched: Int,
        changed: Int, isDuplicate: Bool
    ) {
        write(atMost: 160 + id.count) { pen in
            pen.append(headOfReplyTo: id)
            pen.append("\"ok\":true,\"revision\":")
            pen.append(decimal: revision, kept: digits)
            pen.append(",\"matched\":")
            pen.append(decimal: matched)
            pen.append(",\"changed\":")
            pen.append(decimal: changed)
            if isDuplicate { pen.append(",\"duplicate\":true") }
            pen.append("}\n")
        }
    }

    /// The whole reply to a request that was refused. `room` bounds its message and each of its details, which
    /// may quote what the client sent.
    package func append(
        refusalOf id: UnsafeRawBufferPointer, _ error: RequestError, message room: Int, detail: Int
    ) {
        write(atMost: 8 + id.count) { pen in pen.append(headOfReplyTo: id) }
        append("\"ok\":false,\"error\":{\"code\":\"", raw: error.code.rawValue)
        append("\",\"message\":", quoted: error.message.shortened(to: room))
        for part in error.details where part.value.encodedSize <= detail {
            append(UInt8(ascii: ","))
            append(quoted: part.name)
            append(UInt8(ascii: ":"))
            append(json: part.value)
        }
        append("}}\n")
    }

    /// `,"revision":43`
    public func append(revision: Int) {
        append(",\"revision\":", decimal: revision)
    }

    /// `,"created":true`
    public func append(created: Bool) { append(created ? ",\"created\":true" : ",\"created\":false") }

    /// `,"duplicate":true`
    public func appendDuplicate() { append(",\"duplicate\":true") }

    /// The end of a reply.
    public func appendEndOfReply() { append("}\n") }
}
