import Synchronization

/// Frames on their way to one client: those of one piece of what the bus said, one that goes before them, and the end. Nothing
/// more is taken from the bus before they are taken from here.
final class Outlet<Frame: Sendable, End: Sendable>: Sendable {
    fileprivate struct State {
        var frames: ArraySlice<Frame> = []
        /// What does not wait for them, such as the answer to a ping.
        var urgent: Frame?
        /// What is said at last; nothing, where the client has gone.
        var close: End??
        var isOver = false
        var taker: CheckedContinuation<Void, Never>?
        var giver: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    // MARK: - Giving

    /// Returns when all have been taken; false: it has ended.
    func give(_ frames: [Frame]) async -> Bool {
        await withCheckedContinuation { (giver: CheckedContinuation<Void, Never>) in
            let (now, taker) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
                guard state.close == nil, !frames.isEmpty else { return (true, nil) }
                state.frames = frames[...]
                state.giver = giver
                return (false, state.takeTaker())
            }
            taker?.resume()
            if now { giver.resume() }
        }
        return state.withLock { $0.close == nil }
    }

    /// Sends a frame before the others. A newer one takes the place of one that was not sent yet.
    func giveFirst(_ frame: Frame) {
        state.withLock { state in
            state.urgent = frame
            return state.takeTaker()
        }?.resume()
    }

    /// Ends it, unless it has been already; without a code nothing is said any more.
    func end(_ code: End?) {
        let (taker, giver) = state.withLock { state in
            if state.close == nil { state.close = .some(code) }
            state.frames = []
            return (state.takeTaker(), state.takeGiver())
        }
        taker?.resume()
        giver?.resume()
    }

    // MARK: - Taking

    enum Item {
        case frame(Frame)
        /// The first time with what is said at last.
        case end(End?)
    }

    func next() async -> Item {
        while true {
            let (item, giver) = state.withLock { $0.takeNext() }
            giver?.resume()
            if let item { return item }
            await withCheckedContinuation { (taker: CheckedContinuation<Void, Never>) in
                let isThere = state.withLock { state in
                    if state.hasSomething { return true }
                    state.taker = taker
                    return false
                }
                if isThere { taker.resume() }
            }
        }
    }
}

extension Outlet.State {
    var hasSomething: Bool { close != nil || urgent != nil || !frames.isEmpty }

    mutating func takeTaker() -> CheckedContinuation<Void, Never>? {
        defer { taker = nil }
        return taker
    }

    mutating func takeGiver() -> CheckedContinuation<Void, Never>? {
        defer { giver = nil }
        return giver
    }

    mutating func takeNext() -> (Outlet.Item?, CheckedContinuation<Void, Never>?) {
        if let close {
            defer { isOver = true }
            return (.end(isOver ? nil : close), nil)
        }
        if let urgent {
            self.urgent = nil
            return (.frame(urgent), nil)
        }
        guard let frame = frames.popFirst() else { return (nil, nil) }
        return (.frame(frame), frames.isEmpty ? takeGiver() : nil)
    }
}
