import BusCluster
import BusJSON
import BusLogic
import BusMachine
import Foundation
import TestFiles
import Testing

/// A shared log that members wrote by the rules 1, 2 and 3, before there were conditions, `let`, `each` and the other words of rules 4:
/// whoever reads it now comes to the same states and the same chain of hashes.
///
/// Each line of the recording is the place of an entry, the hash of all that came of the log up to it, the digest of the states, and the
/// proposal's bytes in Base64.
struct RecordedEntriesTests {
    private static let counter: JSON = [
        "type": "counter", "initial": ["count": 0], "actions": ["add": ["increment": ["count": 1]]],
    ]

    @Test func everyEntryComesToWhatItDid() throws {
        let lines = try Repository.text("Tests/Core/ClusterTests/Recorded/log.txt").split(separator: "\n")
        let machine = StateMachine(
            types: [try DeclaredType(definition: Self.counter)], epoch: "e0", hashSeed: 1)
        let replica = Replica(machine)
        var rules: Set<Int> = []
        for (index, line) in lines.enumerated() {
            let words = line.split(separator: " ").map(String.init)
            var content = OrderedEntry.Content.joined(member: "m", report: [])
            if words.count > 3 {
                let bytes = Array(try #require(Data(base64Encoded: words[3])))
                content = .proposal(ProposalName(member: "m", incarnation: 1, number: index), bytes)
            } else if index > 0 {
                content = .ended(members: ["m"])
            }
            _ = try replica.apply(OrderedEntry(place: try #require(Int(words[0])), content))
            #expect(replica.link.output.text == words[1], "\(line)")
            #expect(machine.stateDigest == words[2], "\(line)")
            rules.insert(machine.rules)
        }
        #expect(rules.isSuperset(of: 1...3) && machine.revision > 30)
    }
}
