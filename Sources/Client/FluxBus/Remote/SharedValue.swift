import BusJSON
import BusTypes
import Flux

/// One value that all processes share.
///
/// ```swift
/// let volume = try await bus.value("volume", default: 50)
/// volume.value                                        // 50, or what others have set
/// try await volume.set(60)
/// try await volume.update { $0 + 5 }                  // also when others change it at the same time
/// for await level in volume.values { … }              // the current one first, then each change
/// ```
///
/// It is the store `value/volume` of the sample type `value`, so any program can see and set it:
/// `fluxbus dispatch value/volume set value:=60`. Observers are not notified of a value that equals the
/// previous one, if it can be compared.
public final class SharedValue<Value: Codable & Sendable>: SignalSource {
    /// The store that holds it.
    public let store: RemoteStore<SharedValueState>
    private let constant: Constant<Value>

    init(_ store: RemoteStore<SharedValueState>, default fallback: Value) {
        self.store = store
        constant = store.constant.select { Self.decoded($0.value) ?? fallback }
    }

    /// The value as known now. A value set by another program that this type can't read appears as the default.
    public var value: Value { constant.value }

    /// The value now and after each change.
    public var signal: Signal<Value> { constant.signal }

    /// The value on the bus, with its revision for ``set(_:ifRevision:)``. It asks the bus, and holds whatever any client
    /// had been told to be set when this was called.
    public func read() async throws(BusError) -> (value: Value, revision: Int) {
        let (state, revision) = try await store.confirmed()
        return (try fitting(state), revision)
    }

    /// Sets the value. With `ifRevision`, only if it has not been changed since that revision; else `conflict`, whose
    /// `details` hold the actual `revision`. A revision from before a restart of a bus without a log may mean another value (see
    /// ``RemoteStore/dispatch(_:ifRevision:if:timeout:)``). Returns the new revision when ``value`` has seen it.
    @discardableResult
    public func set(_ value: Value, ifRevision: Int? = nil) async throws(BusError) -> Int {
        try await store.dispatch(.set(value: encoded(value)), ifRevision: ifRevision).revision
    }

    /// Sets what `change` makes of the value; again with the newer value when another client was faster, or when the bus has begun
    /// a new history. Throws `unavailable` where the store changes so often that its revision can't be known.
    ///
    /// - Returns: The value that was set.
    @discardableResult
    public func update(_ change: (Value) -> Value) async throws(BusError) -> Value {
        while true {
            // An old value does no harm: it is refused by its revision.
            let (state, revision, epoch) = try await store.lastConfirmed()
            let next = change(try fitting(state))
            do throws(BusError) {
                _ = try await store.dispatch(
                    .set(value: encoded(next)), ifRevision: revision, in: epoch)
                return next
            } catch {
                guard error.code == .conflict else { throw error }
            }
        }
    }

    private func fitting(_ state: SharedValueState) throws(BusError) -> Value {
        guard let value = Self.decoded(state.value) else {
            throw BusError(
                .unfitState,
                "\(store.address) holds \(state.value.encoded.prefix(80)), which is no \(Value.self).")
        }
        return value
    }

    private func encoded(_ value: Value) throws(BusError) -> JSON {
        do {
            return try JSON(encoding: value)
        } catch {
            throw BusError(.invalidPayload, "The value for \(store.address) can't be encoded: \(error)")
        }
    }

    private static func decoded(_ json: JSON) -> Value? { try? json.decoded(as: Value.self) }
}

/// The state type `value`: one value of any kind.
public struct SharedValueState: SharedState, Equatable {
    public private(set) var value: JSON = .null

    public enum Action: Codable, Sendable {
        case set(value: JSON)
    }

    public static let typeName = "value"
    public static let actions = ActionList<SharedValueState>().requiring { .set(value: $0) }

    public struct Mutations: Flux.Mutations {
        public init() {}

        public func commit(_ action: Action, to state: inout SharedValueState) {
            switch action {
            case .set(let value): state.value = value
            }
        }
    }

    public init() {}

    init(_ value: JSON) { self.value = value }
}

extension Bus {
    /// A value that all processes share, created with `initial` if it does not exist.
    ///
    /// ```swift
    /// let mode = try await bus.value("mode", default: "auto")
    /// ```
    ///
    /// Throws `unknown_type` if the daemon has no type `value`, which its sample types define.
    public func value<Value: Codable & Sendable>(
        _ name: String, default initial: Value
    ) async throws(BusError) -> SharedValue<Value> {
        let json: JSON
        do {
            json = try JSON(encoding: initial)
        } catch {
            throw BusError(.invalidPayload, "The value for \(name) can't be encoded: \(error)")
        }
        return SharedValue(try await store(name, creating: SharedValueState(json)), default: initial)
    }
}
