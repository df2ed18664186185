import BusTLS
import Foundation
import TestCertificates

/// What comes from the network before anybody is known: bytes to the server's end of TLS. They are refused, or it waits for
/// more; what it answers is bounded, and nothing is ever decrypted for somebody without a handshake.
enum HandshakeTarget: FuzzTarget {
    static let name = "Handshake"

    /// Made once: certificates are OpenSSL's work.
    private nonisolated(unsafe) static var context = makeContext()

    private static func makeContext() -> TLSContext {
        do {
            let authority = try TestAuthority()
            let issued = try authority.server()
            return try TLSContext(
                serverWith: TLSCertificate.all(inPEM: read(issued.certificate)),
                TLSKey(inPEM: read(issued.key)),
                clients: TLSCertificate.all(inPEM: read(authority.certificate)))
        } catch {
            fatalError("There is no certificate to fuzz with: \(error)")
        }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    static func seeds() throws -> [[UInt8]] {
        let session = TLSSession(try TLSContext(clientTrusting: nil), as: .client(host: "localhost"))
        _ = try session.shakeHands()
        return [Array(session.output)]
    }

    /// A whole first message is taken; the peer never goes on from there.
    static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let session = TLSSession(context, as: .server)
        var isTaken = true
        // In two pieces, wherever the first ends.
        let cut = bytes.isEmpty ? 0 : Int(bytes[0]) % bytes.count
        for piece in [bytes[..<cut], bytes[cut...]] {
            session.receive(UnsafeRawBufferPointer(rebasing: piece))
            do throws(TLSFailure) {
                let isDone = try session.shakeHands()
                demand(!isDone && !session.isEstablished, "A handshake was completed without a key.")
            } catch {
                isTaken = false
            }
        }
        demand(session.output.count < 64 << 10, "The answer has no bound.")
        session.sent(session.output.count)
        return isTaken && !bytes.isEmpty
    }
}
