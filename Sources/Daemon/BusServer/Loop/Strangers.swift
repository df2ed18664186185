import BusEngine
import BusMachine
import BusSystem
import BusTLS
import Glibc

/// TCP clients that have not sent their hello yet. Every user of this machine can be one, so they cost as
/// little as possible: the engine does not know them, there are few of them at a time, and only their first
/// line is read, which is short. With TLS, the handshake comes before that line and counts as part of it: a client whose
/// handshake is unfinished is known only here.
///
/// They have an epoll descriptor of their own, which the loop watches as one of its acceptors.
///
/// Confined to the bus queue.
final class Strangers {
    struct Stranger {
        let token: UInt64
        let descriptor: Int32
        var peer: Peer
        /// Nil where there is no TLS.
        let transport: SecureTransport?
        /// The time by which it has to send its hello, in monotonic milliseconds.
        let due: Int
        /// The bytes that it has sent, without empty lines at the beginning.
        var bytes: [UInt8] = []
        /// The time before which nothing happens with it: its complete first line is not executed, its handshake does not begin,
        /// or its refusal is not sent.
        var heldUntil: Int?
        /// It has waited for its handshake, if it had to.
        var mayShakeHands = false
        /// Its handshake has failed.
        var isRefused = false
        /// Encrypted bytes wait for room in its socket.
        var awaitsRoom = false

        /// The address without the port, which differs for each connection.
        var host: String {
            guard case .tcp(let address, _) = peer else { return "" }
            return String(address[..<(address.lastIndex(of: ":") ?? address.endIndex)])
        }

        /// Whether nothing can be sent to it yet: it would take a line for a broken handshake.
        var isDeaf: Bool { transport.map { !$0.isEstablished } ?? false }

        /// Whether its certificate was verified, so that its first line may be any.
        var hasCertificate: Bool { if case .tcp(_, .some) = peer { true } else { false } }
    }

    let poller: Poller
    /// In the order in which they connected.
    private(set) var all: [Stranger] = []
    var guesses = Guesses()
    private var nextToken: UInt64 = 0
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LoopLimits.firstLine, alignment: 16)
    private let plain = SecureTransport.plainBuffer(forReading: LoopLimits.firstLine)

    init() throws(SystemError) { poller = try Poller() }

    deinit {
        for stranger in all { SystemCall.close(stranger.descriptor) }
        buffer.deallocate()
        plain.deallocate()
    }

    /// When one of them has to be checked although it sends nothing.
    var nextDue: Int? { all.lazy.map { $0.heldUntil ?? $0.due }.min() }

    func add(
        _ descriptor: Int32, _ peer: Peer, _ transport: SecureTransport?, due: Int,
        _ calls: inout SystemCallCount
    ) throws(SystemError) {
        try poller.add(descriptor, .input, token: nextToken, &calls)
        all.append(
            Stranger(
                token: nextToken, descriptor: descriptor, peer: peer, transport: transport, due: due))
        nextToken += 1
    }

    /// The one that makes room for another: the oldest from the address that has the most. So an address that opens many
    /// connections displaces only its own.
    var oldestOfMost: Stranger? {
        var counts: [String: Int] = [:]
        for stranger in all { counts[stranger.host, default: 0] += 1 }
        let most = counts.values.max()
        return all.first { counts[$0.host] == most }
    }

    func find(_ token: UInt64) -> Stranger? { all.first { $0.token == token } }

    /// Removes one; its descriptor stays open, and belongs to the caller.
    @discardableResult
    func remove(_ token: UInt64, _ calls: inout SystemCallCount) -> Stranger? {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return nil }
        poller.remove(all[index].descriptor, &calls)
        return all.remove(at: index)
    }

    /// Nothing further happens with it before a time.
    func hold(_ token: UInt64, until time: Int, _ calls: inout SystemCallCount) {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return }
        all[index].heldUntil = time
        poller.modify(all[index].descriptor, [], token: token, &calls)
    }

    /// Its handshake may begin.
    func letShakeHands(_ token: UInt64, _ calls: inout SystemCallCount) {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return }
        all[index].mayShakeHands = true
        guard all[index].heldUntil != nil else { return }
        all[index].heldUntil = nil
        poller.modify(all[index].descriptor, .input, token: token, &calls)
    }

    /// The result of reading a first line.
    enum FirstLine {
        case unfinished, whole, tooLong, ended
        case refused(TLSFailure)
    }

    /// Reads what one has sent, up to the limit.
    func read(_ token: UInt64, _ calls: inout SystemCallCount) -> FirstLine {
        guard let index = all.firstIndex(where: { $0.token == token }) else { return .unfinished }
        if all[index].transport != nil { return readSecured(index, &calls) }
        let room = LoopLimits.firstLine - all[index].bytes.count
        let space = UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])
        switch SystemCall.receive(all[index].descriptor, into: space, &calls) {
        case .bytes(let count):
            return add(space[..<count], to: index)
        case .wouldBlock: return .unfinished
        case .end, .failed: return .ended
        }
    }

    private func add(_ bytes: Slice<UnsafeMutableRawBufferPointer>, to index: Int) -> FirstLine {
        all[index].bytes += bytes
        // Empty lines are ignored, so they must not use up the limit.
        let start = all[index].bytes.firstIndex { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        all[index].bytes.removeFirst(start ?? all[index].bytes.count)
        if all[index].bytes.contains(UInt8(ascii: "\n")) { return .whole }
        return all[index].bytes.count < LoopLimits.firstLine ? .unfinished : .tooLong
    }

    private func readSecured(_ index: Int, _ calls: inout SystemCallCount) -> FirstLine {
        guard let transport = all[index].transport else { return .unfinished }
        if case .failed = transport.flush(all[index].descriptor, &calls) { return .ended }
        var line = FirstLine.unfinished
        switch SystemCall.receive(all[index].descriptor, into: buffer, &calls) {
        case .bytes(let count):
            do throws(TLSFailure) {
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                let (heard, hasEnded) = try transport.receive(bytes, into: plain)
                if case .tcp(let address, nil) = all[index].peer, transport.isEstablished {
                    all[index].peer = .tcp(address: address, certificate: transport.certificate)
                }
                line = add(plain[..<heard], to: index)
                if hasEnded, case .unfinished = line { return .ended }
            } catch {
                all[index].isRefused = true
                return .refused(error)
            }
        case .wouldBlock: break
        case .end, .failed: return .ended
        }
        if case .failed = transport.flush(all[index].descriptor, &calls) { return .ended }
        if transport.hasOutput != all[index].awaitsRoom {
            all[index].awaitsRoom = transport.hasOutput
            let interest: Poller.Interest = transport.hasOutput ? [.input, .output] : .input
            poller.modify(all[index].descriptor, interest, token: all[index].token, &calls)
        }
        return line
    }
}
