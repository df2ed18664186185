import BusCluster
import BusCommands
import BusJSON
import BusMachine
import Testing

/// A log with one member, whose proposals are applied as they come.
final class ReplicaBus {
    let replica: Replica
    private var place = 1
    private var (member, incarnation, number) = ("m", 1, 0)
    var clock = ClusterSimulation.begin
    private var last: OrderedEntry?

    /// Whom most requests are by.
    static let anna = #"{"token":"anna","address":"a"}"#

    /// The rules by which its member proposes.
    var rules = ClusterLimits.rules

    struct Reply {
        let reply: CommandReply?
        let code: String
    }

    init() throws {
        replica = Replica(try ClusterBuild.usual.machine(), history: ClusterSimulation.history)
        _ = try replica.apply(OrderedEntry(place: place, .joined(member: member, report: [])))
    }

    func apply(_ content: [UInt8]) throws -> AppliedEntry {
        place += 1
        number += 1
        let name = ProposalName(member: member, incarnation: incarnation, number: number)
        let entry = OrderedEntry(place: place, .proposal(name, content))
        last = entry
        return try #require(try replica.apply(entry))
    }

    /// What another replica makes of the last proposal.
    func repeated(by other: Replica) throws -> AppliedEntry {
        let entry = try #require(last)
        return try #require(try other.apply(entry))
    }

    /// Its member ends, and another one takes its place.
    func end() throws {
        _ = try replica.apply(OrderedEntry(place: place + 1, .ended(members: [member])))
        (place, number, member) = (place + 2, 0, member + "n")
        _ = try replica.apply(OrderedEntry(place: place, .joined(member: member, report: [])))
        incarnation = place
    }

    func propose(_ entries: [ClusterEntry]) throws -> AppliedEntry {
        try apply(
            ProposalContent(rules: rules, clock: clock, evidence: replica.evidence, entries: entries).encoded)
    }

    /// The reply to one entry, or the code of its refusal.
    func ask(_ command: ClusterEntry.Command, by: String, isOperator: Bool = false) throws -> Reply {
        let entry = ClusterEntry(session: 1, by: Array(by.utf8), isOperator: isOperator, command)
        switch try #require(try propose([entry]).outcomes.first) {
        case .done(let reply): return Reply(reply: reply, code: "ok")
        case .refused(let error): return Reply(reply: nil, code: error.code.rawValue)
        }
    }

    /// Why a command is refused; nil: it is not.
    func refusal(of command: ClusterEntry.Command, by: String) throws -> String? {
        let entry = ClusterEntry(session: 1, by: Array(by.utf8), isOperator: false, command)
        guard case .refused(let error) = try propose([entry]).outcomes.first else { return nil }
        return error.message
    }

    func ask(_ line: String, by: String = anna, isOperator: Bool = false) throws -> Reply {
        try ask(.request(Array(line.utf8)), by: by, isOperator: isOperator)
    }

    func count(_ store: String) -> JSON? { replica.machine.state(at: store)?["count"] }
}

extension JSON {
    static func object(_ members: [(String, JSON)]) -> JSON {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }
}
