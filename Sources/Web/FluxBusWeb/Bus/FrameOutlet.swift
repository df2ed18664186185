import FlyingFox
import FoundationEssentials
import Synchronization

/// Frames on their way to one browser: those of one piece of what the bus said, one answer to a ping, and the end. Nothing
/// more is taken from the bus before they are taken from here.
final class FrameOutlet: Sendable {
    fileprivate struct State {
        var frames: ArraySlice<WSFrame> = []
        var pong: Data?
        /// What is said at last; nothing, where the browser has gone.
        var close: WSCloseCode??
        var isOver = false
        var taker: CheckedContinuation<Void, Never>?
        var giver: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    // MARK: - Giving

    /// Returns when all have been taken; false: it has ended.
    func give(_ frames: [WSFrame]) async -> Bool {
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

    /// Answers a ping. A newer one takes the place of one that was not sent yet.
    func pong(_ payload: Data) {
        state.withLock { state in
            state.pong = payload
            return state.takeTaker()
        }?.resume()
    }

    /// Ends it, unless it has been already; without a code nothing is said any more.
    func end(_ code: WSCloseCode?) {
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
        case frame(WSFrame)
        /// The first time with what is said at last.
        case end(WSCloseCode?)
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

extension FrameOutlet.State {
    var hasSomething: Bool { close != nil || pong != nil || !frames.isEmpty }

    mutating func takeTaker() -> CheckedContinuation<Void, Never>? {
        defer { taker = nil }
        return taker
    }

    mutating func takeGiver() -> CheckedContinuation<Void, Never>? {
        defer { giver = nil }
        return giver
    }

    mutating func takeNext() -> (FrameOutlet.Item?, CheckedContinuation<Void, Never>?) {
        if let close {
            defer { isOver = true }
            return (.end(isOver ? nil : close), nil)
        }
        if let pong {
            self.pong = nil
            return (.frame(WSFrame(fin: true, opcode: .pong, mask: nil, payload: pong)), nil)
        }
        guard let frame = frames.popFirst() else { return (nil, nil) }
        return (.frame(frame), frames.isEmpty ? takeGiver() : nil)
    }
}
