import Synchronization

/// A store's subscribers, each with what ends its subscription. Subscribers are not kept alive.
final class Subscriptions: Sendable {
    private let scopes = Mutex<[ObjectIdentifier: DisposableScope]>([:])

    deinit { for scope in scopes.withLock({ $0.values }) { scope.dispose() } }

    /// Begins a subscription of `subscriber`; its former one has ended when this returns.
    func begin(_ subscriber: ObjectIdentifier) -> DisposableScope {
        let scope = DisposableScope()
        scopes.withLock { $0.updateValue(scope, forKey: subscriber) }?.dispose()
        return scope
    }

    /// Ends the subscription of `subscriber`; with `scope`, only if it is still that one.
    func end(_ subscriber: ObjectIdentifier, _ scope: DisposableScope? = nil) {
        let ended = scopes.withLock { scopes in
            if let scope, scopes[subscriber] !== scope { return DisposableScope?.none }
            return scopes.removeValue(forKey: subscriber)
        }
        (scope ?? ended)?.dispose()
        ended?.dispose()
    }
}
