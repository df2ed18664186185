import BusTLS
import TestCertificates
import TestSupport
import Testing

/// Bytes between two ends, however they are cut.
struct TransportTests {
    private static let contexts = Result { try makeContexts() }
    private let client: TLSContext
    private let server: TLSContext

    init() throws { (client, server) = try Self.contexts.get() }

    private static func makeContexts() throws -> (client: TLSContext, server: TLSContext) {
        let authority = try TestAuthority()
        let issued = try authority.server()
        let ours = try authority.client("ours")
        let trusted = try TLSCertificate.all(inPEM: contents(authority.certificate))
        let client = try TLSContext(
            clientTrusting: trusted, chain: TLSCertificate.all(inPEM: contents(ours.certificate)),
            TLSKey(inPEM: contents(ours.key)))
        let server = try TLSContext(
            serverWith: TLSCertificate.all(inPEM: contents(issued.certificate)),
            TLSKey(inPEM: contents(issued.key)), clients: trusted)
        return (client, server)
    }

    private func pair() throws -> SessionPair {
        let pair = SessionPair(client: client, server: server)
        try #require(pair.shakeHands() == (nil, nil))
        return pair
    }

    @Test(arguments: 0..<4)
    func muchArrivesExactlyInAnyPieces(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let pair = try pair()
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let (up, down) = (bytes(400_000), bytes(400_000))
        var (sentUp, sentDown) = (0, 0)
        var (cameUp, cameDown): ([UInt8], [UInt8]) = ([], [])
        func length() -> Int {
            random.oneIn(4) ? .random(in: 1...40_000, using: &random) : .random(in: 1...60, using: &random)
        }
        while cameUp.count < up.count || cameDown.count < down.count {
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let piece = Array(up[sentUp...].prefix(length()))
                sentUp += piece.count
                if !piece.isEmpty { try pair.client.write(piece) }
            case 1:
                let piece = Array(down[sentDown...].prefix(length()))
                sentDown += piece.count
                if !piece.isEmpty { try pair.server.write(piece) }
            case 2: pair.move(from: pair.client, to: pair.server, atMost: length())
            case 3: pair.move(from: pair.server, to: pair.client, atMost: length())
            case 4: cameUp += try pair.read(pair.server) ?? []
            default: cameDown += try pair.read(pair.client) ?? []
            }
        }
        #expect(cameUp == up)
        #expect(cameDown == down)
    }

    @Test func aHandshakeMayComeByteByByte() throws {
        let pair = SessionPair(client: client, server: server)
        var isMoving = true
        while isMoving {
            _ = try pair.client.shakeHands()
            isMoving = pair.move(from: pair.client, to: pair.server, atMost: 1)
            _ = try pair.server.shakeHands()
            isMoving = pair.move(from: pair.server, to: pair.client, atMost: 1) || isMoving
        }
        #expect(pair.client.isEstablished)
        #expect(pair.server.peer?.subject == "CN=ours,O=Home")
    }

    @Test(arguments: 0..<60)
    func damagedHandshakesFailOrWait(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let good = try pair().recorded
        var bytes = good
        switch seed % 4 {
        case 0: bytes = Array(good.prefix(.random(in: 0..<good.count, using: &random)))
        case 1:
            for _ in 0...Int.random(in: 0..<8, using: &random) {
                bytes[.random(in: 0..<bytes.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
            }
        case 2:
            let cut = Int.random(in: 0..<good.count, using: &random)
            bytes = Array(good[..<cut] + good[min(good.count, cut + .random(in: 1...64, using: &random))...])
        default: bytes = (0..<2000).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        let session = TLSSession(server, as: .server)
        var left = bytes[...]
        var failure: TLSFailure?
        while !left.isEmpty, failure == nil {
            let piece = Array(left.prefix(.random(in: 1...200, using: &random)))
            left = left.dropFirst(piece.count)
            piece.withUnsafeBytes { session.receive($0) }
            do throws(TLSFailure) {
                // The recording was made with other random numbers, so it never fits.
                #expect(try !session.shakeHands())
            } catch {
                failure = error
            }
            session.sent(session.output.count)
        }
        #expect(!session.isEstablished)
        #expect(session.peer == nil)
        if seed % 4 == 3 { #expect(failure?.kind == .violation) }
        if failure != nil {
            var space = [UInt8](repeating: 0, count: 10)
            #expect(throws: TLSFailure.self) {
                try space.withUnsafeMutableBytes { try session.read(into: $0) }
            }
            #expect(throws: TLSFailure.self) { try session.write("late") }
        }
    }

    @Test func aChangedByteEndsAConnection() throws {
        let pair = try pair()
        try pair.client.write("increment")
        var bytes = Array(pair.client.output)
        bytes[bytes.count - 3] ^= 1
        bytes.withUnsafeBytes { pair.server.receive($0) }
        #expect(throws: TLSFailure.self) { try pair.read(pair.server) }
        // The alert tells why.
        #expect(pair.server.hasOutput)
    }
}
