import CSystemd
import Glibc
import Systemd

/// What a line can ask of the probe.
struct ProbeOrders {
    let notifier: Notifier
    let watchdog: Watchdog?
    /// What was passed at the start: `name:kind`.
    let passed: [String]
    /// Stored states that came back.
    let states: [Int32]

    func follow(_ line: String, from peer: Int32, connections: [Int32]) throws -> String {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        let rest = words.count > 1 ? words[1] : ""
        switch words.first {
        case "ready": try notifier.send(.ready)
        case "reloading": try notifier.reloading()
        case "status": try notifier.send(.status(rest))
        case "beat": try beat(Int(rest) ?? 0)
        case "trigger": try notifier.send(.watchdogTrigger)
        case "extend": try notifier.send(.extendTimeout(.seconds(Int(rest) ?? 0)))
        case "store":
            let file = try StoredState.write(Array(rest.utf8), name: "probe-state")
            try notifier.store([file], name: "state")
            close(file)
            try notifier.settle(within: .seconds(10))
        case "forget":
            try notifier.removeStored(named: "state")
            try notifier.settle(within: .seconds(10))
        case "keep":
            let bundle = try DescriptorBundle.pack(connections)
            try notifier.store([bundle], name: "connections", droppingDead: false)
            close(bundle)
            try notifier.settle(within: .seconds(10))
        case "states":
            return try states.map { try String(decoding: StoredState.read($0, limit: 4096), as: UTF8.self) }
                .joined(separator: ",")
        case "passed": return passed.joined(separator: ",")
        case "process": return String(getpid())
        case "watchdog": return watchdog.map { "\($0.interval)" } ?? "none"
        case "variables": return Self.variablesLeft
        case "child":
            // A shell has the variables that every child has.
            let status = system("exec /proc/\(getpid())/exe tell '\(rest)'")
            guard status == 0 else { return "error \(status)" }
        case "unit":
            let unit = try PeerUnit(ofPeerOn: peer)
            return "\(unit.name ?? "none") of \(unit.system ?? "none")"
        case "identity":
            let (process, user) = try credentials(peer)
            return "\(user) \(process) \(try PeerUnit(ofPeerOn: peer).name ?? "none")"
        case "sandbox": return sandbox()
        case "journal": return try write(rest)
        case "exit": exit(Int32(rest) ?? 0)
        default: return "error no such order"
        }
        return "ok"
    }

    /// Of those that the manager sets for the service itself, what a child would inherit.
    static var variablesLeft: String {
        let names = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC"]
        let left = names.filter { getenv($0) != nil }
        return left.isEmpty ? "no variables" : left.joined(separator: " ")
    }

    /// Feeds the watchdog so many times, at its own pace.
    private func beat(_ count: Int) throws {
        guard let watchdog else { return }
        for _ in 0..<count {
            try notifier.send(.watchdog)
            let milliseconds = watchdog.beat / .milliseconds(1)
            poll(nil, 0, Int32(milliseconds))
        }
        try notifier.send(.watchdog)
    }

    /// Who connected, by the kernel's word: process and user.
    private func credentials(_ peer: Int32) throws -> (Int32, UInt32) {
        // struct ucred, which Swift's C library module lacks: process, user, group.
        var words: (Int32, UInt32, UInt32) = (0, 0, 0)
        var length = socklen_t(MemoryLayout.size(ofValue: words))
        guard getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &words, &length) == 0 else {
            throw ProbeClient.Failure(description: String(cString: strerror(errno)))
        }
        return (words.0, words.1)
    }

    /// What a service should not be able to do, tried: each name with what the kernel said.
    private func sandbox() -> String {
        let attempts: [(String, () -> Int32)] = [
            ("write", { open("/etc/probe", O_CREAT | O_WRONLY, 0o600) }),
            ("state", { open("/var/lib/fluxbus/probe", O_CREAT | O_WRONLY, 0o600) }),
            ("internet", { socket(AF_INET, Int32(systemd_stream), 0) }),
            ("home", { open("/root/.profile", O_RDONLY) }),
            ("owner", { chown("/var/lib/fluxbus/probe", 0, 0) }),
        ]
        return attempts.map { name, attempt in
            let result = attempt()
            let text = "\(name): \(result < 0 ? String(cString: strerror(errno)) : "done")"
            if result > 0 { close(result) }
            return text
        }.joined(separator: ", ")
    }

    private func write(_ text: String) throws -> String {
        let journal = Journal(identifier: "systemd-probe")
        var entry = JournalEntry(text, priority: .warning, messageID: "5c1d3a7e0b8f4c6e9a2d1f4b7c8e6a90")
        entry.set("PROBE_STORE", "counter/kitchen")
        entry.set("PROBE_LINES", "first\nsecond")
        entry.set("PROBE_LARGE", String(repeating: "x", count: 1 << 20))
        try journal.send(entry)
        return Journal.isStandardError() ? "ok native" : "ok"
    }
}
