import Flux

/// Remembers the order of its actions in a few bytes: a chain of hashes over the global ones, and for each thread whether its
/// numbers rose.
struct Chain: State {
    fileprivate(set) var hash: UInt64 = 0
    fileprivate(set) var globalCount = 0
    fileprivate(set) var last: [Int: Int] = [:]
    fileprivate(set) var isInOrder = true

    enum Action: Sendable { case note(thread: Int, number: Int, isGlobal: Bool) }

    struct Mutations: Flux.Mutations {
        func commit(_ action: Action, to state: inout Chain) {
            guard case .note(let thread, let number, let isGlobal) = action else { return }
            if number <= state.last[thread] ?? -1 { state.isInOrder = false }
            state.last[thread] = number
            guard isGlobal else { return }
            state.globalCount += 1
            state.hash = (state.hash ^ UInt64(thread * 1_000_003 + number)) &* 1_099_511_628_211
        }
    }
}
