import Synchronization

/// Passes typed outcomes to the handlers registered for them, one dispatch at a time.
///
/// ```swift
/// let todos = dispatcher.register(FetchTodos.self) { result, turn in … }
/// dispatcher.register(FetchTodos.self) { result, turn in
///     try turn.waitFor([todos])       // the other handler has seen it now
/// }
/// try dispatcher.dispatch(FetchTodos.self, .failure(.offline))
/// ```
///
/// There is a ``shared`` one, and nothing is tied to it: code that uses a dispatcher takes it as a parameter, so that a
/// test or a second world brings its own.
public final class Dispatcher: Sendable {
    /// The dispatcher for code that doesn't bring its own.
    public static let shared = Dispatcher()

    private struct Round {
        let number: UInt64
        let name: String
        let outcome: ObjectIdentifier
        let result: any Sendable
    }

    private struct Contents {
        var handlers: [DispatchHandler] = []
        var line = FirstInFirstOut<Round>()
        var number: UInt64 = 0
        var isDispatching = false
    }

    private let contents = Mutex(Contents())
    private let failed = Sink<DispatchFailure>()

    public init() {}

    /// Errors of dispatches that were queued behind another one, so that their callers had returned.
    public var failures: Signal<DispatchFailure> { failed.signal }

    /// Passes `result` to all handlers of the outcome, in the order of their registration.
    ///
    /// While another dispatch is under way, on this thread or another, it is queued and this returns at once. Otherwise
    /// all handlers have been called when it returns, and it throws the first error of theirs. Inside a mutation it is
    /// refused with ``FluxError/dispatchInMutation(action:)``, and from an observer of a replay it is ignored (see ``Recorder``).
    public func dispatch<Kind: Outcome>(
        _ outcome: Kind.Type, _ result: Result<Kind.Payload, Kind.Failure>
    ) throws {
        let name = String(describing: outcome)
        let context = ThreadContext.current
        if context.refusesDispatch() { throw FluxError.dispatchInMutation(action: name) }
        if context.isReplaying { return }
        let mine = contents.withLock { contents -> UInt64? in
            contents.number += 1
            contents.line.append(
                Round(number: contents.number, name: name, outcome: ObjectIdentifier(outcome), result: result)
            )
            guard !contents.isDispatching else { return nil }
            contents.isDispatching = true
            return contents.number
        }
        guard let mine else { return }
        var error: (any Error)?
        while let (round, handlers) = nextRound() {
            do {
                try DispatchTurn(
                    outcome: round.name, result: round.result, handlers: handlers, isRegistered: isRegistered
                ).run()
            } catch let thrown {
                if round.number == mine {
                    error = thrown
                } else {
                    failed.send(DispatchFailure(outcome: round.name, error: thrown))
                }
            }
        }
        if let error { throw error }
    }

    /// Does asynchronous work and dispatches the result, a failure as data like a success.
    ///
    /// ```swift
    /// try await dispatcher.dispatch(FetchTodos.self) { () async throws(FetchError) in try await service.todos() }
    /// ```
    public func dispatch<Kind: Outcome>(
        _ outcome: Kind.Type, catching work: () async throws(Kind.Failure) -> Kind.Payload
    ) async throws {
        let result: Result<Kind.Payload, Kind.Failure>
        do throws(Kind.Failure) {
            result = .success(try await work())
        } catch {
            result = .failure(error)
        }
        try dispatch(outcome, result)
    }

    /// Calls `handler` with each outcome of the kind, until unregistered; from the next
    /// dispatch on, if one is under way.
    @discardableResult
    public func register<Kind: Outcome>(
        _ outcome: Kind.Type,
        _ handler: @escaping @Sendable (Result<Kind.Payload, Kind.Failure>, DispatchTurn) throws -> Void
    ) -> DispatchToken {
        let token = DispatchToken()
        let entry = DispatchHandler(token: token, outcome: ObjectIdentifier(outcome)) { result, turn in
            guard let result = result as? Result<Kind.Payload, Kind.Failure> else { return }
            try handler(result, turn)
        }
        contents.withLock { $0.handlers.append(entry) }
        return token
    }

    /// Ends the calls of the handler, also in the dispatch that is under way. Further calls do nothing.
    public func unregister(_ token: DispatchToken) {
        // Released outside the lock: the handler may hold anything.
        _ = contents.withLock { contents in
            contents.handlers.firstIndex { $0.token == token }.map { contents.handlers.remove(at: $0) }
        }
    }

    private func isRegistered(_ token: DispatchToken) -> Bool {
        contents.withLock { contents in contents.handlers.contains { $0.token == token } }
    }

    private func nextRound() -> (Round, [DispatchHandler])? {
        contents.withLock { contents in
            guard let round = contents.line.popFirst() else {
                contents.isDispatching = false
                return nil
            }
            return (round, contents.handlers.filter { $0.outcome == round.outcome })
        }
    }
}

/// A queued dispatch whose handlers failed; see ``Dispatcher/failures``.
public struct DispatchFailure: Sendable {
    /// The name of the kind of outcome.
    public let outcome: String
    public let error: any Error
}

/// Names one registered handler, to unregister it or to wait for it.
public struct DispatchToken: Hashable, Sendable {
    private static let last = Atomic<UInt64>(0)

    private let number = Self.last.add(1, ordering: .relaxed).newValue
}

/// A kind of event for a ``Dispatcher``: something that was tried, and ended well with a
/// payload or badly with a failure.
///
/// ```swift
/// enum FetchTodos: Outcome {
///     typealias Payload = [Todo]
///     typealias Failure = FetchError
/// }
/// try dispatcher.dispatch(FetchTodos.self, .success([todo]))
/// ```
public protocol Outcome {
    /// The result of a success.
    associatedtype Payload: Sendable
    /// The result of a failure; `Never` if it can't fail.
    associatedtype Failure: Error
}

/// A value that follows the outcomes of a ``Dispatcher``, and notifies its observers only of changes.
///
/// ```swift
/// let todos = ReduceStore<[Todo]>([], dispatcher: dispatcher)
/// todos.reduce(FetchTodos.self) { todos, result in
///     if case .success(let fetched) = result { todos = fetched }
/// }
/// todos.observe { show($0) }
/// ```
public final class ReduceStore<Value: Sendable>: SignalSource {
    private let emitter: Emitter<Value>
    private let dispatcher: Dispatcher
    private let tokens = Mutex<[DispatchToken]>([])

    public init(_ value: Value, dispatcher: Dispatcher = .shared) {
        emitter = Emitter(value)
        self.dispatcher = dispatcher
    }

    deinit {
        for token in tokens.withLock({ $0 }) { dispatcher.unregister(token) }
        emitter.finish()
    }

    /// The current value.
    public var state: Value { emitter.latest }

    /// The latest value, then every change; equal values are skipped if they can be compared.
    public var signal: Signal<Value> { Signal(emitter) }

    /// Changes the value by `reduce` at each outcome of the kind, after the handlers of `tokens` have seen it. If
    /// `reduce` throws, the value stays and the dispatch throws; if it dispatches, that is refused and an error, too.
    @discardableResult
    public func reduce<Kind: Outcome>(
        _ outcome: Kind.Type, after awaited: [DispatchToken] = [],
        _ reduce: @escaping @Sendable (inout Value, Result<Kind.Payload, Kind.Failure>) throws -> Void
    ) -> DispatchToken {
        let name = String(describing: outcome)
        let areEqual = Equality.of(Value.self)
        let token = dispatcher.register(outcome) { [emitter] result, turn in
            try turn.waitFor(awaited)
            // A dispatcher runs one handler at a time, so no other code writes between reading and sending.
            let before = emitter.latest
            var after = before
            let (_, triedToDispatch) = try ThreadContext.mutate { try reduce(&after, result) }
            if triedToDispatch { throw FluxError.dispatchInMutation(action: name) }
            if areEqual?(before, after) != true { emitter.send(after) }
        }
        tokens.withLock { $0.append(token) }
        return token
    }
}
