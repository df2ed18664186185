import BusJSON

/// How every reply begins: `{`, and the `id` of its request as it stood there, with a comma, if it had one.
extension BytePen {
    @inline(__always)
    mutating func append(headOfReplyTo id: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "{"))
        if id.isEmpty { return }
        append("\"id\":")
        append(id)
        append(UInt8(ascii: ","))
    }
}

extension ByteWriter {
    func append(headOfReplyTo id: UnsafeRawBufferPointer) {
        write(atMost: 8 + id.count) { pen in pen.append(headOfReplyTo: id) }
    }
}
