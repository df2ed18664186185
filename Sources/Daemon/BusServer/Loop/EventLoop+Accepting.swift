import BusEngine
import BusMachine
import BusProtocol
import BusSystem
import CLinux
import Glibc

/// New connections: their peers, and what happens when there are too many.
extension EventLoop {
    func add(_ listener: Listener) throws(SystemError) {
        if listener.isTCP, strangers == nil {
            let strangers = try Strangers()
            try add(.strangers(strangers), strangers.poller.descriptor)
        }
        try add(.listener(listener), listener.descriptor)
    }

    private func add(_ door: Acceptor.Door, _ descriptor: Int32) throws(SystemError) {
        let acceptor = Acceptor(door, index: acceptors.count)
        try poller.add(descriptor, .input, token: acceptor.token, &calls)
        acceptors.append(acceptor)
    }

    func accept(from acceptor: Acceptor) {
        switch acceptor.door {
        case .listener(let listener): accept(from: listener)
        case .strangers(let strangers): hear(strangers)
        }
    }

    private func accept(from listener: Listener) {
        // A new connection may take the place of another one, whose handshake has to be tried first.
        let end =
            MonotonicClock.nanoseconds
            + (engine.isShared ? LoopLimits.sharedTurnNanoseconds : LoopLimits.acceptNanoseconds)
        repeat {
            var address = sockaddr_storage()
            switch SystemCall.accept(listener.descriptor, address: &address) {
            case .connection(let descriptor):
                welcome(descriptor, listener, address)
            case .wouldBlock:
                return
            case .noDescriptor:
                switch refuseWithSpare(listener) {
                case .refused: continue
                case .nobodyWaits: return
                case .noSpare: return pauseAccepting("out of file descriptors")
                }
            case .failed(let error):
                return pauseAccepting(error.reason)
            }
        } while MonotonicClock.nanoseconds < end
    }

    private func welcome(_ descriptor: Int32, _ listener: Listener, _ address: sockaddr_storage) {
        let count = connections.count + (strangers?.all.count ?? 0)
        guard count < limits.daemon.connections else {
            return refuse(
                descriptor, listener,
                "This bus allows \(limits.daemon.connections) connections; try again later.")
        }
        guard let peer = listener.identify(descriptor, address, asksForUnit: asksForUnits) else {
            clientLog.note(.warning, "connection without an identity refused", nil)
            return SystemCall.close(descriptor)
        }
        let reserve = LoopLimits.reserved(of: limits.daemon.connections)
        guard count < limits.daemon.connections - reserve || isOperator(peer) else {
            return refuse(
                descriptor, listener,
                "This bus allows \(limits.daemon.connections) connections, \(reserve) of them its operator's; try again later."
            )
        }
        if let message = engine.refusal(of: peer) { return refuse(descriptor, listener, message) }
        if let strangers, case .tcp = peer {
            return receive(
                descriptor, peer, listener.context.map { SecureTransport($0) }, among: strangers)
        }
        let id = engine.connect(peer, comm: Listener.comm(of: peer))
        let token = connections.insert(id, descriptor: descriptor)
        do throws(SystemError) {
            try poller.add(descriptor, .input, token: token, &calls)
        } catch {
            clientLog.note(.warning, "connection refused: \(error.description)", peer)
            return close(id, .peerLost)
        }
        clientLog.debug("connection opened", peer)
    }

    /// Whether the peer may be an operator, who has to get in when no other client does.
    private func isOperator(_ peer: Peer) -> Bool {
        if case .unix(let uid, _, _) = peer { uid == 0 || uid == Int(geteuid()) } else { false }
    }

    /// Refuses a connection for which there is no room.
    private func refuse(_ descriptor: Int32, _ listener: Listener, _ message: String) {
        clientLog.note(.warning, "connection refused: \(message)", nil)
        // There is no time for a handshake now, and nothing can be said before it.
        if listener.context != nil { return SystemCall.close(descriptor) }
        sayLastWords(to: descriptor, nil, .limit, message)
    }

    /// Writes the goodbye to a client that the engine does not know, and closes it. Its
    /// socket is new, so the line fits.
    func sayLastWords(
        to descriptor: Int32, _ transport: SecureTransport?, _ code: GoodbyeCode, _ message: String,
        after reply: String = ""
    ) {
        var line = reply + #"{"event":"goodbye","code":"\#(code.rawValue)","message":"\#(message)"}"# + "\n"
        if let transport {
            transport.sayLastWords(line, to: descriptor, &calls)
        } else {
            line.withUTF8 {
                _ = send(descriptor, $0.baseAddress, $0.count, linux_no_signal | linux_dont_wait)
            }
        }
        drain(descriptor)
        SystemCall.close(descriptor)
    }

    private enum Refusal {
        case refused, nobodyWaits, noSpare
    }

    /// Accepts one waiting connection with the spare descriptor, to refuse it. Without a spare descriptor the kernel does not
    /// even say whether a connection waits.
    private func refuseWithSpare(_ listener: Listener) -> Refusal {
        guard spare.giveUp() else { return .noSpare }
        defer { spare.take() }
        var address = sockaddr_storage()
        switch SystemCall.accept(listener.descriptor, address: &address) {
        case .connection(let descriptor):
            refuse(descriptor, listener, "This bus is out of file descriptors; try again later.")
            return .refused
        case .wouldBlock:
            return .nobodyWaits
        case .noDescriptor, .failed:
            return .noSpare
        }
    }

    /// Waiting connections keep a listener ready; the loop must not spin on one that it can't serve.
    private func pauseAccepting(_ reason: String) {
        clientLog.note(.warning, "accepting paused: \(reason)", nil)
        listenFor([])
        deadlines.acceptAgain = MonotonicClock.milliseconds + LoopLimits.acceptPause
    }

    func resumeAccepting() {
        deadlines.acceptAgain = nil
        spare.take()
        listenFor(.input)
    }

    private func listenFor(_ interest: Poller.Interest) {
        for acceptor in acceptors {
            guard let listener = acceptor.listener else { continue }
            poller.modify(listener.descriptor, interest, token: acceptor.token, &calls)
        }
    }
}

/// A source of new connections in the event loop: a listening socket, or the TCP clients
/// that have not sent their hello.
struct Acceptor {
    /// Marks tokens that stand for acceptors; the rest of the token is the index among them.
    static let tokenMark: UInt64 = 1 << 63

    enum Door {
        case listener(Listener)
        case strangers(Strangers)
    }

    let door: Door
    let token: UInt64

    init(_ door: Door, index: Int) {
        self.door = door
        token = Acceptor.tokenMark | UInt64(index)
    }

    var listener: Listener? { if case .listener(let listener) = door { listener } else { nil } }
    var strangers: Strangers? { if case .strangers(let strangers) = door { strangers } else { nil } }
}
