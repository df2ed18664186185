import BusJSON
import Foundation
import TestServer

/// A cluster at rest: all members have the same of everything.
extension TestCluster {
    /// The states at the end, and their revision.
    struct Rest {
        let revision: Int
        let epoch: String
        let ledgers: [String: JSON]
    }

    /// Waits until all members are attached, have applied the same, and hold these wills; what they have then.
    func settle(wills: Set<String> = [], seconds: Double = 120) throws -> Rest {
        for member in members { try member.waitUntilAttached(seconds: seconds) }
        var last = ""
        return try Self.wait("rest: \(last)", seconds: seconds) {
            let before = try members.map { try $0.standing() }
            last = before.map(\.description).joined(separator: "; ")
            guard Set(before).count == 1 else { return nil }
            let ledgers = try members[0].ledgers()
            let entered = ledgers[ClusterTypes.wills]?["marks"]?.object ?? [:]
            let missing = wills.subtracting(entered.keys)
            if !missing.isEmpty {
                last = "wills that have not run: \(missing.sorted().prefix(5))"
                return nil
            }
            for member in members.dropFirst() {
                let others = try member.ledgers()
                guard others == ledgers else {
                    if try members.map({ try $0.standing() }) != before { return nil }
                    throw Failure(
                        description:
                            "\(member.name) has other states than \(members[0].name) at \(before[0]).")
                }
            }
            // Nothing has happened meanwhile.
            guard try members.map({ try $0.standing() }) == before else { return nil }
            return Rest(revision: before[0].revision, epoch: before[0].epoch, ledgers: ledgers)
        }
    }
}

extension TestMember {
    /// How far a member is, behind a barrier.
    struct Standing: Hashable, CustomStringConvertible {
        let epoch: String
        let revision: Int
        var description: String { "\(epoch) at \(revision)" }
    }

    func standing() throws -> Standing {
        let client = try client()
        _ = try client.ask(#"{"op":"sync"}"#)
        let reply = try JSON(parsing: client.ask(#"{"op":"hello"}"#))
        return Standing(epoch: reply["epoch"]?.string ?? "", revision: reply["revision"]?.int ?? -1)
    }

    /// The states of all ledgers.
    func ledgers() throws -> [String: JSON] {
        let client = try client()
        var states: [String: JSON] = [:]
        for store in ClusterTypes.ledgers + [ClusterTypes.wills] {
            let reply = try JSON(parsing: client.ask(#"{"op":"get","store":"\#(store)"}"#))
            guard let state = reply["states"]?[store] else {
                throw TestCluster.Failure(
                    description: "\(name) has no \(store): \(reply.encoded.prefix(200))")
            }
            states[store] = state
        }
        return states
    }

    /// The revision to which this member's history goes back at most.
    func oldestRevision() throws -> Int {
        let reply = try JSON(parsing: client().ask(#"{"op":"history","since":0,"limit":1}"#))
        return reply["ok"] == true ? 0 : reply["error"]?["oldest"]?.int ?? .max
    }

    /// The commits of this member's history behind a revision, line by line.
    func history(since first: Int, until last: Int) throws -> [String] {
        let client = try client()
        var lines: [String] = []
        var since = first
        while since < last {
            let reply = try JSON(
                parsing: client.ask(
                    #"{"op":"history","since":\#(since),"until":\#(last),"limit":200}"#))
            guard let commits = reply["commits"]?.array, let end = commits.last?["revision"]?.int else {
                throw TestCluster.Failure(
                    description: "\(name) has no history behind \(since): \(reply.encoded.prefix(200))")
            }
            lines += commits.map(\.encoded)
            since = end
        }
        return lines
    }
}
