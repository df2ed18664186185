import Synchronization

/// A store's subscribers, each with what ends its subscription. Subscribers are not kept alive. See
/// ``StoreSubscriber``.
public final class Subscriptions: Sendable {
    private let scopes = Mutex<[ObjectIdentifier: DisposableScope]>([:])

    /// Without any subscriber.
    public init() {}

    deinit { for scope in scopes.withLock({ $0.values }) { scope.dispose() } }

    /// How many there are, including those whose subscriber was released since the last state.
    var count: Int { scopes.withLock { $0.count } }

    /// Begins a subscription of `subscriber`; its former one has ended when this returns.
    @usableFromInline
    func begin(_ subscriber: ObjectIdentifier) -> DisposableScope {
        let scope = DisposableScope()
        scopes.withLock { $0.updateValue(scope, forKey: subscriber) }?.dispose()
        return scope
    }

    /// Ends the subscription of `subscriber`, whichever it is.
    func end(_ subscriber: ObjectIdentifier) {
        scopes.withLock { $0.removeValue(forKey: subscriber) }?.dispose()
    }

    /// Ends this subscription of `subscriber`, but not one that has replaced it.
    @usableFromInline
    func end(_ subscriber: ObjectIdentifier, _ scope: DisposableScope) {
        scopes.withLock { scopes in
            if scopes[subscriber] === scope { scopes[subscriber] = nil }
        }
        scope.dispose()
    }
}
