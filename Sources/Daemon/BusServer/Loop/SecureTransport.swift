import BusEngine
import BusMachine
import BusTLS
import Glibc

/// The TLS of one connection, between its socket and the engine. What was encrypted and not yet sent is bounded: as long as
/// there is some, nothing more of the engine's output is encrypted.
///
/// Confined to the bus queue.
final class SecureTransport {
    /// Bytes that a session may have to send of its own, such as answers to updates of keys, before its peer counts as
    /// hostile: it sends and does not read.
    private static let longestOutput = 256 << 10
    /// Bytes taken from a peer before its handshake is complete: a chain of certificates takes a few thousand.
    private static let longestHandshake = 64 << 10
    /// Room for what may be decrypted at once: what was received, and a record that had been incomplete.
    static func plainBuffer(forReading count: Int) -> UnsafeMutableRawBufferPointer {
        .allocate(byteCount: count + 2 * TLSSession.record, alignment: 16)
    }

    private let session: TLSSession
    private var received = 0
    /// The last turn in which as much was written as one turn allows.
    var sated = 0

    init(_ context: TLSContext) { session = TLSSession(context, as: .server) }

    var isEstablished: Bool { session.isEstablished }
    var hasOutput: Bool { session.hasOutput }

    /// The client's certificate, once it is verified.
    var certificate: ClientCertificate? {
        session.peer.map { ClientCertificate(subject: $0.subject, names: $0.names) }
    }

    /// Takes bytes from the socket and decrypts what is complete. Returns how many bytes there are now, and whether the
    /// client has finished sending.
    func receive(
        _ bytes: UnsafeRawBufferPointer, into plain: UnsafeMutableRawBufferPointer
    ) throws(TLSFailure) -> (count: Int, hasEnded: Bool) {
        session.receive(bytes)
        if !session.isEstablished {
            received += bytes.count
            guard received <= Self.longestHandshake else {
                throw TLSFailure(.violation, "the handshake is too long")
            }
            guard try session.shakeHands() else { return (0, false) }
        }
        var count = 0
        while count < plain.count {
            switch try session.read(into: UnsafeMutableRawBufferPointer(rebasing: plain[count...])) {
            case .bytes(let more): count += more
            case .end: return (count, true)
            case .nothingYet:
                guard session.output.count <= Self.longestOutput else {
                    throw TLSFailure(
                        .violation, "the client requests new keys and does not read the answers")
                }
                return (count, false)
            }
        }
        preconditionFailure("More was decrypted than was received.")
    }

    /// Encrypts at most one record of pieces; returns how many bytes that was.
    func encrypt(
        _ pieces: UnsafeBufferPointer<OutputPiece>, _ scratch: UnsafeMutableRawBufferPointer
    ) throws(TLSFailure) -> Int {
        let room = min(scratch.count, TLSSession.record)
        var count = 0
        for piece in pieces where count < room {
            let bytes = UnsafeRawBufferPointer(start: piece.base, count: min(piece.count, room - count))
            UnsafeMutableRawBufferPointer(rebasing: scratch[count...]).copyMemory(from: bytes)
            count += bytes.count
        }
        try session.write(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
        return count
    }

    enum Flushed { case all, full, failed }

    /// Sends what is encrypted, as far as the socket takes it.
    func flush(_ descriptor: Int32, _ calls: inout SystemCallCount) -> Flushed {
        while true {
            let output = session.output
            if output.isEmpty { return .all }
            let piece = OutputPiece(base: output.baseAddress, count: output.count)
            let sent = withUnsafePointer(to: piece) {
                SystemCall.send(descriptor, UnsafeBufferPointer(start: $0, count: 1), &calls)
            }
            switch sent {
            case .bytes(let count): session.sent(count)
            case .wouldBlock: return .full
            case .failed: return .failed
            }
        }
    }

    /// The last line for a client that the engine does not know.
    func sayLastWords(_ line: String, to descriptor: Int32, _ calls: inout SystemCallCount) {
        var line = line
        if session.isEstablished { try? line.withUTF8 { try session.write(UnsafeRawBufferPointer($0)) } }
        end(descriptor, &calls)
    }

    /// Tells the client that this was all, as far as its socket takes it.
    func end(_ descriptor: Int32, _ calls: inout SystemCallCount) {
        session.finish()
        _ = flush(descriptor, &calls)
    }
}

/// The connections that have TLS, by their numbers.
final class SecureTransports {
    private var slots: [SecureTransport?] = []
    /// What was decrypted last.
    let plain = SecureTransport.plainBuffer(forReading: LoopLimits.readBuffer)

    deinit { plain.deallocate() }

    subscript(id: ConnectionID) -> SecureTransport? {
        get { slots.indices.contains(id) ? slots[id] : nil }
        set {
            while slots.count <= id { slots.append(nil) }
            slots[id] = newValue
        }
    }
}
