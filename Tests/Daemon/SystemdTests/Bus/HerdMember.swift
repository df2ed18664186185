import Foundation
import TestServer

/// One client of a herd: a mirror of some counters, and one dispatch after the other.
final class HerdMember {
    private let client: LineClient
    private(set) var isDone = false

    private let number: Int
    /// A few watch all counters; the others, the one they change.
    private let watchesAll: Bool
    private var mirror: [String: Int] = [:]
    private var position: Int?
    private var revisions: [Int] = []
    private var events = 0
    private var isBroken = false
    private var problems: [String] = []
    private enum Waiting { case subscription, dispatch, nothing, sync }
    private var waiting = Waiting.subscription

    private var store: Int { number % Herd.storeCount }
    private var address: String { "counter/\(Herd.store(store))" }

    init(_ number: Int, path: String) throws {
        self.number = number
        watchesAll = number < 5
        client = try LineClient(service: path)
    }

    func begin() {
        send(
            watchesAll
                ? #"{"op":"subscribe","match":"counter/herd*"}"#
                : #"{"op":"subscribe","store":"\#(address)"}"#)
    }

    /// Reads what has come; gives how many dispatches were acknowledged.
    func serve(finishing: Bool) -> Int {
        guard let lines = client.linesThatCame() else {
            isBroken = true
            isDone = true
            return 0
        }
        let before = revisions.count
        for line in lines { take(line, finishing: finishing) }
        return revisions.count - before
    }

    private func take(_ line: String, finishing: Bool) {
        guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            return problems.append("No line of the bus: \(line)")
        }
        if let event = object["event"] as? String {
            if event == "goodbye" { problems.append("Goodbye: \(object)") } else { fold(object) }
            return
        }
        guard object["ok"] as? Bool == true else { return problems.append("Refused: \(object)") }
        switch waiting {
        case .subscription, .nothing: break
        case .dispatch:
            revisions.append(object["revision"] as? Int ?? -1)
            if object["changed"] as? Int != 1 { problems.append("Changed nothing: \(object)") }
        case .sync:
            isDone = true
            return
        }
        if finishing {
            waiting = .nothing
        } else {
            waiting = .dispatch
            send(#"{"op":"dispatch","store":"\#(address)","action":"increment"}"#)
        }
    }

    /// To wait for it.
    var descriptor: Int32 { client.descriptor }

    /// It has nothing under way.
    var isIdle: Bool {
        if case .nothing = waiting { true } else { isDone }
    }

    /// Once all others are idle: after this its mirror is up to date.
    func sync() {
        if isDone { return }
        waiting = .sync
        send(#"{"op":"sync"}"#)
    }

    /// The one rule by which a client keeps its mirror.
    private func fold(_ event: [String: Any]) {
        events += 1
        if let from = event["from"] as? Int {
            if let position, from != position, event["reset"] == nil {
                problems.append("Client \(number) was at \(position), and an event says from \(from).")
            }
        }
        if event["reset"] as? Bool == true {
            if position != nil { problems.append("Client \(number) was reset.") }
            mirror = [:]
        }
        for kind in ["states", "changes"] {
            for (store, state) in event[kind] as? [String: [String: Any]] ?? [:] {
                if let count = state["count"] as? Int { mirror[store] = count }
            }
        }
        if event["more"] == nil { position = event["revision"] as? Int }
    }

    private func send(_ line: String) {
        do { try client.send(line) } catch { isBroken = true }
    }

    func add(to report: inout Herd.Report) {
        report.acknowledged += revisions.count
        report.revisions += revisions
        report.events += events
        if isBroken || !isDone { report.broken += 1 }
        report.problems += problems
        for (store, count) in mirror {
            guard let index = (0..<Herd.storeCount).first(where: { store == "counter/\(Herd.store($0))" })
            else {
                continue
            }
            report.note(count, of: index, by: number)
        }
    }
}

extension Herd.Report {
    /// All mirrors of a store must agree in the end.
    mutating func note(_ count: Int, of store: Int, by client: Int) {
        if counts[store] == 0 { counts[store] = count }
        if counts[store] != count {
            problems.append("Client \(client) has \(count) for store \(store), another \(counts[store]).")
        }
    }
}
