import BusEffects
import Synchronization

/// Counts what the bus's thread hands to an effect, so that no more of it is in memory than there is room for; and how far
/// the bus has told what it means.
final class Inlet: Sendable {
    private struct State {
        var added = 0
        var seen = 0
        /// How many of them have come out, and how much room those take up.
        var taken = 0
        var left = 0
        var bytes = 0
        var held: Int { added - taken + left }
        var isResting = false
        /// How often it rested.
        var rests = 0
    }

    private let state = Mutex(State())

    /// Nothing that is meant stands before the next revision.
    func passed(_ revision: Int) { state.withLock { $0.seen = max($0.seen, revision) } }

    /// An event that is meant. False: there is no room for another.
    func add(_ revision: Int, size: Int) -> Bool {
        state.withLock { state in
            state.added += 1
            state.seen = max(state.seen, revision - 1)
            state.bytes += size
            guard state.held >= EffectLimits.window || state.bytes >= EffectLimits.windowBytes else {
                return true
            }
            state.isResting = true
            state.rests += 1
            return false
        }
    }

    /// Notes how many events were taken out in all, how much room those that are left take up, and how many bytes have become free.
    /// Returns true if a paused subscription has room again.
    func update(taken: Int, left: Int, free bytes: Int) -> Bool {
        state.withLock { state in
            (state.taken, state.left) = (taken, left)
            state.bytes -= bytes
            guard state.isResting, state.held <= EffectLimits.window / 2,
                state.bytes <= EffectLimits.windowBytes / 2
            else { return false }
            state.isResting = false
            return true
        }
    }

    /// The revision that everything before has been told, for one who has taken so many events; nil while some are on
    /// their way.
    func seen(afterTaking count: Int) -> Int? { state.withLock { $0.added == count ? $0.seen : nil } }

    /// Changes when it rests; nil while it does.
    var rests: Int? { state.withLock { $0.isResting ? nil : $0.rests } }
}
