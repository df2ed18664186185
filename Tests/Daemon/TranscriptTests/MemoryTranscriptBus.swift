import BusEngine
import BusJSON
import TestServer
import TestSupport

/// Runs transcripts without sockets.
final class MemoryTranscriptBus: TranscriptBus {
    private let bus: MemoryBus
    private var clients: [Character: MemoryClient] = [:]

    init(_ transcript: Transcript) throws {
        var setup = MemoryBus.Setup()
        setup.limits = transcript.limits
        setup.stores = transcript.stores
        setup.definitions = transcript.definitions
        setup.tokens = Transcript.tokens
        setup.users = [MemoryBus.ownUID: ("fluxbus", [])]
        if transcript.hasLog { setup.log = MemoryLog() }
        bus = try MemoryBus(setup)
        // Clients have the numbers of the live run, where somebody has seen whether the bus is there.
        bus.connect(uid: MemoryBus.ownUID).close()
    }

    var epoch: String { bus.epoch }

    /// Clients of Unix sockets run as the daemon's own user, as they do in the live run.
    func connect(_ client: Character, tcp: Bool) {
        clients[client] = bus.connect(
            tcp
                ? .tcp(address: "127.0.0.1:50312")
                : .unix(uid: MemoryBus.ownUID, pid: 4711 + clients.count), comm: "client")
    }

    func send(_ client: Character, _ line: String) { clients[client]?.send(line) }

    func receive(_ client: Character) -> Reception {
        guard let client = clients[client] else { return .end }
        if let line = client.nextLine() { return .line(withoutMember(line)) }
        // Who waits for a line lets time pass: a bookmark may take some, and so may a long request after another.
        for _ in 0..<20 {
            bus.advance(milliseconds: 100)
            if let line = client.nextLine() { return .line(withoutMember(line)) }
            if client.isEnded { break }
        }
        return client.isEnded ? .end : .nothing
    }

    /// A shared bus says which member replies, and on which a user is; the pages show the replies of one machine.
    private func withoutMember(_ line: String) -> String {
        if BusMode.current == .alone { return line }
        let line = line.replacing(#""member":"memory","#, with: "")
        guard var reply = (try? JSON(parsing: line))?.object, reply["cluster"]?["attached"] != nil
        else { return line }
        reply["cluster"] = nil
        return JSON.object(reply).encoded
    }

    func close(_ client: Character) { clients.removeValue(forKey: client)?.close() }

    func define(_ definitions: [String]) { bus.definitions = definitions }

    func shutDown() { bus.shutDown() }
}
