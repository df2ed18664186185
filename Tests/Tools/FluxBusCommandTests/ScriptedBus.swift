import BusJSON
import Dispatch
import Synchronization
import TestFiles

#if canImport(Glibc)
    import Glibc
#endif

/// A Unix socket that answers each line by a script: what tests talk to where no daemon is needed.
///
/// It takes connections one after the other. The script gets a line and gives the lines to answer with; nil, or
/// `hangUp` behind answers, ends the connection. It listens until it is stopped or let go.
final class ScriptedBus: Sendable {
    let address: String
    private let directory = TemporaryDirectory()
    private let listener: Int32
    private let conversation: Conversation
    private let queue = DispatchQueue(label: "scripted bus")
    private let hasStopped = Atomic<Bool>(false)

    /// Every line received so far.
    var received: [String] { conversation.lines.withLock { $0 } }

    /// An answer that ends the connection.
    static let hangUp = "hang up"

    init(overTCP: Bool = false, _ script: @escaping @Sendable (String) -> [String]?) throws {
        if overTCP {
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            address = "tcp:127.0.0.1:\(Self.bindToFreePort(listener))"
        } else {
            let path = "\(directory.path)/s"
            listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            address = "unix:\(path)"
            guard Self.bind(listener, path) else {
                throw SetupFailure(reason: String(cString: strerror(errno)))
            }
        }
        guard listen(listener, 16) == 0 else { throw SetupFailure(reason: String(cString: strerror(errno))) }
        conversation = Conversation(script: script)
        // Not this bus itself, which could then never be let go.
        queue.async { [listener, conversation] in
            conversation.serve(listener)
            close(listener)
        }
    }

    struct SetupFailure: Error { let reason: String }

    /// Ends the wait for the next connection; whoever waits closes the listener.
    deinit { if !hasStopped.load(ordering: .relaxed) { shutdown(listener, Int32(SHUT_RDWR)) } }

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

    /// Takes no further connection.
    func endListening() {
        guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    /// Ends the listening, and returns when everything that was sent has been received.
    func stop() {
        endListening()
        queue.sync {}
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
