import FluxBus
import Foundation
import TestCertificates
import TestFiles
import TestServer
import Testing

/// The client library through TLS.
@Suite(.timeLimit(.minutes(10))) struct SecureConnectionTests {
    private static let token = "0123456789abcdef"
    private let authority: TestAuthority
    private let bus: LiveBus

    init() throws { (authority, bus) = try Self.bus() }

    private static func bus(
        _ more: String = "", change: (TestAuthority, inout LiveBus.Setup) throws -> Void = { _, _ in }
    ) throws -> (TestAuthority, LiveBus) {
        let authority = try TestAuthority()
        let server = try authority.server()
        var setup = LiveBus.Setup()
        setup.tokens = "phone \(token)"
        setup.secured = [
            "{ tls: \"127.0.0.1:0\", certificate: \(server.certificate), key: \(server.key), "
                + "clients: \(authority.certificate)\(more) }"
        ]
        try change(authority, &setup)
        return (authority, try LiveBus(setup))
    }

    private func address(of bus: LiveBus? = nil, host: String = "localhost") throws -> BusAddress {
        let text = (bus ?? self.bus).addresses[1]
        let port = try #require(text.split(separator: ":").last)
        return try BusAddress(parsing: "tls:\(host):\(port)")
    }

    private func options(_ issued: TestAuthority.Issued? = nil, ca: String? = nil) -> BusOptions {
        var options = BusOptions()
        options.tls = TLSOptions(
            ca: ca ?? authority.certificate, certificate: issued?.certificate, key: issued?.key)
        return options
    }

    private func error(_ body: () async throws -> Void) async -> BusError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? BusError
        }
    }

    @Test func addressesOfTLSAreRead() throws {
        #expect(try BusAddress(parsing: "tls:hall.home:7412") == .tls(host: "hall.home", port: 7412))
        #expect(try BusAddress(parsing: "tls:[::1]:7412").description == "tls:[::1]:7412")
        #expect(throws: BusError.self) { try BusAddress(parsing: "tls:hall.home") }
    }

    @Test(arguments: ["localhost", "127.0.0.1"])
    func aBusIsUsedThroughTLS(host: String) async throws {
        var options = options()
        options.token = Self.token
        let client = try await Bus.connect(address(host: host), options: options)
        #expect(client.greeting.identity["token"]?.string == "phone")
        for _ in 0..<50 { _ = try await client.dispatch("increment", to: .store("counter/main")) }
        #expect(try await client.state(of: "counter/main").state["count"] == 50)
        await client.close()
    }

    @Test func aCertificateNeedsNoToken() async throws {
        let client = try await Bus.connect(
            address(), options: options(authority.client("display-hall")))
        #expect(client.greeting.identity["certificate"]?.string == "CN=display-hall,O=Home")
        await client.close()
        let connection = try BusConnection(
            to: address(), tls: options(authority.client("second")).tls, until: Deadline(after: .seconds(20)))
        try connection.request(BusRequest("ping"))
        connection.finishSending()
        #expect(throws: BusError.self) { try connection.receiveLine(until: Deadline(after: .seconds(20))) }
    }

    @Test func muchGoesThroughAtOnce() throws {
        let connection = try BusConnection(
            to: address(), tls: options(authority.client("display-hall")).tls,
            until: Deadline(after: .seconds(20)))
        // More than the sockets hold, so each side has to read while it writes.
        let text = String(repeating: "abcdefgh", count: 8000)
        for _ in 0..<200 { connection.queue(BusRequest("ping")) }
        for count in 0..<100 {
            let line = #"{"op":"ping","id":"\#(count)\#(text)"}"#
            Array(line.utf8).withUnsafeBytes { connection.queue(line: $0) }
        }
        try connection.flush(until: Deadline(after: .seconds(20)))
        for _ in 0..<200 { _ = try connection.receiveLine(until: Deadline(after: .seconds(20))) }
        for count in 0..<100 {
            let line = try connection.receiveLine(until: Deadline(after: .seconds(20)))
            #expect(String(decoding: line, as: UTF8.self) == #"{"id":"\#(count)\#(text)","ok":true}"#)
        }
    }

    @Test func whomNotToTrustIsSaid() async throws {
        let other = try TestAuthority("Another Authority")
        var unknown = options(ca: other.certificate)
        unknown.token = Self.token
        let untrusted = await error { _ = try await Bus.connect(address(), options: unknown) }
        #expect(untrusted?.code == .untrusted)
        #expect(
            untrusted?.message.contains("--ca or $FLUXBUS_CA") == true, "\(String(describing: untrusted))")
        // Two names of this machine, one of which does not stand in the certificate.
        let (named, bus) = try Self.bus { authority, setup in
            let issued = try authority.server("named", names: "DNS:hall.home")
            setup.secured = [
                "{ tls: \"127.0.0.1:0\", certificate: \(issued.certificate), key: \(issued.key) }"
            ]
        }
        var wrongName = options(ca: named.certificate)
        wrongName.token = Self.token
        let mismatch = await error { _ = try await Bus.connect(address(of: bus), options: wrongName) }
        #expect(mismatch?.code == .untrusted)
        #expect(mismatch?.message.contains("is for another host") == true, "\(String(describing: mismatch))")
    }

    @Test func whoIsRefusedIsToldWhy() async throws {
        let (own, bus) = try Self.bus(", require: true")
        let other = try TestAuthority("Another Authority")
        var none = options(ca: own.certificate)
        none.token = Self.token
        let asked = await error { _ = try await Bus.connect(address(of: bus), options: none) }
        #expect(asked?.code == .unauthorized)
        #expect(
            asked?.message.contains("--certificate and --certificate-key") == true,
            "\(String(describing: asked))"
        )
        let wrong = try options(other.client("display-hall"), ca: own.certificate)
        let refused = await error { _ = try await Bus.connect(address(of: bus), options: wrong) }
        #expect(refused?.code == .unauthorized)
        #expect(
            refused?.message.contains("refuses this certificate") == true, "\(String(describing: refused))")
        // What is missing here is said before anything is tried.
        let missing = options(ca: "/nonexistent/ca.pem")
        var withToken = missing
        withToken.token = Self.token
        let absent = await error { _ = try await Bus.connect(address(of: bus), options: withToken) }
        #expect(absent?.code == .invalidOptions)
        let nothing = await error { _ = try await Bus.connect(address(of: bus), options: options()) }
        #expect(nothing?.code == .unauthorized)
    }

    /// Of one that is cut, what is left may still be certificates: others are missing, and nobody says so.
    @Test func noFileIsReadInPart() async throws {
        let directory = TemporaryDirectory()
        let path = try directory.write(
            "ca.pem",
            try String(contentsOfFile: authority.certificate, encoding: .utf8)
                + String(repeating: "\n", count: 4 << 20))
        var options = options(ca: path)
        options.token = Self.token
        let failure = await error { _ = try await Bus.connect(address(of: bus), options: options) }
        #expect(failure?.code == .invalidOptions)
        #expect(
            failure?.message
                == "The certificate can't be used: \(path) is larger than 4 MiB; give another one.")
    }

    /// As a shell writes `<(command)`.
    @Test func aFileMayBeAPipe() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { close(ends[0]) }
        let text = Array(try String(contentsOfFile: authority.certificate, encoding: .utf8).utf8)
        #expect(write(ends[1], text, text.count) == text.count)
        close(ends[1])
        var options = options(ca: "/dev/fd/\(ends[0])")
        options.token = Self.token
        let client = try await Bus.connect(address(of: bus), options: options)
        await client.close()
    }

    @Test func aPlainBusIsNoneWithTLS() async throws {
        var setup = LiveBus.Setup()
        setup.tokens = "phone \(Self.token)"
        setup.listen = ["tcp:127.0.0.1:0"]
        let plain = try LiveBus(setup)
        var options = options()
        options.token = Self.token
        let failure = await error { _ = try await Bus.connect(address(of: plain), options: options) }
        #expect(failure?.code == .unreachable)
        #expect(failure?.message.contains("TLS failed with") == true, "\(String(describing: failure))")
    }

    @Test func aClientComesBackThroughTLS() async throws {
        // A port that stays: a restart must find it again.
        var setup = LiveBus.Setup()
        setup.tokens = "phone \(Self.token)"
        let server = try authority.server("again")
        let port = try FreePorts.take(1)[0]
        setup.secured = [
            "{ tls: \"127.0.0.1:\(port)\", certificate: \(server.certificate), key: \(server.key) }"
        ]
        let bus = try LiveBus(setup)
        var options = options()
        options.token = Self.token
        options.backOff = BackOff(first: .milliseconds(5), longest: .milliseconds(50))
        let client = try await Bus.connect(address(of: bus), options: options)
        let epoch = client.greeting.epoch
        _ = try await client.dispatch("increment", to: .store("counter/main"))
        bus.stop()
        try bus.start()
        _ = try await client.state(of: "counter/main")
        #expect(client.greeting.epoch != epoch)
        await client.close()
    }
}
