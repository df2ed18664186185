import Logging
import TestCertificates
import TestServer

/// A live bus with TLS, whose certificates are of an authority of its own.
struct SecureBus {
    static let token = "0123456789abcdef"
    static let hello = #"{"op":"hello","token":"\#(token)"}"#
    static let ping = #"{"op":"ping"}"#
    static let pong = #"{"ok":true}"#

    let authority: TestAuthority
    let bus: LiveBus
    let log = NoteLog()

    /// - Parameter clients: Whether certificates of the authority's clients are taken, and more of the element of `listen`.
    init(clients: Bool = false, _ more: String = "", change: (inout LiveBus.Setup) -> Void = { _ in }) throws
    {
        let authority = try TestAuthority()
        let log = log
        let server = try authority.server()
        var setup = LiveBus.Setup()
        setup.tokens = "phone \(Self.token)"
        let wanted = clients ? ", clients: \(authority.certificate)" : ""
        setup.secured = [
            "{ tls: \"127.0.0.1:0\", certificate: \(server.certificate), key: \(server.key)\(wanted)\(more) }"
        ]
        setup.logger = Logger(label: "test") { _ in log.handler }
        change(&setup)
        self.authority = authority
        bus = try LiveBus(setup)
    }

    var address: String { bus.addresses[1] }

    /// A client whose handshake has not begun.
    func client(_ issued: TestAuthority.Issued? = nil) throws -> SecureClient {
        try SecureClient(
            address, trusting: authority.certificate, issued.map { ($0.certificate, $0.key) })
    }

    /// The entries about clients that were refused, as in the message catalog.
    var refusals: [NoteLog.Note] {
        log.notes.filter { $0.metadata["message-id"]?.description == "fc6f66f3b4f649b1b20a786420ce3382" }
    }
}
