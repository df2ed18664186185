/// The observable state of a bus, and its observers.
struct BusObservation {
    var status = BusStatus.connecting
    var greeting: BusGreeting?
    /// Tasks that wait for the first connection, or its failure.
    var awaitingOpening: [UnsafeContinuation<BusError?, Never>] = []
    /// Tasks that wait for the end.
    var awaitingEnd: [UnsafeContinuation<Void, Never>] = []
    var hasEnded = false
    var notices: [Int: AsyncStream<BusNotice>.Continuation] = [:]
    var nextObserver = 0
}

extension BusCore {
    /// The epoch of the present connection, or the last one.
    var epoch: String { state.withLock { $0.greeting?.epoch ?? "" } }

    /// Waits until the first connection is open. Returns the error if it fails.
    func awaitOpening() async -> BusError? {
        await withUnsafeContinuation { continuation in
            let outcome = state.withLock { state -> BusError?? in
                switch state.status {
                case .connecting:
                    state.awaitingOpening.append(continuation)
                    return .none
                case .connected, .reconnecting: return .some(nil)
                case .closed(let error): return .some(error ?? Self.closed)
                }
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }

    /// Waits until the thread has ended.
    func awaitEnd() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let hasEnded = state.withLock { state -> Bool in
                if !state.hasEnded { state.awaitingEnd.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    func set(_ status: BusStatus) {
        let waiting = state.withLock { state -> [UnsafeContinuation<BusError?, Never>] in
            state.status = status
            guard status != .connecting else { return [] }
            defer { state.awaitingOpening = [] }
            return state.awaitingOpening
        }
        var outcome: BusError?
        if case .closed(let error) = status { outcome = error ?? Self.closed }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    func announce(_ notice: BusNotice) {
        let observers = state.withLock { Array($0.notices.values) }
        for observer in observers { observer.yield(notice) }
    }

    /// A new stream of notices. A slow reader loses the oldest beyond 256.
    func observeNotices() -> AsyncStream<BusNotice> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BusNotice.self, bufferingPolicy: .bufferingNewest(256))
        let number = state.withLock { state -> Int? in
            if state.hasEnded { return nil }
            state.nextObserver += 1
            state.notices[state.nextObserver] = continuation
            return state.nextObserver
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.notices.removeValue(forKey: number) }
        }
        return stream
    }

    /// The thread has ended.
    func ended() {
        let (waiting, observers) = state.withLock { state in
            state.hasEnded = true
            defer {
                state.awaitingEnd = []
                state.notices = [:]
            }
            return (state.awaitingEnd, Array(state.notices.values))
        }
        for observer in observers { observer.finish() }
        for continuation in waiting { continuation.resume() }
    }
}
