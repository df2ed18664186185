import Foundation
import Synchronization
import TestServer

/// Stands between a client and a server on loopback, and lets through what a test wants.
package final class Relay: Sendable {
    /// What does not come back from the server any more, though the connections stay.
    package enum Held: Sendable {
        case nothing
        /// What streams of changes bring.
        case watches
        /// What goes to the server; what it sends still comes.
        case requests
        case everything
        /// Everything, until it is mended: then it comes.
        case late
    }

    private struct Contents {
        var held = Held.nothing
        /// So many milliseconds later everything comes back.
        var delay: Int32 = 0
        var isCut = false
        var descriptors: Set<Int32> = []
        var isEnded = false
    }

    private final class Connection: Sendable {
        let client: Int32
        let server: Int32
        let isWatch = Mutex(false)
        /// Both directions close it; the second one in fact.
        let directions = Mutex(2)

        init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

        /// - Parameter forget: Called before the descriptors are closed.
        func endDirection(_ forget: (Connection) -> Void) {
            let isLast = directions.withLock { left in
                left -= 1
                return left == 0
            }
            guard isLast else { return }
            forget(self)
            close(client)
            close(server)
        }
    }

    /// Where clients reach it.
    package let endpoint: String
    private let listener: Int32
    private let target: UInt16
    private let contents = Mutex(Contents())

    /// - Parameter endpoint: Of the server behind it, such as `http://127.0.0.1:2379`.
    package init(to endpoint: String) throws {
        guard let target = endpoint.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw TestEtcd.Failure(description: "\(endpoint) has no port.")
        }
        self.target = target
        let port = try FreePorts.take(1)[0]
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        guard Self.withLoopback(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 16) == 0 else {
            throw TestEtcd.Failure(description: "A relay can't listen at port \(port).")
        }
        listener = descriptor
        self.endpoint = "http://127.0.0.1:\(port)"
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0, let self else { break }
                take(client)
            }
            close(descriptor)
        }
    }

    deinit { end() }

    package func hold(_ held: Held) { contents.withLock { $0.held = held } }

    /// Everything comes back so much later.
    package func delay(milliseconds: Int32) { contents.withLock { $0.delay = milliseconds } }

    /// Cuts all connections, and ends further ones at once until it is mended.
    package func cut() {
        contents.withLock { contents in
            contents.isCut = true
            for descriptor in contents.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Cuts all connections once; further ones pass.
    package func reset() {
        contents.withLock { contents in
            for descriptor in contents.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Lets everything through again. Connections that lack something end: no network leaves out a part.
    package func mend() {
        contents.withLock { contents in
            switch contents.held {
            case .watches, .requests, .everything:
                for descriptor in contents.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
            case .nothing, .late: break
            }
            (contents.held, contents.isCut) = (.nothing, false)
        }
    }

    /// Cuts all connections, and takes no further ones.
    package func end() {
        contents.withLock { contents in
            guard !contents.isEnded else { return }
            contents.isEnded = true
            shutdown(listener, Int32(SHUT_RDWR))
            for descriptor in contents.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private func take(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isReady = contents.withLock { contents in
            guard !contents.isEnded, !contents.isCut else { return false }
            contents.descriptors.formUnion([client, server])
            return true
        }
        guard isReady, Self.withLoopback(target, { connect(server, $0, $1) }) == 0 else {
            contents.withLock { $0.descriptors.subtract([client, server]) }
            close(client)
            close(server)
            return
        }
        let connection = Connection(client, server)
        Thread.detachNewThread { [weak self] in
            Self.pump(client, server) { [weak self] bytes in
                // The stream has its connection for itself from here on.
                if String(decoding: bytes, as: UTF8.self).contains("/v3/watch") {
                    connection.isWatch.withLock { $0 = true }
                }
                return self?.contents.withLock { $0.held != .requests } ?? false
            }
            connection.endDirection { self?.forget($0) }
        }
        Thread.detachNewThread { [weak self] in
            Self.pump(server, client) { [weak self] _ in self?.passes(connection) ?? false }
            connection.endDirection { self?.forget($0) }
        }
    }

    /// Whether what has come from the server goes on to the client; it may wait for that.
    private func passes(_ connection: Connection) -> Bool {
        let delay = contents.withLock { $0.delay }
        if delay > 0 { poll(nil, 0, delay) }
        while true {
            let (held, isEnded) = contents.withLock { ($0.held, $0.isEnded) }
            switch held {
            case .nothing, .requests: return true
            case .watches: return !connection.isWatch.withLock { $0 }
            case .everything: return false
            case .late: if isEnded { return false }
            }
            poll(nil, 0, 5)
        }
    }

    private func forget(_ connection: Connection) {
        contents.withLock { $0.descriptors.subtract([connection.client, connection.server]) }
    }

    private static func pump(_ from: Int32, _ to: Int32, _ passes: (ArraySlice<UInt8>) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            guard passes(buffer[..<count]) else { continue }
            var sent = 0
            while sent < count {
                let more = buffer[sent..<count].withUnsafeBytes {
                    send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard more > 0 else { break }
                sent += more
            }
            if sent < count { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
    }

    private static func withLoopback(
        _ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
