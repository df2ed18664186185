import Observation

/// One value for user interfaces, which SwiftUI and whatever else uses Observation follow: a ``Variable``, or what is derived
/// from a store with a parameter.
///
/// ```swift
/// let isHigh = ObservableValue(store.select { $0.exceeds(limit) })
/// isHigh.value
/// ```
///
/// It belongs to the main actor and follows its source as long as it is held. It does not keep a store.
@MainActor
public final class ObservableValue<Value: Sendable>: Observable {
    private let registrar = ObservationRegistrar()
    private let scope = DisposableScope()
    private var shown: Value

    /// The value of `constant`. An equal one is no change, if it can be compared.
    public init(_ constant: Constant<Value>) {
        shown = constant.value
        constant.follow(until: scope) { [weak self] in self?.show($0) }
    }

    /// The value: who reads it is notified when it changes.
    public var value: Value {
        registrar.access(self, keyPath: \.value)
        return shown
    }

    private func show(_ value: Value) {
        if Equality.areEqual(shown, value) { return }
        registrar.withMutation(of: self, keyPath: \.value) { shown = value }
    }
}
