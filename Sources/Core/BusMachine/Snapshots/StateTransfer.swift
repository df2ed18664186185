import BusJSON

/// A bus at rest, as bytes: what a log begins with, so that not all of it has to be replayed, and how a daemon hands
/// everything it holds to its successor, so that clients do not notice a restart.
///
/// It is a sequence of records. Each is one line of JSON with a `kind`; where a record has bytes of its own (what a
/// connection has sent or not received yet), the line says how many, and they follow its end. The first record names
/// the form; a daemon accepts only the forms it knows.
///
/// | kind | what it holds |
/// |---|---|
/// | `bus` | form, epoch, revision, the order of changes, the clock |
/// | `type` | a definition, in the order in which types are known |
/// | `identity` | a uid or token, in the order of their numbers |
/// | `session` | its number, its principal, its will |
/// | `connection` | number, peer, session, unsent output, unread input; of a hand-over only |
/// | `lingering` | a session that waits for its client, and until when; of a hand-over only |
/// | `member` | its lease, and the place of its copy, which has the states; of a hand-over of a shared bus only |
/// | `store` | address, state, revision, creator, session; of each type in the order of creation |
/// | `view` | address and revision of a view's store, whose state is recomputed |
/// | `drop` | a store that was dropped, for subscriptions that lag behind |
/// | `key` | a remembered key and its reply |
/// | `timer` | store or type, name, time, action, payload, principal; or a store's lease; in the order they were set |
/// | `subscription` | connection, number, filter, position; of a hand-over only |
/// | `end` | the number of records and the digest of all bytes before it, so that a torn or altered copy is detected |
package enum StateTransfer {
    /// The form of snapshots.
    package static let snapshotForm = 1
    /// The form of hand-overs. In form 1 connections were sessions, and had wills.
    package static let form = 2

    /// The bytes with the correct count and digest, for those who altered them on purpose.
    package static func sealed(_ bytes: UnsafeRawBufferPointer, records: Int) -> [UInt8] {
        let writer = ByteWriter(capacity: bytes.count + 128)
        writer.append(bytes)
        appendEnd(to: writer, records: records)
        return Array(writer.bytes)
    }

    /// The last record.
    static func appendEnd(to writer: ByteWriter, records: Int) {
        let digest = DeduplicationTable.digest(of: writer.bytes)
        writer.append("{\"kind\":\"end\",\"records\":", decimal: records)
        writer.append(",\"digest\":\"", raw: text(of: digest))
        writer.append("\"}\n")
    }

    /// Writes what `text(of:)` gives.
    static func append(_ digest: DeduplicationTable.Digest, to line: ByteWriter) {
        line.append(hexadecimal: digest.first)
        line.append(UInt8(ascii: "-"))
        line.append(hexadecimal: digest.second)
    }

    /// A digest as written in the last record.
    static func text(of digest: DeduplicationTable.Digest) -> String {
        String(digest.first, radix: 16) + "-" + String(digest.second, radix: 16)
    }

    /// The digest that `text(of:)` wrote.
    static func digest(of text: UnsafeRawBufferPointer) -> DeduplicationTable.Digest? {
        var halves: (UInt64, UInt64) = (0, 0)
        var isSecond = false
        guard (3...33).contains(text.count) else { return nil }
        for byte in text {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - 48
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - 87
            case UInt8(ascii: "-") where !isSecond:
                isSecond = true
                continue
            default: return nil
            }
            if isSecond {
                halves.1 = halves.1 << 4 | UInt64(digit)
            } else {
                halves.0 = halves.0 << 4 | UInt64(digit)
            }
        }
        return isSecond ? DeduplicationTable.Digest(first: halves.0, second: halves.1) : nil
    }

    /// Connections by number, so that their sockets can be matched before anything is taken over.
    package struct Summary: Sendable {
        package let epoch: String
        package let revision: Int
        package let connections: [Int]
        /// Of a bus that several machines share.
        package let member: Member?
    }

    /// How the next process goes on as the same member of a shared bus.
    package struct Member: Equatable, Sendable {
        /// Its lease in the shared log.
        package let lease: Int
        /// Up to which place of the shared log its copy is.
        package let place: Int

        package init(lease: Int, place: Int) { (self.lease, self.place) = (lease, place) }

        init(_ record: TransferRecord) throws(TransferFailure) {
            guard let lease = record.members["lease"]?.int else { throw record.missing("lease") }
            self.init(lease: lease, place: try record.integer("place"))
        }
    }

    /// Reads the summary of a hand-over.
    package static func summary(of bytes: UnsafeRawBufferPointer) throws(TransferFailure) -> Summary {
        var records = RecordReader(bytes)
        let bus = try records.bus()
        var connections: [Int] = []
        var member: Member?
        while let record = try records.next() {
            if record.kind == "connection" { connections.append(try record.integer("id")) }
            if record.kind == "member" { member = try Member(record) }
        }
        return Summary(
            epoch: try bus.string("epoch"), revision: try bus.integer("revision"), connections: connections,
            member: member)
    }
}

/// Why a bus can't be taken over; nothing has been changed then.
package struct TransferFailure: Error, Sendable {
    /// One sentence.
    package let message: String

    package init(_ message: String) { self.message = message }
}
