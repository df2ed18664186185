import BusJSON
import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// A Unix socket that answers each line by a script: what tests talk to where no daemon is needed.
///
/// It takes connections one after the other. The script gets a line and gives the lines to answer with; nil, or
/// `hangUp` behind answers, ends the connection.
final class ScriptedBus: Sendable {
    let address: String
    /// Nil on TCP.
    private let path: String?
    private let listener: Int32
    private let script: @Sendable (String) -> [String]?
    private let lines = Mutex<[String]>([])
    private let queue = DispatchQueue(label: "scripted bus")

    /// Every line received so far.
    var received: [String] { lines.withLock { $0 } }

    /// An answer that ends the connection.
    static let hangUp = "hang up"

    init(overTCP: Bool = false, _ script: @escaping @Sendable (String) -> [String]?) throws {
        self.script = script
        if overTCP {
            path = nil
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            address = "tcp:127.0.0.1:\(Self.bindToFreePort(listener))"
        } else {
            let path = Self.freshPath()
            self.path = path
            listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            address = "unix:\(path)"
            guard Self.bind(listener, path) else {
                throw SetupFailure(reason: String(cString: strerror(errno)))
            }
        }
        guard listen(listener, 16) == 0 else { throw SetupFailure(reason: String(cString: strerror(errno))) }
        queue.async { self.serve() }
    }

    struct SetupFailure: Error { let reason: String }

    deinit {
        if let path { unlink(path) }
        close(listener)
    }

    /// A short path that nothing stands at: `sun_path` holds 108 bytes.
    static func freshPath() -> String {
        "/tmp/fluxbus-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
    }

    private static func bind(_ listener: Int32, _ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Gives the port the kernel chose; 0 when it did not.
    private static func bindToFreePort(_ listener: Int32) -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = Glibc.bind(listener, $0, length)
                getsockname(listener, $0, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
    }

    /// Ends the listening, and returns when everything that was sent has been received.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        queue.sync {}
    }

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            converse(client)
            close(client)
        }
    }

    private func converse(_ client: Int32) {
        var pending: [UInt8] = []
        var space = [UInt8](repeating: 0, count: 65536)
        while true {
            while let end = pending.firstIndex(of: 0x0a) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeSubrange(...end)
                lines.withLock { $0.append(line) }
                guard let answers = script(line) else { return }
                for answer in answers {
                    guard answer != Self.hangUp, send(answer + "\n", to: client) else { return }
                }
            }
            let count = read(client, &space, space.count)
            guard count > 0 else { return }
            pending += space[..<count]
        }
    }

    private func send(_ text: String, to client: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// A reply to `line` with these members: `{"id":…,"ok":true,…}`.
    static func reply(to line: String, _ members: JSONObject = [:]) -> String {
        var reply = members
        reply["id"] = (try? JSON(parsing: line))?["id"]
        reply["ok"] = true
        return reply.encoded
    }

    /// A refusal of `line`.
    static func refusal(of line: String, _ code: String, _ message: String = "No.") -> String {
        var reply: JSONObject = [
            "ok": false, "error": ["code": .string(code), "message": .string(message)],
        ]
        reply["id"] = (try? JSON(parsing: line))?["id"]
        return reply.encoded
    }

    static func op(of line: String) -> String { (try? JSON(parsing: line))?["op"]?.string ?? "" }
}
