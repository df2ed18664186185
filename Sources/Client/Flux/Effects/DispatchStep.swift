/// One step of a list that a store runs: an action, several as one commit, the actions of a sequence as they come, or work.
///
/// ```swift
/// try await store.run([
///     .action(.start),
///     .sequence(sensor.readings.map { .measured($0) }),
///     .thunk(upload),
///     .atomically([.stop, .report]),
/// ])
/// ```
public struct DispatchStep<State: Flux.State>: Sendable {
    let run: @Sendable (any StateStore<State>) async throws -> Void

    /// One action. It ends when that is committed.
    public static func action(_ action: State.Action) -> DispatchStep {
        DispatchStep { _ = try await $0.state(after: action) }
    }

    /// Several actions as one commit. It ends when they are committed.
    public static func atomically(_ actions: [State.Action]) -> DispatchStep {
        DispatchStep { _ = try await $0.state(afterAtomically: actions) }
    }

    /// Each action of a sequence when it comes, which waits for the commit of the one before. It ends when the sequence does.
    public static func sequence<Actions: AsyncSequence & Sendable>(
        _ actions: Actions
    ) -> DispatchStep where Actions.Element == State.Action {
        DispatchStep { store in
            for try await action in actions { _ = try await store.state(after: action) }
            // A sequence that hears of the cancellation ends as if it were at its end.
            try Task.checkCancellation()
        }
    }

    /// Work. It ends when that does.
    public static func thunk(_ thunk: Thunk<State>) -> DispatchStep {
        DispatchStep { try await $0.run(thunk) }
    }
}

extension StateStore {
    /// Runs each step when the one before has ended, and returns when the last one has. It throws the error of the first step that
    /// fails, whose followers are left out; others may dispatch between two steps.
    public func run(_ steps: [DispatchStep<State>]) async throws {
        for step in steps {
            try Task.checkCancellation()
            try await step.run(self)
        }
    }
}
