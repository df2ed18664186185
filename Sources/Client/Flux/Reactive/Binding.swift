/// A value that can be read, observed and set, where setting means dispatching: a two-way binding for a control.
///
/// ```swift
/// let volume = store.binding(\.volume) { .setVolume($0) }
/// slider.position = volume.value
/// volume.value = 0.7      // dispatches .setVolume(0.7)
/// ```
public struct Binding<Value: Sendable>: SignalSource {
    private let constant: Constant<Value>
    private let set: @Sendable (Value) -> Void

    /// A binding that reads `constant` and passes new values to `set`.
    public init(_ constant: Constant<Value>, set: @escaping @Sendable (Value) -> Void) {
        self.constant = constant
        self.set = set
    }

    /// The current value; a new one is passed to `set`, and can be read once that has changed the source.
    public var value: Value {
        get { constant.value }
        nonmutating set { set(newValue) }
    }

    /// The latest value, then every change.
    public var signal: Signal<Value> { constant.signal }
}
