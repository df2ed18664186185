import BusTLS
import Glibc

/// TLS between a client's socket and the plain bytes of its connection. What is encrypted and not sent is bounded: as long as
/// there is some, nothing more is encrypted.
struct FrontSecurity {
    /// Bytes taken from a client before its handshake is complete: no browser sends more than a few thousand.
    private static let longestHandshake = 64 << 10
    /// Bytes that the session itself wants to send to a client that does not read, such as answers to updates of keys.
    private static let longestOutput = 256 << 10

    private let session: TLSSession
    private var received = 0

    init(_ context: TLSContext) { session = TLSSession(context, as: .server) }

    var isEstablished: Bool { session.isEstablished }
    var hasOutput: Bool { session.hasOutput }

    /// Takes bytes of the socket, and gives the plain ones; nil at the end of what the client sends.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(TLSFailure) -> (plain: [UInt8], isEnd: Bool)
    {
        session.receive(bytes)
        if !session.isEstablished {
            received += bytes.count
            guard received <= Self.longestHandshake else {
                throw TLSFailure(.violation, "the handshake is too long")
            }
            guard try session.shakeHands() else { return ([], false) }
        }
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: TLSSession.record, alignment: 16)
        defer { space.deallocate() }
        var plain: [UInt8] = []
        while true {
            switch try session.read(into: space) {
            case .bytes(let count): plain += space[..<count]
            case .end: return (plain, true)
            case .nothingYet:
                guard session.output.count <= Self.longestOutput else {
                    throw TLSFailure(.violation, "the client does not read the answers that it asks for")
                }
                return (plain, false)
            }
        }
    }

    /// Encrypts what comes next of the queue, one record of it, if nothing else waits to be sent.
    func encrypt(_ queue: inout ByteQueue) throws(TLSFailure) {
        guard session.isEstablished, !session.hasOutput, !queue.isEmpty else { return }
        let record = Array(queue.prefix(TLSSession.record))
        var failure: TLSFailure?
        record.withUnsafeBytes { bytes in
            do throws(TLSFailure) { try session.write(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        queue.removeFirst(record.count)
    }

    /// Sends what is encrypted, as far as the socket takes it.
    func flush(_ descriptor: Int32) -> Transfer {
        while session.hasOutput {
            switch Transfer.send(descriptor, session.output) {
            case .bytes(let count): session.sent(count)
            case let other: return other
            }
        }
        return .bytes(0)
    }

    func finish() { session.finish() }
}
