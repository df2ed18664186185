import BusJSON
import TestServer

/// Runs one transcript against a bus and tells where what is received is missing, surplus or different.
struct TranscriptRunner {
    private let transcript: Transcript
    private let bus: any TranscriptBus
    private var connected: [Character] = []

    init(_ transcript: Transcript, on bus: any TranscriptBus) {
        self.transcript = transcript
        self.bus = bus
    }

    /// Runs it and gives what was wrong; empty when it is right.
    mutating func run() throws -> [String] {
        for client in transcript.clients {
            try bus.connect(client, tcp: transcript.tcp.contains(client))
            connected.append(client)
        }
        for line in transcript.lines {
            // After a mistake the rest of the transcript makes no sense any more.
            if let mistake = try carryOut(line) { return [mistake] }
        }
        return try whatIsLeft()
    }

    /// Carries out a step; nil when it went as it should.
    private mutating func carryOut(_ line: Transcript.Line) throws -> String? {
        switch line.step {
        case .send(let client, let text, let times):
            let text = text.replacing("\"epoch\":\"…\"", with: "\"epoch\":\"\(bus.epoch)\"")
            for _ in 0..<times { try bus.send(client, text) }
        case .receive(let client, let expected):
            return mistake(in: try bus.receive(client), expected, client, line: line.number)
        case .close(let client):
            connected.removeAll { $0 == client }
            try bus.close(client)
        case .closed(let client):
            connected.removeAll { $0 == client }
            let reception = try bus.receive(client)
            if case .end = reception { return nil }
            return "\(transcript.page):\(line.number): the connection of \(client) goes on: \(reception)"
        case .newTypes:
            try bus.define(transcript.laterDefinitions)
        case .shutdown:
            try bus.shutDown()
        }
        return nil
    }

    private func mistake(
        in reception: Reception, _ expected: JSON, _ client: Character, line: Int
    ) -> String? {
        let place = "\(transcript.page):\(line): \(client)"
        guard case .line(let text) = reception else {
            return "\(place) was to receive \(expected.encoded), but received \(reception)."
        }
        guard let value = try? JSON(parsing: text) else {
            return "\(place) received a line that is no JSON: \(text)"
        }
        if Self.matches(value, expected) { return nil }
        return "\(place) was to receive\n\(expected.encoded), but received\n\(text)"
    }

    /// The next thing that everybody receives is the reply to a ping.
    private func whatIsLeft() throws -> [String] {
        var mistakes: [String] = []
        for client in connected {
            try bus.send(client, #"{"op":"ping","id":"the end of the transcript"}"#)
            let reply: JSON = ["id": "the end of the transcript", "ok": true]
            let last = transcript.lines.last?.number ?? 0
            if let mistake = mistake(in: try bus.receive(client), reply, client, line: last) {
                mistakes.append(mistake)
            }
        }
        return mistakes
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
