import BusEngine
import CLinux
import Glibc

/// New connections: who they are, and what happens when there are too many.
extension EventLoop {
    func add(_ listener: Listener) throws(SystemError) {
        let acceptor = Acceptor(listener, index: acceptors.count)
        try poller.add(listener.descriptor, .input, token: acceptor.token, &calls)
        acceptors.append(acceptor)
    }

    func accept(from acceptor: Acceptor) {
        for _ in 0..<Bounds.acceptedPerTurn {
            var address = sockaddr_storage()
            switch SystemCall.accept(acceptor.listener.descriptor, address: &address) {
            case .connection(let descriptor):
                welcome(descriptor, acceptor.listener, address)
            case .wouldBlock:
                return
            case .noDescriptor:
                switch refuseWithSpare(acceptor.listener) {
                case .refused: continue
                case .nobodyWaits: return
                case .noSpare: return pauseAccepting("there is no descriptor left")
                }
            case .failed(let error):
                return pauseAccepting(error.reason)
            }
        }
    }

    private func welcome(_ descriptor: Int32, _ listener: Listener, _ address: sockaddr_storage) {
        guard connections.count < limits.connections else {
            return refuse(descriptor, "This bus takes \(limits.connections) connections; try again later.")
        }
        guard let peer = listener.identify(descriptor, address, asksForUnit: asksForUnits) else {
            clientLog.note(.warning, "connection without an identity refused", nil)
            return SystemCall.close(descriptor)
        }
        let id = engine.connect(peer)
        let token = connections.insert(id, descriptor: descriptor)
        do throws(SystemError) {
            try poller.add(descriptor, .input, token: token, &calls)
        } catch {
            clientLog.note(.warning, "connection refused: \(error.description)", peer)
            return close(id, .peerLost)
        }
        if case .tcp = peer {
            connections.update(id) { $0.awaitsHello = true }
            deadlines.addHello(token, now: MonotonicClock.read())
        }
        clientLog.debug("connection opened", peer)
    }

    /// The last words to a connection that there is no room for. Its socket is new, so they fit.
    private func refuse(_ descriptor: Int32, _ message: String) {
        clientLog.note(.warning, "connection refused: \(message)", nil)
        var line = #"{"event":"goodbye","code":"limit","message":"\#(message)"}"# + "\n"
        line.withUTF8 { _ = send(descriptor, $0.baseAddress, $0.count, linux_no_signal) }
        drain(descriptor)
        SystemCall.close(descriptor)
    }

    private enum Refusal {
        case refused, nobodyWaits, noSpare
    }

    /// Takes one waiting connection with the spare descriptor, to refuse it. Without a descriptor the kernel does
    /// not even tell whether one waits.
    private func refuseWithSpare(_ listener: Listener) -> Refusal {
        guard spare.giveUp() else { return .noSpare }
        defer { spare.take() }
        var address = sockaddr_storage()
        switch SystemCall.accept(listener.descriptor, address: &address) {
        case .connection(let descriptor):
            refuse(descriptor, "This bus has no descriptor left; try again later.")
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
        for acceptor in acceptors {
            poller.modify(acceptor.listener.descriptor, [], token: acceptor.token, &calls)
        }
        deadlines.acceptAgain = MonotonicClock.read() + Bounds.acceptPause
    }

    func resumeAccepting() {
        deadlines.acceptAgain = nil
        spare.take()
        for acceptor in acceptors {
            poller.modify(acceptor.listener.descriptor, .input, token: acceptor.token, &calls)
        }
    }
}
