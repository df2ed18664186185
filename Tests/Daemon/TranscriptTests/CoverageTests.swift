import BusJSON
import BusProtocol
import Testing

/// The protocol page leaves nothing out: every word of the wire stands in one of its transcripts.
@Suite struct CoverageTests {
    private let sent: [JSON]
    private let received: [JSON]

    init() throws {
        let steps = try TranscriptPage.transcripts().flatMap(\.lines).map(\.step)
        sent = steps.compactMap { step in
            if case .send(_, let line, _) = step { try? JSON(parsing: line) } else { nil }
        }
        received = steps.compactMap { step in
            if case .receive(_, let line) = step { line } else { nil }
        }
    }

    @Test(arguments: Operation.allCases) func everyOperationStandsInATranscript(_ operation: Operation) {
        #expect(sent.contains { $0["op"]?.string == operation.rawValue })
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
    func everyEventStandsInATranscript(_ event: String) {
        #expect(received.contains { $0["event"]?.string == event })
    }

    @Test(arguments: ["reset", "states", "changes", "dropped", "more", "coalesced", "cause"])
    func everyMemberOfChangesStandsInATranscript(_ member: String) {
        #expect(received.contains { $0["event"]?.string == "change" && $0[member] != nil })
    }

    @Test(arguments: ["merge", "patch", "state"]) func everyFormatStandsInATranscript(_ format: String) {
        #expect(sent.contains { $0["format"]?.string == format })
    }
}
