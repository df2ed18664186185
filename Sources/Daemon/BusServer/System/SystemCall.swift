import BusEngine
import BusSystem
import CLinux
import Glibc

/// The one place for system calls on connections.
///
/// EINTR is retried, except for `close`, whose descriptor is gone either way. EAGAIN is a value, not an error. A
/// descriptor that the kernel does not know (EBADF) means that we closed it twice, or closed another one: that stops
/// the program, since the next write could reach a different client.
enum SystemCall {
    /// The result of reading.
    enum Received {
        case bytes(Int)
        /// The peer has finished sending.
        case end
        case wouldBlock
        case failed(SystemError)
    }

    /// The result of writing.
    enum Sent {
        case bytes(Int)
        case wouldBlock
        case failed(SystemError)
    }

    /// The result of accepting.
    enum Accepted {
        case connection(Int32)
        case wouldBlock
        /// This process or the machine has no descriptor left.
        case noDescriptor
        case failed(SystemError)
    }

    static func receive(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, _ calls: inout SystemCallCount
    ) -> Received {
        while true {
            calls.receive &+= 1
            let count = recv(descriptor, buffer.baseAddress, buffer.count, linux_dont_wait)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(failure("recv"))
            }
        }
    }

    static func send(
        _ descriptor: Int32, _ pieces: UnsafeBufferPointer<OutputPiece>, _ calls: inout SystemCallCount
    ) -> Sent {
        send(&calls) {
            pieces.withMemoryRebound(to: iovec.self) {
                linux_send_pieces(descriptor, $0.baseAddress, $0.count)
            }
        }
    }

    /// The same with a file, which the peer gets with the first byte.
    static func send(
        _ descriptor: Int32, _ pieces: UnsafeBufferPointer<OutputPiece>, with file: Int32,
        _ calls: inout SystemCallCount
    ) -> Sent {
        send(&calls) {
            pieces.withMemoryRebound(to: iovec.self) { pieces in
                withUnsafePointer(to: file) {
                    linux_send_message(
                        descriptor, nil, 0, pieces.baseAddress, pieces.count, $0, 1, linux_dont_wait)
                }
            }
        }
    }

    /// The outcome of a send whose result is the number of bytes sent, or a negative errno.
    static func sent(_ result: Int32) -> Sent {
        if result >= 0 { return .bytes(Int(result)) }
        errno = -result
        return result == -EAGAIN ? .wouldBlock : .failed(failure("send"))
    }

    @inline(__always)
    private static func send(_ calls: inout SystemCallCount, _ call: () -> Int) -> Sent {
        while true {
            calls.send &+= 1
            let count = call()
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            default: return .failed(failure("sendmsg"))
            }
        }
    }

    /// Accepts a connection; `address` is filled in with the peer's.
    static func accept(_ listener: Int32, address: inout sockaddr_storage) -> Accepted {
        while true {
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    linux_accept(listener, $0, &length)
                }
            }
            if descriptor >= 0 { return .connection(descriptor) }
            switch errno {
            // A connection that vanished in the queue doesn't count; the next one may be there.
            case EINTR, ECONNABORTED: continue
            case EAGAIN: return .wouldBlock
            case EMFILE, ENFILE: return .noDescriptor
            default: return .failed(failure("accept"))
            }
        }
    }

    /// Closes a descriptor that is ours, once.
    static func close(_ descriptor: Int32) {
        if Glibc.close(descriptor) != 0, errno == EBADF { stop("close", descriptor) }
    }

    private static func failure(_ call: String) -> SystemError {
        let error = SystemError(call)
        if error.code == EBADF { stop(call, -1) }
        return error
    }

    private static func stop(_ call: String, _ descriptor: Int32) -> Never {
        fatalError("\(call) on a descriptor that is not open (\(descriptor)): a connection was closed twice.")
    }
}

/// The number of system calls that a bus has made for its connections. On a busy bus they are most of what a commit
/// costs, so tests count them where a clock would only say how busy the machine is.
///
/// A plain number that only the bus queue counts up: its cost for a commit can't be measured.
package struct SystemCallCount: Sendable, Equatable {
    /// Reading from connections.
    package internal(set) var receive = 0
    /// Writing to connections.
    package internal(set) var send = 0
    /// Polling for ready sockets.
    package internal(set) var poll = 0
    /// Changing the events waited for.
    package internal(set) var control = 0

    /// All of them.
    package var total: Int { receive + send + poll + control }

    package static func - (left: SystemCallCount, right: SystemCallCount) -> SystemCallCount {
        var result = left
        result.receive -= right.receive
        result.send -= right.send
        result.poll -= right.poll
        result.control -= right.control
        return result
    }
}

/// How large the log is on the disk.
enum FileSize {
    /// The bytes of a log's file, and of its write-ahead log and its tail beside it; nil if there is no such file.
    static func of(_ path: String) -> Int? {
        guard let file = bytes(path) else { return nil }
        return ["-wal", "-tail"].reduce(file) { $0 + (bytes(path + $1) ?? 0) }
    }

    private static func bytes(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
