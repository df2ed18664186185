import Synchronization

/// A task that waits until there is room for its request.
final class Admission: Sendable {
    private enum State {
        case open
        case waiting(UnsafeContinuation<Void, Never>)
        case over
    }

    private let state = Mutex(State.open)

    /// Ends the wait.
    func end() {
        let before = state.withLock { state -> State in
            let before = state
            state = .over
            return before
        }
        if case .waiting(let continuation) = before { continuation.resume() }
    }

    nonisolated(nonsending) func wait() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let isOver = state.withLock { state -> Bool in
                if case .over = state { return true }
                state = .waiting(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}
