import BusJSON
import BusProtocol
import TestFiles
import Testing

/// The protocol page leaves nothing out: every word of the wire stands in one of its transcripts.
@Suite struct CoverageTests {
    /// Read once for all the words that are looked for.
    private static let page = Result { try Repository.text(TranscriptPage.Source.wire.rawValue) }
    private static let transcripts = Result { try TranscriptPage.transcripts(of: .wire) }
    private static let lines = transcripts.map { transcripts in
        let steps = transcripts.flatMap(\.lines).map(\.step)
        return (
            sent: steps.compactMap { step in
                if case .send(_, let line, _) = step { try? JSON(parsing: line) } else { nil }
            },
            received: steps.compactMap { step in
                if case .receive(_, let line) = step { line } else { nil }
            }
        )
    }

    private let sent: [JSON]
    private let received: [JSON]

    init() throws { (sent, received) = try Self.lines.get() }

    @Test(arguments: Operation.allCases) func everyOperationStandsInATranscript(_ operation: Operation) {
        #expect(sent.contains { $0["op"]?.string == operation.rawValue })
    }

    /// What a table of the page says of a word: the cells of the row that begins with it.
    private func row(_ word: String, under heading: String) throws -> [String] {
        let page = try Self.page.get()
        let section = try #require(page.components(separatedBy: "\n\(heading)\n").dropFirst().first)
        let rows = section.prefix(upTo: section.range(of: "\n#")?.lowerBound ?? section.endIndex)
            .split(separator: "\n").filter { $0.hasPrefix("| `\(word)` |") }
        return try #require(rows.first, "\(word) stands in no row under \(heading)").split(separator: "|")
            .dropFirst().map(String.init)
    }

    @Test(arguments: Operation.allCases)
    func everyOperationStandsInTheTableWithItsMembers(_ operation: Operation) throws {
        let cell = try #require(row(operation.rawValue, under: "### All operations").dropFirst().first)
        let named = cell.matches(of: /`([A-Za-z]+)`/).map { String($0.1) }
        let members = Member.allCases.filter { operation.members.contains($0) && $0 != .op && $0 != .id }
        #expect(named.sorted() == members.map(\.name).sorted())
    }

    /// Requests and replies that the page only illustrates, because the bus of the transcripts is one machine's. A line that
    /// begins with a space goes on with the one before.
    private static func illustrations() throws -> [[JSON]] {
        try page.get().components(separatedBy: "\n```json\n").dropFirst().map { rest in
            let block = try #require(rest.components(separatedBy: "\n```").first)
            return try block.replacing("\n ", with: "").split(separator: "\n").map {
                try JSON(parsing: String($0))
            }
        }
    }

    /// What the illustrations show in the replies to an operation, by the request that stands above.
    private func illustrated(inRepliesTo operation: Operation) throws -> Set<String> {
        var shown: Set<String> = []
        for lines in try Self.illustrations() {
            for (request, reply) in zip(lines, lines.dropFirst())
            where request["op"]?.string == operation.rawValue && reply["ok"] == true {
                #expect(reply["id"] == request["id"])
                shown.formUnion(reply.object?.keys ?? [])
            }
        }
        return shown
    }

    /// What the page shows in the replies to an operation, beside what all replies have.
    private func members(ofRepliesTo operation: Operation) throws -> Set<String> {
        var shown = try illustrated(inRepliesTo: operation)
        for transcript in try Self.transcripts.get() {
            // By client and id, the newest request; those without an id are told apart by none.
            var operations: [String: String] = [:]
            for line in transcript.lines {
                if case .send(let client, let text, _) = line.step, let request = try? JSON(parsing: text) {
                    operations["\(client) \(request["id"] ?? .null)"] = request["op"]?.string
                } else if case .receive(let client, let reply) = line.step, reply["ok"] == true {
                    guard let id = reply["id"], operations["\(client) \(id)"] == operation.rawValue else {
                        continue
                    }
                    shown.formUnion(reply.object?.keys ?? [])
                }
            }
        }
        return shown.subtracting(["id", "ok"])
    }

    @Test(arguments: Operation.allCases)
    func everyMemberOfAReplyStandsInTheTable(_ operation: Operation) throws {
        let cell = try #require(row(operation.rawValue, under: "### All operations").last)
        let named = Set(cell.matches(of: /`([A-Za-z]+)`/).map { String($0.1) })
        let shown = try members(ofRepliesTo: operation)
        // A line would have to be full.
        #expect(named.subtracting(operation == .local(.reload) ? ["more"] : []) == shown)
    }

    @Test(arguments: ErrorCode.allCases) func everyErrorCodeStandsInTheTable(_ code: ErrorCode) throws {
        #expect(try row(code.rawValue, under: "## Error codes").count == 2)
    }

    /// `internal` is a fault of the daemon: nobody can ask for it.
    @Test(arguments: ErrorCode.allCases.filter { $0 != .internal })
    func everyErrorCodeStandsInATranscript(_ code: ErrorCode) {
        #expect(received.contains { $0["error"]?["code"]?.string == code.rawValue })
    }

    @Test(arguments: Operation.allCases) func everyMemberStandsInATranscript(_ operation: Operation) {
        let requests = sent.filter { $0["op"]?.string == operation.rawValue }
        for member in Member.allCases where operation.members.contains(member) {
            #expect(requests.contains { $0[member.name] != nil }, "\(operation.rawValue) with \(member.name)")
        }
    }

    @Test(arguments: ["change", "bookmark", "action", "gap", "goodbye"])
    func everyEventStandsInATranscriptAndInTheTableWithItsMembers(_ event: String) throws {
        let events = received.filter { $0["event"]?.string == event }
        let shown = Set(events.flatMap { $0.object?.keys ?? [] }).subtracting(["event"])
        #expect(!shown.isEmpty)
        let cell = try #require(row(event, under: "### All events").dropFirst().first)
        #expect(Set(cell.matches(of: /`([A-Za-z]+)`/).map { String($0.1) }) == shown)
    }

    @Test(arguments: ["reset", "states", "changes", "dropped", "more", "coalesced", "cause"])
    func everyMemberOfChangesStandsInATranscript(_ member: String) {
        #expect(received.contains { $0["event"]?.string == "change" && $0[member] != nil })
    }

    @Test(arguments: ["merge", "patch", "state"]) func everyFormatStandsInATranscript(_ format: String) {
        #expect(sent.contains { $0["format"]?.string == format })
    }
}
