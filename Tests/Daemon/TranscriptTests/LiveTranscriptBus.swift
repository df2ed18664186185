import BusJSON
import BusServer
import Logging
import TestFiles
import TestSupport

/// Runs transcripts over real sockets, against a bus in this process.
final class LiveTranscriptBus: TranscriptBus {
    private let place: TemporaryDirectory
    private let server: BusServer
    private let addresses: [String]
    private var clients: [Character: LineSocket] = [:]
    let epoch: String

    init(_ transcript: Transcript) throws {
        place = try Self.directory(for: transcript)
        let directory = place.path
        let speaksTCP = !transcript.tcp.isEmpty
        let flags = ConfigurationOverrides(
            listen: ["unix:\(directory)/bus.sock"] + (speaksTCP ? ["tcp:127.0.0.1:0"] : []),
            tokens: speaksTCP ? "\(directory)/tokens" : nil, types: "\(directory)/types",
            stores: transcript.stores, limits: transcript.limitTexts,
            log: transcript.hasLog ? "\(directory)/bus.sqlite" : nil)
        let setup = try ServerSetup.load(
            flags: flags, environment: ConfigurationOverrides(environment: [:]),
            defaultFile: "\(directory)/none.yaml")
        server = BusServer(setup, logger: Logger(label: "transcripts") { _ in SwiftLogNoOpLogHandler() })
        addresses = try server.start()
        epoch = try Self.epoch(of: addresses[0])
    }

    deinit {
        clients = [:]
        server.stop()
        server.waitUntilStopped()
    }

    /// Types and tokens, in a directory whose path is short enough for a socket.
    private static func directory(for transcript: Transcript) throws -> TemporaryDirectory {
        let place = TemporaryDirectory()
        for file in try SampleTypes.files(and: transcript.definitions) {
            try place.write("types/\(file.name)", String(decoding: file.bytes, as: UTF8.self))
        }
        try place.write("tokens", Transcript.tokens.map { "\($0.value) \($0.key)\n" }.joined())
        return place
    }

    private static func epoch(of address: String) throws -> String {
        let socket = try LineSocket(address)
        try socket.send(#"{"op":"hello"}"#)
        guard case .line(let line) = socket.receive(), let epoch = try JSON(parsing: line)["epoch"]?.string
        else {
            throw LineSocket.Failure(description: "The bus did not answer to hello.")
        }
        return epoch
    }

    func connect(_ client: Character, tcp: Bool) throws {
        clients[client] = try LineSocket(addresses[tcp ? 1 : 0])
    }

    func send(_ client: Character, _ line: String) throws { try clients[client]?.send(line) }

    func receive(_ client: Character) -> Reception { clients[client]?.receive() ?? .end }

    func close(_ client: Character) { clients[client] = nil }

    func shutDown() { server.stop() }
}
