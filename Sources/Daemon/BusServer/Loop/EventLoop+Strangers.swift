import BusEngine
import BusMachine
import BusProtocol
import BusSystem
import BusTLS
import CLinux
import Glibc

/// TCP clients before their hello: read separately from all others, and admitted with their first line, whatever it
/// says. The engine decides about it.
extension EventLoop {
    var strangers: Strangers? { acceptors.lazy.compactMap(\.strangers).first }

    /// A client connected over TCP. If there are too many already, the one that has been silent for longest is turned
    /// away: a client that sends its hello at once gets in, however many others wait.
    func receive(
        _ descriptor: Int32, _ peer: Peer, _ transport: SecureTransport?, among strangers: Strangers
    ) {
        if strangers.all.count >= LoopLimits.strangers, let oldest = strangers.oldestOfMost {
            // Its first line may not have been read yet.
            if oldest.heldUntil == nil { hear(oldest.token, among: strangers) }
            if strangers.find(oldest.token) != nil {
                turnAway(
                    oldest.token, among: strangers, .limit,
                    "This bus lets only \(LoopLimits.strangers) TCP clients wait; say hello directly after connecting."
                )
            }
        }
        let due = deadlines.helloDue(now: MonotonicClock.milliseconds)
        do throws(SystemError) {
            try strangers.add(descriptor, peer, transport, due: due, &calls)
        } catch {
            clientLog.note(.warning, "connection refused: \(error.description)", peer)
            SystemCall.close(descriptor)
        }
    }

    /// Some of them sent something, or closed.
    func hear(_ strangers: Strangers) {
        let ready = strangers.poller.poll(&calls)
        // Reading one may turn another away, whose event is then void.
        let tokens = (0..<ready).map { strangers.poller.event($0).token }
        engine.noteStrangers()
        let end =
            MonotonicClock.nanoseconds
            + (engine.isShared ? LoopLimits.sharedTurnNanoseconds : LoopLimits.handshakeNanoseconds)
        for token in tokens {
            hear(token, among: strangers)
            // The others are reported again.
            if MonotonicClock.nanoseconds > end { break }
        }
    }

    private func hear(_ token: UInt64, among strangers: Strangers) {
        guard let stranger = strangers.find(token) else { return }
        // It is not polled for input while it waits, so this is its end.
        if stranger.heldUntil != nil { return forget(token, among: strangers) }
        if stranger.transport != nil, !stranger.mayShakeHands {
            // What a handshake costs the daemon, an attacker has to wait for.
            let now = MonotonicClock.milliseconds
            let wait = strangers.guesses.wait(for: stranger.host, now: now)
            if wait > 0 { return strangers.hold(token, until: now + wait, &calls) }
            strangers.letShakeHands(token, &calls)
        }
        switch strangers.read(token, &calls) {
        case .unfinished: return
        case .ended: forget(token, among: strangers)
        case .refused(let failure): refuse(failure, token, among: strangers)
        case .tooLong where !stranger.hasCertificate && strangers.find(token)?.hasCertificate != true:
            refuseLongLine(token, among: strangers)
        case .whole, .tooLong:
            let now = MonotonicClock.milliseconds
            let wait = strangers.guesses.wait(for: stranger.host, now: now)
            if wait > 0 {
                strangers.hold(token, until: now + wait, &calls)
            } else {
                admit(token, among: strangers)
            }
        }
    }

    /// Handles those whose deadline has passed, or whose wait is over.
    func strangersDue(now: Int) {
        guard let strangers else { return }
        for stranger in strangers.all {
            if let held = stranger.heldUntil {
                guard held <= now else { continue }
                if stranger.isRefused {
                    forget(stranger.token, among: strangers)
                } else if stranger.isDeaf {
                    strangers.letShakeHands(stranger.token, &calls)
                } else {
                    admit(stranger.token, among: strangers)
                }
            } else if stranger.due <= now {
                turnAway(
                    stranger.token, among: strangers, .protocol,
                    "Say hello with a token directly after connecting.")
            }
        }
    }

    /// Admits all of them, when the daemon ends or hands its clients over: from here on they
    /// are connections like others.
    func admitStrangers() {
        guard let strangers else { return }
        for stranger in strangers.all {
            if stranger.isDeaf {
                forget(stranger.token, among: strangers)
            } else {
                admit(stranger.token, among: strangers)
            }
        }
    }

    /// Passes what it has sent to the engine, which answers it.
    private func admit(_ token: UInt64, among strangers: Strangers) {
        guard let stranger = strangers.remove(token, &calls) else { return }
        let id = engine.connect(stranger.peer)
        let token = connections.insert(id, descriptor: stranger.descriptor)
        if let transport = stranger.transport { secure(id, transport) }
        clientLog.debug("connection opened", stranger.peer)
        do throws(SystemError) {
            try poller.add(stranger.descriptor, .input, token: token, &calls)
        } catch {
            clientLog.note(.warning, "connection refused: \(error.description)", stranger.peer)
            return close(id, .peerLost)
        }
        stranger.bytes.withUnsafeBytes { engine.receive(id, $0) }
        if !engine.isIdentified(id) {
            if case .closing = engine.status(of: id) {
                noteWrong(
                    stranger, "it did not begin with hello and a token of this bus", among: strangers)
            } else {
                connections.update(id) { $0.awaitsHello = true }
                deadlines.addHello(token, now: MonotonicClock.milliseconds)
            }
        }
        look(at: id)
    }

    private func noteWrong(
        _ stranger: Strangers.Stranger, _ reason: String, among strangers: Strangers
    ) {
        strangers.guesses.addWrong(from: stranger.host, now: MonotonicClock.milliseconds)
        clientLog.note(
            .warning, "a TCP client was refused: \(reason)", stranger.peer, kind: .strangerRefused)
    }

    // MARK: - Refused clients

    private func refuseLongLine(_ token: UInt64, among strangers: Strangers) {
        if let stranger = strangers.find(token) {
            noteWrong(stranger, "its first line is longer than a hello", among: strangers)
        }
        turnAway(
            token, among: strangers, .protocol, "A TCP connection begins with hello and a token of the bus.",
            after:
                #"{"ok":false,"error":{"code":"unauthorized","message":"Begin with hello and a token; this is "#
                + #"a TCP connection, whose first line has at most \#(LoopLimits.firstLine) bytes."}}"# + "\n"
        )
    }

    /// A handshake has failed. Its client is answered after a constant time, whatever was wrong.
    private func refuse(_ failure: TLSFailure, _ token: UInt64, among strangers: Strangers) {
        guard let stranger = strangers.find(token) else { return }
        noteWrong(stranger, "the TLS handshake failed: \(failure)", among: strangers)
        strangers.hold(token, until: MonotonicClock.milliseconds + LoopLimits.refusalWait, &calls)
    }

    /// Sends a goodbye to one and closes it. Its socket is new, so the line fits.
    private func turnAway(
        _ token: UInt64, among strangers: Strangers, _ code: GoodbyeCode, _ message: String,
        after reply: String = ""
    ) {
        guard let stranger = strangers.remove(token, &calls) else { return }
        if stranger.isDeaf {
            SystemCall.close(stranger.descriptor)
        } else {
            sayLastWords(to: stranger.descriptor, stranger.transport, code, message, after: reply)
        }
        clientLog.debug("connection closed", stranger.peer, reason: message)
    }

    private func forget(_ token: UInt64, among strangers: Strangers) {
        guard let stranger = strangers.remove(token, &calls) else { return }
        if let transport = stranger.transport {
            // The alert that tells why.
            transport.end(stranger.descriptor, &calls)
            drain(stranger.descriptor)
        }
        SystemCall.close(stranger.descriptor)
        clientLog.debug("connection closed", stranger.peer, reason: CloseReason.peerLost.words)
    }
}
