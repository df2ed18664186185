import Synchronization

/// One registered observer of an ``Emitter``.
///
/// It starts on the thread that registered it, so it has received its first value when `observe` returns. What the source
/// emits during the start is kept for it and delivered next. So an observer is never called by two threads at a time, and
/// sees every value once. After `dispose` no call begins.
@usableFromInline
final class Observer<Value: Sendable>: Sendable {
    /// An emission, and whether it comes from a replay.
    struct Kept {
        let emission: Emission<Value>
        let isReplay: Bool
    }

    private struct Contents {
        /// The emissions still to be delivered before it is live; nil once it is live or has been disposed of.
        var kept: FirstInFirstOut<Kept>?
    }

    /// The number of the last emission before it was registered; it receives the later ones.
    @usableFromInline let joined: UInt64
    @usableFromInline let receive: @Sendable (Emission<Value>) -> Void
    /// Whether it has finished its start and has not been disposed of. While this is true, `offer` takes no lock.
    @usableFromInline let isLive = Atomic<Bool>(false)
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
            let outer = context.beginTelling(isReplay: next.isReplay)
            receive(next.emission)
            context.endTelling(outer)
        }
    }

    @inlinable
    func offer(_ emission: Emission<Value>, isReplay: Bool) {
        if !isLive.load(ordering: .acquiring) {
            if keep(emission, isReplay: isReplay) { return }
            // It is live by now, or it has been disposed of.
            guard isLive.load(ordering: .acquiring) else { return }
        }
        receive(emission)
    }

    /// Keeps an emission for an observer that is still starting; false if it is not.
    @usableFromInline
    func keep(_ emission: Emission<Value>, isReplay: Bool) -> Bool {
        contents.withLock { contents in
            contents.kept?.append(Kept(emission: emission, isReplay: isReplay)) != nil
        }
    }

    func dispose() {
        // Kept emissions are released outside the lock: the deinit of a value may do anything.
        _ = contents.withLock { contents in
            isLive.store(false, ordering: .releasing)
            return contents.kept.take()
        }
    }

    private func nextKept() -> Kept? {
        contents.withLock { contents in
            guard let next = contents.kept?.popFirst() else {
                // If it has been disposed of, it must not become live.
                if contents.kept.take() != nil { isLive.store(true, ordering: .releasing) }
                return nil
            }
            return next
        }
    }
}
