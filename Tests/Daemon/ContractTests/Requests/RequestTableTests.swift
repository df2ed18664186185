import BusJSON
import Foundation
import TestFiles
import TestSupport
import Testing

/// What the bus answers to every request, by who asks and what there is, as `table.jsonl` holds it: on a bus of one machine, and on a
/// shared bus. `FLUXBUS_RECORD_REQUESTS=1` writes the table again.
@Suite struct RequestTableTests {
    private static let file = Repository.root.appendingPathComponent(
        "Tests/Daemon/ContractTests/Requests/table.jsonl")

    @Test func repliesAreThoseOfTheTable() async throws {
        let found = try await Self.rows()
        if ProcessInfo.processInfo.environment["FLUXBUS_RECORD_REQUESTS"] == "1" {
            try Data((found.joined(separator: "\n") + "\n").utf8).write(to: Self.file)
        }
        let text = try String(contentsOf: Self.file, encoding: .utf8)
        let expected = text.split(separator: "\n").map(String.init)
        let changes = found.difference(from: expected)
        #expect(changes.isEmpty, "\(Self.text(of: changes))")
    }

    private static func text(of changes: CollectionDifference<String>) -> String {
        let lines = changes.map { change in
            switch change {
            case .remove(let index, let row, _): (index, 0, "- \(row)")
            case .insert(let index, let row, _): (index, 1, "+ \(row)")
            }
        }
        return lines.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.prefix(100).map(\.2).joined(separator: "\n")
    }

    /// A line for each request and situation. Where a role's reply depends on the mode, both are there.
    private static func rows() async throws -> [String] {
        let results = try await results()
        var rows: [String] = []
        for (line, situations) in RequestSamples.all {
            for situation in situations {
                var roles: [String: [JSON]] = [:]
                for world in RequestWorld.all {
                    let replies = BusMode.allCases.compactMap {
                        results["\(world.role) \($0)"]?["\(situation) \(line)"]
                    }
                    let reply =
                        replies[0] == replies[1]
                        ? #""both":\#(replies[0])"# : #""alone":\#(replies[0]),"shared":\#(replies[1])"#
                    roles[reply, default: []].append(.string(world.role))
                }
                let request = JSON.string(line).encoded
                for (reply, names) in roles.sorted(by: { $0.key < $1.key }) {
                    rows.append(
                        #"{"request":\#(request),"when":"\#(situation)","roles":\#(JSON.array(names).encoded),\#(reply)}"#
                    )
                }
            }
        }
        return rows
    }

    private static func results() async throws -> [String: [String: String]] {
        try await withThrowingTaskGroup(of: (String, [String: String]).self) { group in
            for world in RequestWorld.all {
                for mode in BusMode.allCases {
                    group.addTask {
                        var trial = try RequestTrial(world, mode)
                        return ("\(world.role) \(mode)", try trial.run())
                    }
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
