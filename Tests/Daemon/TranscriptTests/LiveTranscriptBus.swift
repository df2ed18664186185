import TestServer
import TestSupport

/// Runs transcripts over real sockets, against a bus in this process.
final class LiveTranscriptBus: TranscriptBus {
    private let bus: LiveBus
    private var clients: [Character: LineClient] = [:]
    let epoch: String

    init(_ transcript: Transcript) throws {
        var setup = LiveBus.Setup()
        for file in try SampleTypes.files(and: transcript.definitions) {
            setup.types[String(file.name.dropLast(".yaml".count))] = String(
                decoding: file.bytes, as: UTF8.self)
        }
        if !transcript.tcp.isEmpty {
            setup.listen = ["tcp:127.0.0.1:0"]
            setup.tokens = Transcript.tokens.map { "\($0.value) \($0.key)\n" }.joined()
        }
        setup.stores = transcript.stores
        setup.limits = transcript.limitTexts
        setup.hasLog = transcript.hasLog
        bus = try LiveBus(setup)
        epoch = try bus.client().epoch()
    }

    func connect(_ client: Character, tcp: Bool) throws {
        clients[client] = try LineClient(bus.addresses[tcp ? 1 : 0])
    }

    func send(_ client: Character, _ line: String) throws { try clients[client]?.send(line) }

    /// A daemon that ends a connection may reset it.
    func receive(_ client: Character) -> Reception {
        let reception = clients[client]?.receive() ?? .end
        if case .broken = reception { return .end }
        return reception
    }

    func close(_ client: Character) { clients[client] = nil }

    func define(_ definitions: [String]) throws {
        for file in try SampleTypes.files(and: definitions) where file.name.hasPrefix("further-") {
            try bus.directory.write("types/\(file.name)", String(decoding: file.bytes, as: UTF8.self))
        }
    }

    func shutDown() { bus.server.stop() }
}
