import Synchronization

/// One registered observer of an ``Emitter``.
///
/// It starts by itself, on the thread that registered it, so that it has had its first value when `observe` returns.
/// What the source emits meanwhile is kept for it and follows; so one observer is never called by two threads at a
/// time, and sees every value once. After `dispose` no call begins.
final class Observer<Value: Sendable>: Sendable {
    private enum Phase { case starting, live, disposed }

    /// An emission, and whether a replay has led to it.
    typealias Kept = (emission: Emission<Value>, isReplay: Bool)

    private struct Contents {
        var phase = Phase.starting
        /// The emissions still to be delivered before it is live.
        var kept: FirstInFirstOut<Kept>
    }

    /// The number of the last emission before it registered; it receives those after.
    let joined: UInt64
    private let receive: @Sendable (Emission<Value>) -> Void
    private let contents: Mutex<Contents>

    /// An observer that receives `first` when it starts.
    init(
        joined: UInt64, first: FirstInFirstOut<Kept>,
        receive: @escaping @Sendable (Emission<Value>) -> Void
    ) {
        self.joined = joined
        self.receive = receive
        contents = Mutex(Contents(kept: first))
    }

    func start(_ context: ThreadContext) {
        while let next = nextKept() {
            context.tell(isReplay: next.isReplay) { receive(next.emission) }
        }
    }

    func offer(_ emission: Emission<Value>, isReplay: Bool) {
        let isLive = contents.withLock { contents in
            if contents.phase == .starting { contents.kept.append((emission, isReplay)) }
            return contents.phase == .live
        }
        if isLive { receive(emission) }
    }

    func dispose() {
        // Kept emissions are released outside the lock: the deinit of a value may do anything.
        _ = contents.withLock { contents in
            contents.phase = .disposed
            defer { contents.kept = FirstInFirstOut() }
            return contents.kept
        }
    }

    private func nextKept() -> Kept? {
        contents.withLock { contents in
            guard contents.phase == .starting else { return nil }
            let next = contents.kept.popFirst()
            if next == nil { contents.phase = .live }
            return next
        }
    }
}
