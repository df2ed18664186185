import CSystemd
import Glibc
import Systemd

/// Waits on all its sockets at once and answers each line. One thread, nothing hidden: what the tests see is what the
/// `Systemd` library did.
struct ProbeServer {
    let orders: ProbeOrders
    private var listeners: [Int32] = []
    /// Open connections, with what was read of a line that is not whole yet.
    private var connections: [(descriptor: Int32, unread: [UInt8])] = []

    init() throws {
        var passed = try ListenDescriptors()
        let summary = try passed.remaining.map { "\($0.name):\(try Self.kind($0.descriptor))" }
        for name in Set(passed.remaining.map(\.name)).subtracting(["state", "connections"]) {
            listeners += try passed.take(named: name, as: .streamListener)
        }
        for bundle in passed.take(named: "connections") {
            connections += try DescriptorBundle.unpack(bundle.descriptor).map { ($0, []) }
            close(bundle.descriptor)
        }
        orders = ProbeOrders(
            notifier: Notifier(), watchdog: try Watchdog(), passed: summary,
            states: passed.take(named: "state").map(\.descriptor))
        // They are here now; stored ones would keep their peers from ever seeing an end.
        try orders.notifier.removeStored(named: "connections")
    }

    static func kind(_ descriptor: Int32) throws -> String {
        if try SocketKind.unixListener.matches(descriptor) { return "unix" }
        if try SocketKind.tcpListener.matches(descriptor) { return "tcp" }
        return "other"
    }

    mutating func run() throws {
        while true {
            var waited = (listeners + connections.map(\.descriptor)).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&waited, nfds_t(waited.count), -1) >= 0 || errno == EINTR else {
                throw ProbeClient.Failure(description: "poll: \(String(cString: strerror(errno)))")
            }
            let ready = Set(waited.filter { $0.revents != 0 }.map(\.fd))
            for listener in listeners where ready.contains(listener) {
                let descriptor = accept(listener, nil, nil)
                if descriptor >= 0 { connections.append((descriptor, [])) }
            }
            for index in connections.indices.reversed() where ready.contains(connections[index].descriptor) {
                try read(index)
            }
        }
    }

    private mutating func read(_ index: Int) throws {
        let descriptor = connections[index].descriptor
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            close(descriptor)
            connections.remove(at: index)
            return
        }
        connections[index].unread += buffer[..<count]
        while let end = connections[index].unread.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: connections[index].unread[..<end], as: UTF8.self)
            connections[index].unread.removeSubrange(...end)
            let reply = Array((answer(line, descriptor) + "\n").utf8)
            send(descriptor, reply, reply.count, systemd_no_signal)
        }
    }

    private func answer(_ line: String, _ descriptor: Int32) -> String {
        do {
            return try orders.follow(line, from: descriptor, connections: connections.map(\.descriptor))
        } catch {
            return "error \(error)"
        }
    }
}
