import Synchronization

extension Store {
    /// Dispatches an action to every living store of the state type and returns the state that it left in each, in the order of
    /// their creation. It throws the first error, after all stores have tried.
    ///
    /// ```swift
    /// let states = try await Store<Counter>.dispatchToAll(.reset)
    /// ```
    ///
    /// While a relay is attached (see ``attach(_:)``) the action only goes to that, which decides when it is committed, and the
    /// list is empty. The same goes for an observer that is being notified of a replay, whose dispatches are ignored.
    @discardableResult
    public static func dispatchToAll(_ action: State.Action) async throws -> [State] {
        try await withCheckedContinuation { continuation in
            Lane<State>.shared.placeInAll(action, whenAll: { continuation.resume(returning: $0) })
        }.map { try $0.get() }
    }
}

/// The outcomes of several stores, of which the last one reports all.
final class Outcomes<State: Flux.State>: Sendable {
    private let contents: Mutex<(results: [Result<State, any Error>?], missing: Int)>
    private let whenAll: @Sendable ([Result<State, any Error>]) -> Void

    /// For `count` stores, at least one.
    init(count: Int, _ whenAll: @escaping @Sendable ([Result<State, any Error>]) -> Void) {
        contents = Mutex((Array(repeating: nil, count: count), count))
        self.whenAll = whenAll
    }

    /// Takes the outcome of the store of that number; nil, or that it is gone, leaves it out.
    func take(_ result: Result<State, any Error>?, of number: Int) {
        var known = result
        if case .failure(FluxError.storeGone) = result { known = nil }
        let all = contents.withLock { contents -> [Result<State, any Error>]? in
            contents.results[number] = known
            contents.missing -= 1
            return contents.missing == 0 ? contents.results.compactMap { $0 } : nil
        }
        if let all { whenAll(all) }
    }
}
