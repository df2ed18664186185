import BusJSON
import Foundation
import Synchronization
import TestServer
import TestSupport

/// Clients that stay at their members, each with a subscription, a will, an ephemeral store and always one dispatch without a
/// key under way: whatever is lost, doubled or ended shows.
final class SteadyLoad: Sendable {
    struct Report: Sendable {
        var acknowledged = 0
        /// Of all acknowledged dispatches.
        var revisions: [Int] = []
        var problems: [String] = []
        /// What each client's copy shows in the end.
        var mirrors: [[String: JSON]] = []
    }

    static let stores = (0..<10).map { "counter/steady\($0)" }
    static func mark(_ number: Int) -> String { "steady\(number)" }
    static func ephemeral(_ number: Int) -> String { "counter/ephemeral\(number)" }

    private let report = Mutex(Report())
    private let isFinishing = Atomic<Bool>(false)
    /// Those that still dispatch; those that have not compared yet; those that are to leave.
    private let dispatching = DispatchGroup()
    private let comparing = DispatchGroup()

    /// - Parameter names: The members that the clients are at; nil: all.
    init(_ cluster: TestCluster, members names: [String]? = nil, clients: Int) throws {
        let members = names?.map { cluster[$0] } ?? cluster.members
        let setup = try cluster.members[0].client()
        for store in Self.stores { _ = try setup.ask(#"{"op":"create","store":"\#(store)"}"#) }
        let all = try (0..<clients).map { number in
            let member = members[number % members.count]
            return SteadyClient(
                number, try number % 2 == 0 ? member.client() : member.client(token: number))
        }
        for client in all {
            dispatching.enter()
            comparing.enter()
            nonisolated(unsafe) let client = client  // Its thread's from here on.
            Thread.detachNewThread { [self] in run(client) }
        }
    }

    private func run(_ client: SteadyClient) {
        do {
            try client.begin()
            while !isFinishing.load(ordering: .relaxed) {
                let revision = try client.dispatch()
                report.withLock {
                    $0.acknowledged += 1
                    $0.revisions.append(revision)
                }
            }
        } catch {
            report.withLock { $0.problems.append("\(client.number): \(error)") }
        }
        dispatching.leave()
        dispatching.wait()
        do {
            let states = try client.synchronize()
            report.withLock { $0.mirrors.append(states) }
        } catch {
            report.withLock { $0.problems.append("\(client.number): \(error)") }
        }
        comparing.leave()
        // Its ephemeral store goes with it.
        comparing.wait()
    }

    /// Returns when so many dispatches more than now are acknowledged, or something is wrong.
    func waitForMore(acknowledged count: Int) throws {
        let wanted = report.withLock { $0.acknowledged } + count
        try TestCluster.wait(until: "\(wanted) dispatches") {
            report.withLock { $0.acknowledged >= wanted || !$0.problems.isEmpty }
        }
    }

    /// Lets everything that is under way end, then tells what came of it.
    func finish() -> Report {
        isFinishing.store(true, ordering: .relaxed)
        comparing.wait()
        return report.withLock { $0 }
    }
}

private final class SteadyClient {
    let number: Int
    private let client: LineClient
    private var mirror = ContractMirror()
    private var lastRequest = 0
    private var hasBegun = false

    init(_ number: Int, _ client: LineClient) { (self.number, self.client) = (number, client) }

    func begin() throws {
        let mark = SteadyLoad.mark(number)
        _ = try ask(#""op":"create","store":"\#(SteadyLoad.ephemeral(number))","ephemeral":true"#)
        _ = try ask(
            #""op":"will","actions":[{"store":"\#(ClusterTypes.wills)","action":"enter","payload":{"mark":"\#(mark)"}}]"#
        )
        _ = try ask(#""op":"subscribe","type":"counter""#)
        _ = try ask(#""op":"ping""#)
        hasBegun = true
    }

    func dispatch() throws -> Int {
        let store = SteadyLoad.stores[number % SteadyLoad.stores.count]
        return try ask(#""op":"dispatch","store":"\#(store)","action":"increment""#)["revision"]?.int ?? -1
    }

    /// Its copy, once it has everything that anybody was told of.
    func synchronize() throws -> [String: JSON] {
        let revision = try ask(#""op":"sync""#)["revision"]?.int ?? .max
        // The last commit is a dispatch to a store that it mirrors.
        while mirror.revision ?? 0 < revision { try take(try next()) }
        let wills = try ask(#""op":"get","store":"\#(ClusterTypes.wills)""#)["states"]?[ClusterTypes.wills]
        guard wills?["marks"] == [:] else {
            throw TestCluster.Failure(description: "Wills have run: \(wills ?? .null)")
        }
        return mirror.states
    }

    private func ask(_ members: String) throws -> JSON {
        lastRequest += 1
        try client.send(#"{"id":\#(lastRequest),\#(members)}"#)
        while true {
            let line = try next()
            if line["event"] != nil { try take(line) }
            guard let id = line["id"]?.int else { continue }
            guard id == lastRequest, line["ok"] == true else {
                throw TestCluster.Failure(description: "\(line) in answer to \(lastRequest), \(members)")
            }
            return line
        }
    }

    private func next() throws -> JSON {
        guard let line = try client.line() else {
            throw TestCluster.Failure(description: "The connection has ended.")
        }
        return try JSON(parsing: line)
    }

    private func take(_ event: JSON) throws {
        if event["event"] == "goodbye" || hasBegun && event["reset"] == true {
            throw TestCluster.Failure(description: "\(event)")
        }
        try mirror.take(event)
    }
}
