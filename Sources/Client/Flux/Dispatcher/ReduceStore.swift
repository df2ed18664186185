import Synchronization

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
