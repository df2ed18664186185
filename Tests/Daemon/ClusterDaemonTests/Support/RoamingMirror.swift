import BusJSON
import Foundation
import Synchronization
import TestServer
import TestSupport

/// A client that keeps a copy of all ledgers by what it is told of changes, and goes on at another member when the connection
/// to one ends, from where it was.
final class RoamingMirror: Sendable {
    private struct Contents {
        var problems: [String] = []
        var resets = 0
        /// Of these, to an earlier revision than it was at: the member had not come that far.
        var stepsBack = 0
        var resumptions = 0
        /// Up to which revision it is to come.
        var goal: Int?
        var result: [String: JSON]?
    }

    private let contents = Mutex(Contents())

    init(_ cluster: TestCluster, number: Int, seed: UInt64) {
        Thread.detachNewThread { [self] in
            let reader = MirrorReader(cluster, number, seed, self)
            reader.run()
        }
    }

    var problems: [String] { contents.withLock { $0.problems } }
    var resets: Int { contents.withLock { $0.resets } }
    var stepsBack: Int { contents.withLock { $0.stepsBack } }
    var resumptions: Int { contents.withLock { $0.resumptions } }

    /// The copy, once it is at a revision.
    func finish(at revision: Int) throws -> [String: JSON] {
        contents.withLock { $0.goal = revision }
        return try TestCluster.wait("mirror at \(revision); \(problems)") {
            contents.withLock { $0.result }
        }
    }

    // MARK: - For its reader

    fileprivate var goal: Int? { contents.withLock { $0.goal } }
    fileprivate func note(problem: String) { contents.withLock { $0.problems.append(problem) } }
    fileprivate func noteReset(isBack: Bool) {
        contents.withLock { contents in
            contents.resets += 1
            if isBack { contents.stepsBack += 1 }
        }
    }
    fileprivate func noteResumption() { contents.withLock { $0.resumptions += 1 } }
    fileprivate func end(_ states: [String: JSON]) { contents.withLock { $0.result = states } }
}

private final class MirrorReader {
    private let cluster: TestCluster
    private let number: Int
    private var random: SeededGenerator
    private let owner: RoamingMirror
    private var member: Int
    private var mirror = ContractMirror()
    private var epoch: String?

    /// It looks so often whether it is to end, in seconds.
    private static let patience = 1

    init(_ cluster: TestCluster, _ number: Int, _ seed: UInt64, _ owner: RoamingMirror) {
        self.cluster = cluster
        self.number = number
        random = SeededGenerator(seed: seed)
        self.owner = owner
        member = number % cluster.members.count
    }

    func run() {
        while true {
            if let client = subscribed(), read(client) { return owner.end(mirror.states) }
            member = (member + 1) % cluster.members.count
            poll(nil, 0, 20)
        }
    }

    /// A connection that is told of changes from now on.
    private func subscribed() -> LineClient? {
        guard let client = try? cluster.members[member].client(token: number, patience: Self.patience),
            let hello = try? JSON(parsing: client.ask(#"{"op":"hello"}"#)), let now = hello["epoch"]?.string
        else { return nil }
        if let epoch, epoch != now { owner.note(problem: "There is a new epoch, \(now).") }
        var since = ""
        if let epoch, let revision = mirror.revision {
            since = #","since":\#(revision),"epoch":"\#(epoch)""#
            owner.noteResumption()
        }
        epoch = now
        guard (try? client.send(#"{"op":"subscribe","type":"ledger"\#(since)}"#)) != nil else { return nil }
        return client
    }

    /// Reads until the connection ends, or the goal is reached: then true.
    private func read(_ client: LineClient) -> Bool {
        let leaves = Date().addingTimeInterval(Double.random(in: 1..<6, using: &random))
        var hasAsked = false
        while true {
            let goal = owner.goal
            if let goal, mirror.revision ?? 0 >= goal { return true }
            if goal == nil, Date() > leaves { return false }
            if goal != nil, !hasAsked {
                // A quiet subscription is told of its revision when it asks for one more change.
                hasAsked = true
                guard (try? client.send(#"{"id":"end","op":"sync"}"#)) != nil else { return false }
            }
            switch client.receive() {
            case .line(let line):
                guard let done = take(line) else { return false }
                if done { return true }
            case .nothing: if hasAsked { return false }
            case .end, .broken: return false
            }
        }
    }

    /// True: the goal is reached. Nil: the connection is to be left.
    private func take(_ line: String) -> Bool? {
        do {
            let event = try JSON(parsing: line)
            if event["id"] == "end" {
                guard event["ok"] == true, let revision = event["revision"]?.int else { return nil }
                return revision >= owner.goal ?? .max ? true : nil
            }
            if event["event"] == "goodbye" { return nil }
            if event["ok"] == false {
                if event["error"]?["code"] != "unavailable" { owner.note(problem: line) }
                return nil
            }
            if event["reset"] == true, let known = mirror.revision {
                owner.noteReset(isBack: event["revision"]?.int ?? 0 < known)
            }
            try mirror.take(event)
            return false
        } catch {
            owner.note(problem: "\(error) at revision \(mirror.revision ?? 0), member \(member)")
            mirror = ContractMirror()
            epoch = nil
            return nil
        }
    }
}
