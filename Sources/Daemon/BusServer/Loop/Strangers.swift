import BusEngine
import BusMachine
import Glibc

/// TCP clients that have not sent their hello yet. Every user of this machine can be one, so they cost as
/// little as possible: the engine does not know them, there are few of them at a time, and only their first
/// line is read, which is short.
///
/// They have an epoll descriptor of their own, which the loop watches as one of its acceptors.
///
/// Confined to the bus queue.
final class Strangers {
    struct Stranger {
        let token: UInt64
        let descriptor: Int32
        let peer: Peer
        /// Until when it has to send its hello, in monotonic milliseconds.
        let due: Int
        /// What it has sent, without empty lines at the beginning.
        var bytes: [UInt8] = []
        /// Its first line is complete, and is not executed before then.
        var heldUntil: Int?

        /// The address without the port, which differs for each connection.
        var host: String {
            guard case .tcp(let address) = peer else { return "" }
            return String(address[..<(address.lastIndex(of: ":") ?? address.endIndex)])
        }
    }

    let poller: Poller
    /// In the order in which they connected.
    private(set) var all: [Stranger] = []
    var guesses = Guesses()
    private var nextToken: UInt64 = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LoopLimits.firstLine, alignment: 16)

    init() throws(SystemError) { poller = try Poller() }

    deinit {
        for stranger in all { SystemCall.close(stranger.descriptor) }
        buffer.deallocate()
    }

    /// When one of them has to be checked although it sends nothing.
    var nextDue: Int? { all.lazy.map { $0.heldUntil ?? $0.due }.min() }

    func add(
        _ descriptor: Int32, _ peer: Peer, due: Int, _ calls: inout SystemCallCount
    ) throws(SystemError) {
        try poller.add(descriptor, .input, token: nextToken, &calls)
        all.append(Stranger(token: nextToken, descriptor: descriptor, peer: peer, due: due))
        nextToken += 1
    }

    func find(_ token: UInt64) -> Stranger? { all.first { $0.token == token } }

    /// Removes one; its descriptor stays open, and belongs to the caller.
    @discardableResult
    func remove(_ token: UInt64, _ calls: inout SystemCallCount) -> Stranger? {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return nil }
        poller.remove(all[index].descriptor, &calls)
        return all.remove(at: index)
    }

    /// Delays the execution of a complete first line until then.
    func hold(_ token: UInt64, until time: Int, _ calls: inout SystemCallCount) {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return }
        all[index].heldUntil = time
        poller.modify(all[index].descriptor, [], token: token, &calls)
    }

    /// The result of reading a first line.
    enum FirstLine {
        case unfinished, whole, tooLong, ended
    }

    /// Reads what one has sent, up to the limit.
    func read(_ token: UInt64, _ calls: inout SystemCallCount) -> FirstLine {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return .unfinished }
        let room = LoopLimits.firstLine - all[index].bytes.count
        let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
        switch SystemCall.receive(all[index].descriptor, into: space, &calls) {
        case .bytes(let count):
            all[index].bytes += space[..<count]
            // Empty lines are ignored, so they must not fill the room.
            let start = all[index].bytes.firstIndex { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
            all[index].bytes.removeFirst(start ?? all[index].bytes.count)
            if all[index].bytes.contains(UInt8(ascii: "\n")) { return .whole }
            return all[index].bytes.count < LoopLimits.firstLine ? .unfinished : .tooLong
        case .wouldBlock: return .unfinished
        case .end, .failed: return .ended
        }
    }
}
