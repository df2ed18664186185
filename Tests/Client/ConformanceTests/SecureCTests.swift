import TestCertificates
import TestServer
import Testing

/// The client in C through TLS.
@Suite(
    "The C client through TLS", .enabled(if: CLibrary.canBuild, "cc, make or pkg-config is missing."),
    .timeLimit(.minutes(10)))
struct SecureCTests {
    private static let token = "0123456789abcdef"
    private let authority: TestAuthority
    private let bus: LiveBus
    private let library: CLibrary
    private let counter: String

    init() throws {
        authority = try TestAuthority()
        let server = try authority.server()
        var setup = LiveBus.Setup()
        setup.tokens = "phone \(Self.token)"
        setup.secured = [
            "{ tls: \"127.0.0.1:0\", certificate: \(server.certificate), key: \(server.key), "
                + "clients: \(authority.certificate) }"
        ]
        bus = try LiveBus(setup)
        library = try CLibrary()
        counter = try library.build(["\(CLibrary.folder)/examples/counter.c"], as: "counter")
    }

    private func start(_ more: [String: String], host: String = "localhost") throws -> RunningProgram {
        let port = try #require(bus.addresses[1].split(separator: ":").last)
        let environment = ["FLUXBUS_ADDRESS": "tls:\(host):\(port)"].merging(more) { $1 }
        return try RunningProgram([counter], environment: environment, hasInput: true)
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func busIsUsedWithATokenOrACertificate(_ host: String) throws
    {
        let issued = try authority.client("display")
        let who = [
            ["FLUXBUS_TOKEN": Self.token],
            ["FLUXBUS_CERTIFICATE": issued.certificate, "FLUXBUS_KEY": issued.key],
        ]
        for (number, one) in who.enumerated() {
            let program = try start(one.merging(["FLUXBUS_CA": authority.certificate]) { $1 }, host: host)
            #expect(program.nextLine() == "\(3 * number)")
            try program.send("3")
            #expect(program.nextLine() == "\(3 * number + 3)")
            try program.endInput()
            #expect(try program.wait().status == 0)
        }
    }

    /// Another authority's bus is not believed, nor one that has another name; and who is nobody is told so.
    @Test func whomNotToTrustIsSaid() throws {
        let other = try TestAuthority("Another")
        let cases = [
            (
                ["FLUXBUS_CA": other.certificate, "FLUXBUS_TOKEN": Self.token],
                "The bus can't prove that it is the one"
            ),
            (
                ["FLUXBUS_CA": "/nowhere", "FLUXBUS_TOKEN": Self.token],
                "the file of authorities can't be used"
            ),
            (["FLUXBUS_CA": authority.certificate, "FLUXBUS_TOKEN": "wrong"], "token"),
        ]
        for (environment, sentence) in cases {
            let outcome = try start(environment).wait()
            #expect(outcome.errors.contains(sentence), "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
        }
    }
}
