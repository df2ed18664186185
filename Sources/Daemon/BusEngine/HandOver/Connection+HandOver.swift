import BusJSON
import BusMachine
import BusProtocol

/// A connection as the daemon that takes over reads it.
extension Connection {
    func handOver(to writer: RecordWriter) {
        let data = ByteWriter()
        output.outbox.forEachPiece { data.append($0) }
        let outputBytes = data.count
        let reply = output.heldReply ?? []
        reply.withUnsafeBytes { data.append($0) }
        // A request that was begun and not finished is started again.
        if let line = read?.line ?? deferredLine {
            line.withUnsafeBytes { data.append($0) }
            data.append(UInt8(ascii: "\n"))
        }
        let rest = input.rest
        rest.bytes.withUnsafeBytes { data.append($0) }
        writer.record("connection", data: data.bytes) { record in
            record("id", .int(id))
            peer.handOver(record)
            if let principal = access.principal {
                record("identity", .int(Int(principal.number)))
                record("by", (try? JSON(parsing: principal.by)) ?? [:])
            }
            if access.token != 0 { record("token", .int(access.token)) }
            if let session = hold.session { record("session", .int(session.id)) }
            if hold.number > 0 { record("shared", .int(hold.number)) }
            if hold.hasLeft { record("left", true) }
            if let name = hold.name {
                record("sessionName", .string(name))
                record("linger", .int(hold.linger))
            }
            record("output", .int(outputBytes))
            if output.heldReply != nil { record("reply", .int(reply.count)) }
            if rest.isSkipping { record("skipping", true) }
            record("nextSubscription", .int(delivery.nextNumber))
            record("willBytes", .int(hold.willBytes))
            if waits.contains(.turn) { record("blocked", true) }
            if input.hasEnded { record("inputEnded", true) }
            if isClosing { record("closing", true) }
        }
    }
}

extension Connections {
    /// A connection of another daemon, of which nothing is known yet but who is at its other end.
    func takeOver(_ record: TransferRecord) throws(TransferFailure) -> Connection {
        guard let connection = add(try Peer(record), numbered: try record.integer("id")) else {
            throw record.missing("id")
        }
        return connection
    }

    /// What it is besides its principal and its session: the output that was not sent, a reply that waited, the input that
    /// was not executed.
    func takeOver(_ record: TransferRecord, into connection: Connection) throws(TransferFailure) {
        connection.delivery.begin(at: try record.integer("nextSubscription"))
        countWill(try record.integer("willBytes"), of: connection)
        if let number = record.members["shared"]?.int, number > 0 { connection.hold.begin { number } }
        if record.flag("left") { connection.hold.noteLeft() }
        if record.flag("blocked") { connection.wait(for: .turn) }
        if record.flag("inputEnded") { connection.input.end() }
        let output = try record.integer("output")
        let reply = record.members["reply"]?.int
        let inputStart = output + (reply ?? 0)
        guard output >= 0, reply ?? 0 >= 0, inputStart <= record.data.count else {
            throw record.missing("output")
        }
        if output > 0 {
            write(to: connection) {
                $0.append(UnsafeRawBufferPointer(rebasing: record.data[..<output]))
            }
        }
        if reply != nil { hold(reply: Array(record.data[output..<inputStart]), of: connection) }
        connection.input.takeOver(
            UnsafeRawBufferPointer(rebasing: record.data[inputStart...]), isSkipping: record.flag("skipping"))
        countHeld(connection)
        if record.flag("closing") { connection.close() }
    }
}

extension Peer {
    fileprivate func handOver(_ record: (String, JSON) -> Void) {
        switch self {
        case .unix(let uid, let pid, let unit):
            record("uid", .int(uid))
            record("pid", .int(pid))
            if let unit { record("unit", .string(unit)) }
        case .tcp(let address, let certificate):
            record("address", .string(address))
            if let certificate {
                record("certificate", .string(certificate.subject))
                record("names", .array(certificate.names.map { .string($0) }))
            }
        }
    }

    fileprivate init(_ record: TransferRecord) throws(TransferFailure) {
        guard let address = record.members["address"]?.string else {
            self = .unix(
                uid: try record.integer("uid"), pid: try record.integer("pid"),
                unit: record.members["unit"]?.string)
            return
        }
        let certificate = record.members["certificate"]?.string.map {
            ClientCertificate(
                subject: $0, names: (record.members["names"]?.array ?? []).compactMap(\.string))
        }
        self = .tcp(address: address, certificate: certificate)
    }
}
