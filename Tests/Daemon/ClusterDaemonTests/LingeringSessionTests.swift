import BusJSON
import Foundation
import TestEtcd
import TestServer
import Testing

/// All members of a bus go and come back, one after the other, under load: a session that lingers is resumed at another member,
/// or ends there, and what it has left is carried out once.
@Suite(.serialized, .enabled(if: TestEtcd.isInstalled, "\(TestEtcd.isMissing)"))
struct LingeringSessionTests {
    /// How a member goes.
    private enum Departure: CaseIterable {
        /// Its connections wait for the next process.
        case handsOver
        case stops
        /// It comes back after its lease has ended.
        case isKilled
    }

    @Test func eachSessionIsResumedOrEndsOnceWhileAllMembersRestart() throws {
        let cluster = try TestCluster(["a", "b", "c"], lease: "10s", keepsDescriptors: true)
        let load = ClusterLoad(cluster, clients: 6, seed: 1)
        let clients = try cluster.members.flatMap { member in
            try (0..<9).map { number in
                try LingeringClient(LingeringClient.Fate.allCases[number % 3], number, at: member)
            }
        }
        for (number, departure) in Departure.allCases.enumerated() {
            let before = load.highestAnswered
            try TestCluster.wait(until: "load") { load.highestAnswered >= before + 50 }
            try restart(number, departure, of: cluster, clients)
        }

        let gone = Set(clients.filter { $0.fate == .goes }.map(\.name))
        let others = clients.filter { $0.fate != .goes }
        let all = Set(clients.map(\.name))
        #expect(try wills(at: cluster.members[0]).intersection(all) == gone)
        #expect(try stores(at: cluster.members[0]) == Set(others.map(\.store)))

        // What was resumed can still be left.
        for client in others { try client.leaveForGood() }
        let operations = try load.finish()
        let left = operations.filter { $0.kind == .will && !$0.answers.isEmpty }.map(\.mark)
        let rest = try cluster.settle(wills: all.union(left))
        let checker = HistoryChecker(
            operations + clients.map(\.will), .init(rest.ledgers, revision: rest.revision))
        #expect(checker.lost == 0)
        #expect(checker.doubled == 0)
        #expect(checker.problems.prefix(10) == [])
        #expect(try stores(at: cluster.members[0]) == [])
        #expect(cluster.members.map(\.daemon.exits) == [[0], [0], [-SIGKILL]])
    }

    /// A member goes and comes back. Of the clients that it has then, some go meanwhile, some go on at the next member, and some
    /// are there when it comes back.
    private func restart(
        _ number: Int, _ departure: Departure, of cluster: TestCluster, _ clients: [LingeringClient]
    ) throws {
        let member = cluster.members[number]
        let next = cluster.members[(number + 1) % cluster.members.count]
        let here = clients.filter { $0.member === member }
        let moving = here.filter { $0.fate == .moves }
        let gone = Set(here.filter { $0.fate == .goes }.map(\.name))
        switch departure {
        case .handsOver: #expect(member.daemon.stopToRestart() == 0)
        case .stops: #expect(member.daemon.stop() == 0)
        case .isKilled: member.daemon.kill()
        }
        let connections = moving.map(\.connection)
        for client in moving {
            #expect(try client.resume(at: next, lingering: LingeringClient.short), "\(client.name)")
        }
        for client in here where client.fate == .goes { client.connection.close() }
        if departure == .isKilled {
            try TestCluster.wait(until: "end of the lease") { try wills(at: next).isSuperset(of: gone) }
        }
        try member.start()
        try member.waitUntilAttached()
        // Where they were handed over, the member has them still, and their sessions are elsewhere.
        for connection in connections { connection.close() }
        for client in here where client.fate == .stays {
            if departure == .handsOver {
                try client.dispatch()
            } else {
                #expect(try client.resume(at: member), "\(client.name)")
            }
        }
        try TestCluster.wait(until: "wills") { try wills(at: next).isSuperset(of: gone) }
        for client in moving { try client.hello() }
    }

    /// What wills have entered.
    private func wills(at member: TestMember) throws -> Set<String> {
        let reply = try member.client().ask(#"{"op":"get","store":"\#(ClusterTypes.wills)","fresh":true}"#)
        let states = try JSON(parsing: reply)["states"]
        return Set(states?[ClusterTypes.wills]?["marks"]?.object?.keys ?? [])
    }

    /// The ephemeral stores.
    private func stores(at member: TestMember) throws -> Set<String> {
        let reply = try member.client().ask(#"{"op":"get","type":"counter","fresh":true}"#)
        return Set(try JSON(parsing: reply)["states"]?.object?.keys ?? []).subtracting(["counter/main"])
    }
}
