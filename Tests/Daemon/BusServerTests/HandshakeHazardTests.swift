import BusServer
import BusTLS
import Foundation
import TestCertificates
import TestFiles
import TestServer
import Testing

/// What may go wrong before a TLS client is known: it costs nobody anything, and leaves nothing behind.
@Suite(.timeLimit(.minutes(10))) struct HandshakeHazardTests {
    /// Descriptors that Dispatch opens when it first arms a timer: few, and once.
    private static let slack = 2

    /// What a client of ours sends first.
    private func clientHello(_ authority: TestAuthority) throws -> [UInt8] {
        let trusted = try Array(Data(contentsOf: URL(fileURLWithPath: authority.certificate)))
        let context = try TLSContext(clientTrusting: TLSCertificate.all(inPEM: trusted))
        let session = TLSSession(context, as: .client(host: "localhost"))
        #expect(try !session.shakeHands())
        return Array(session.output)
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) {
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    @Test(arguments: 0..<3)
    func damagedHandshakesLeakNothingAndDelayNobody(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let authority = try TestAuthority()
        let server = try authority.server()
        let place = TemporaryDirectory()
        try place.write("tokens", "phone \(SecureBus.token)")
        let file = try place.write(
            "fluxbusd.yaml",
            """
            tokens: tokens
            listen:
              - unix: s
              - { tls: "127.0.0.1:0", certificate: \(server.certificate), key: \(server.key), clients: \(authority.certificate) }
            """)
        let daemon = try RunningProgram("fluxbusd", ["--config", file])
        var address: Substring?
        while address == nil, let said = daemon.nextMessage() {
            address = said.split { " ,;".contains($0) }.first { $0.hasPrefix("tls:") }
        }
        guard let address else { throw Sockets.Failure("The daemon does not listen.") }
        let innocent = try LineClient("unix:\(place.path)/s")
        _ = try innocent.ask(SecureBus.ping)
        let secure = try SecureClient(String(address), trusting: authority.certificate).shakeHands()
        _ = try secure.ask(SecureBus.hello)
        let before = try daemon.descriptorCount()

        let hello = try clientHello(authority)
        var open: [Int32] = []
        var delays = 0
        for _ in 0..<150 {
            let descriptor = try Sockets.connect(to: String(address))
            var bytes = hello
            switch random.next(below: 5) {
            case 0: bytes = Array(hello.prefix(random.next(below: hello.count)))
            case 1: bytes[random.next(below: bytes.count)] ^= 1 << UInt8(random.next(below: 8))
            case 2: bytes = (0..<random.next(below: 3000)).map { _ in UInt8(random.next(below: 256)) }
            case 3: bytes = Array("GET / HTTP/1.1\r\n\r\n".utf8)
            default: break
            }
            let cut = random.next(below: bytes.count + 1)
            send(Array(bytes[..<cut]), to: descriptor)
            // Somebody else is served in between, so the piece was read by itself.
            let start = ContinuousClock.now
            #expect(try innocent.ask(SecureBus.ping) == SecureBus.pong)
            #expect(try secure.ask(SecureBus.ping) == SecureBus.pong)
            if start.duration(to: .now) >= .milliseconds(900) { delays += 1 }
            send(Array(bytes[cut...]), to: descriptor)
            if random.next(below: 2) == 0 { close(descriptor) } else { open.append(descriptor) }
        }
        // A second is what an attacker waits for, nearly every time; a busy machine may hold up the others now and then.
        #expect(delays < 4)
        for descriptor in open { close(descriptor) }
        let end = ContinuousClock.now + .seconds(60)
        while try daemon.descriptorCount() > before + Self.slack, ContinuousClock.now < end {
            _ = try innocent.ask(SecureBus.ping)
        }
        #expect(try daemon.descriptorCount() <= before + Self.slack)
        daemon.signal(SIGTERM)
        #expect(try daemon.wait().status == 0)
    }

    @Test func halfOpenHandshakesKeepNobodyOut() throws {
        let secure = try SecureBus()
        let begun = try (0..<70).map { _ in try secure.client() }
        for client in begun { try client.sayClientHello() }
        let known = try secure.client().shakeHands()
        #expect(try known.ask(SecureBus.hello).contains(#""ok":true"#))
        // The last of them can still go on, and the first had to go.
        #expect(try begun[69].shakeHands().ask(SecureBus.hello).contains(#""ok":true"#))
        #expect(throws: (any Error).self) { try begun[0].shakeHands().ask(SecureBus.hello) }
    }

    @Test func slowClientsAreGivenUp() throws {
        let secure = try SecureBus { $0.timeouts.hello = 2000 }
        let silent = try LineClient(secure.address)
        let begun = try LineClient(secure.address)
        try begun.send(bytes: "\u{16}\u{3}\u{1}")
        let established = try secure.client().shakeHands()
        // Before its handshake is complete a client hears nothing it could not understand.
        #expect(try silent.rest().isEmpty)
        #expect(try begun.rest().isEmpty)
        let words = try established.rest()
        #expect(words.count == 1)
        #expect(words.first?.contains(#""code":"protocol""#) == true, "\(words)")
    }

    @Test func oneAddressTakesTheRoomOfItsOwnOnly() throws {
        let secure = try SecureBus()
        // 127.0.0.2 is another address of this machine.
        let program = """
            import socket, sys
            s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), source_address=("127.0.0.2", 0))
            print("in", flush=True)
            sys.stdin.readline()
            s.setblocking(False)
            try: print("out" if s.recv(1) == b"" else "said", flush=True)
            except BlockingIOError: print("still in", flush=True)
            """
        let port = try #require(secure.address.split(separator: ":").last)
        let other = try RunningProgram(
            ["/usr/bin/env", "python3", "-c", program, String(port)],
            environment: ProcessInfo.processInfo.environment,
            hasInput: true)
        #expect(other.nextLine() == "in")
        let crowd = try (0..<80).map { _ in try LineClient(secure.address) }
        let known = try secure.client().shakeHands()
        _ = try known.ask(SecureBus.hello)
        try other.send("")
        #expect(other.nextLine() == "still in")
        withExtendedLifetime(crowd) {}
    }
}

/// Random numbers that follow from a seed.
private struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ (mixed >> 31)) % UInt64(max(1, bound)))
    }
}
