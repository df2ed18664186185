import CSystemd
import Foundation

/// One client of a herd: a mirror of some counters, and one dispatch after the other.
final class HerdMember {
    let descriptor: Int32
    private(set) var isDone = false

    private let number: Int
    /// A few watch all counters; the others, the one they change.
    private let watchesAll: Bool
    private var received: [UInt8] = []
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
        descriptor = socket(AF_UNIX, Int32(systemd_stream) | systemd_close_on_exec, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw ProbeConnection.Failure(description: "connect: \(errno)") }
    }

    deinit { close(descriptor) }

    func begin() {
        send(
            watchesAll
                ? #"{"op":"subscribe","match":"counter/herd*"}"#
                : #"{"op":"subscribe","store":"\#(address)"}"#)
    }

    /// Reads what has come; gives how many dispatches were acknowledged.
    func serve(finishing: Bool) -> Int {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &buffer, buffer.count, systemd_dont_wait)
        guard count > 0 else {
            if count < 0, errno == EAGAIN { return 0 }
            isBroken = true
            isDone = true
            return 0
        }
        received += buffer[..<count]
        let before = revisions.count
        var start = 0
        while let end = received[start...].firstIndex(of: 10) {
            take(Data(received[start..<end]), finishing: finishing)
            start = end + 1
        }
        received.removeFirst(start)
        return revisions.count - before
    }

    private func take(_ line: Data, finishing: Bool) {
        guard let object = try? JSONSerialization.jsonObject(with: line) as? [String: Any] else {
            return problems.append("No line of the bus: \(String(decoding: line, as: UTF8.self))")
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
        let bytes = Array((line + "\n").utf8)
        if Glibc.send(descriptor, bytes, bytes.count, systemd_no_signal) != bytes.count { isBroken = true }
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
