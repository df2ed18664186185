import BusJSON
import Testing

/// Runs one transcript against a bus and fails where what is received is missing, surplus or different.
struct TranscriptRunner {
    let transcript: Transcript
    let bus: any TranscriptBus
    private var connected: [Character] = []

    init(_ transcript: Transcript, on bus: any TranscriptBus) {
        self.transcript = transcript
        self.bus = bus
    }

    mutating func run() throws {
        for client in transcript.clients {
            try bus.connect(client, tcp: transcript.tcp.contains(client))
            connected.append(client)
        }
        for line in transcript.lines {
            guard try carryOut(line) else { return }
        }
        try proveThatNothingIsLeft()
    }

    /// False when the rest of the transcript makes no sense any more.
    private mutating func carryOut(_ line: Transcript.Line) throws -> Bool {
        switch line.step {
        case .send(let client, let text, let times):
            let text = text.replacing("\"epoch\":\"…\"", with: "\"epoch\":\"\(bus.epoch)\"")
            for _ in 0..<times { try bus.send(client, text) }
            return true
        case .receive(let client, let expected):
            return expect(try bus.receive(client), expected, client, line: line.number)
        case .close(let client):
            connected.removeAll { $0 == client }
            try bus.close(client)
            return true
        case .closed(let client):
            connected.removeAll { $0 == client }
            if case .end = try bus.receive(client) { return true }
            Issue.record("Protocol.md:\(line.number): the connection of \(client) goes on.")
            return false
        case .shutdown:
            try bus.shutDown()
            return true
        }
    }

    private func expect(_ reception: Reception, _ expected: JSON, _ client: Character, line: Int) -> Bool {
        let place = "Protocol.md:\(line): \(client)"
        guard case .line(let text) = reception else {
            Issue.record("\(place) was to receive \(expected.encoded), but received \(reception).")
            return false
        }
        do {
            if Self.matches(try JSON(parsing: text), expected) { return true }
            Issue.record("\(place) was to receive\n\(expected.encoded), but received\n\(text)")
        } catch {
            Issue.record("\(place) received a line that is no JSON: \(text)")
        }
        return false
    }

    /// The next thing that everybody receives is the reply to a ping.
    private func proveThatNothingIsLeft() throws {
        for client in connected {
            try bus.send(client, #"{"op":"ping","id":"the end of the transcript"}"#)
            let reply: JSON = ["id": "the end of the transcript", "ok": true]
            _ = expect(try bus.receive(client), reply, client, line: transcript.lines.last?.number ?? 0)
        }
    }

    /// Equal, but that "…" stands for any value.
    static func matches(_ value: JSON, _ expected: JSON) -> Bool {
        switch (value, expected) {
        case (_, .string("…")): true
        case (.array(let values), .array(let expectations)):
            values.count == expectations.count && zip(values, expectations).allSatisfy { matches($0, $1) }
        case (.object(let members), .object(let expectations)):
            members.keys == expectations.keys
                && zip(members, expectations).allSatisfy { matches($0.value, $1.value) }
        default: value == expected
        }
    }
}
