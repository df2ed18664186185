import Synchronization

/// One registered observer of an ``Emitter``.
///
/// It starts by itself, on the thread that registered it, so that it has had its first value when `observe` returns.
/// What the source emits meanwhile is kept for it and follows; so one observer is never called by two threads at a
/// time, and sees every value once. After `dispose` no call begins.
final class Observer<Value: Sendable>: Sendable {
    private enum Phase {
        case starting(kept: [Emission<Value>])
        case live
        case disposed
    }

    /// The number of the last emission before it registered; it gets those after.
    let joined: UInt64
    private let receive: @Sendable (Emission<Value>) -> Void
    private let phase = Mutex(Phase.starting(kept: []))

    init(joined: UInt64, receive: @escaping @Sendable (Emission<Value>) -> Void) {
        self.joined = joined
        self.receive = receive
    }

    func start(with first: [Emission<Value>]) {
        phase.withLock { phase in
            if case .starting(let kept) = phase { phase = .starting(kept: first + kept) }
        }
        while let emission = nextKept() { receive(emission) }
    }

    func offer(_ emission: Emission<Value>) {
        let isLive = phase.withLock { phase in
            switch phase {
            case .starting(var kept):
                kept.append(emission)
                phase = .starting(kept: kept)
                return false
            case .live: return true
            case .disposed: return false
            }
        }
        if isLive { receive(emission) }
    }

    func dispose() { phase.withLock { $0 = .disposed } }

    private func nextKept() -> Emission<Value>? {
        phase.withLock { phase in
            guard case .starting(var kept) = phase else { return nil }
            guard !kept.isEmpty else {
                phase = .live
                return nil
            }
            let first = kept.removeFirst()
            phase = .starting(kept: kept)
            return first
        }
    }
}
