import Synchronization

/// A store's subscribers, each with what ends its subscription. Subscribers are not kept alive. See
/// ``StoreSubscriber``.
///
/// Those of the parts of a store are among those of the store, so they last as long as that does, whoever holds the part.
public final class Subscriptions: Sendable {
    /// Which object follows which part. One may follow several.
    @usableFromInline
    struct Name: Hashable, Sendable {
        let subscriber: ObjectIdentifier
        let part: [EffectID]
    }

    /// All subscriptions to one store.
    @usableFromInline
    final class Table: Sendable {
        fileprivate let scopes = Mutex<[Name: DisposableScope]>([:])

        fileprivate init() {}

        deinit { for scope in scopes.withLock({ $0.values }) { scope.dispose() } }

        /// Ends this subscription of that name, but not one that has replaced it.
        @usableFromInline
        func end(_ name: Name, _ scope: DisposableScope) {
            scopes.withLock { scopes in
                if scopes[name] === scope { scopes[name] = nil }
            }
            scope.dispose()
        }
    }

    @usableFromInline let table: Table
    /// The key paths that lead from the store to the part.
    private let part: [EffectID]

    /// Without any subscriber.
    public convenience init() { self.init(Table(), part: []) }

    private init(_ table: Table, part: [EffectID]) {
        self.table = table
        self.part = part
    }

    /// Those of a part of the store.
    func part<Key: Hashable & Sendable>(_ key: Key) -> Subscriptions {
        Subscriptions(table, part: part + [EffectID(base: key)])
    }

    /// How many there are, including those whose subscriber was released since the last state.
    var count: Int { table.scopes.withLock { $0.keys.count { $0.part == part } } }

    @usableFromInline
    func name(of subscriber: ObjectIdentifier) -> Name { Name(subscriber: subscriber, part: part) }

    /// Begins a subscription of that name; the former one has ended when this returns.
    @usableFromInline
    func begin(_ name: Name) -> DisposableScope {
        let scope = DisposableScope()
        table.scopes.withLock { $0.updateValue(scope, forKey: name) }?.dispose()
        return scope
    }

    /// Ends the subscription of `subscriber`, whichever it is.
    func end(_ subscriber: ObjectIdentifier) {
        table.scopes.withLock { $0.removeValue(forKey: name(of: subscriber)) }?.dispose()
    }
}
