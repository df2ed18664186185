/// An object that a store tells of new states, or of a selection of them. It is held weakly.
///
/// ```swift
/// final class Thermometer: StoreSubscriber {
///     func newState(_ celsius: Int) { show(celsius) }
/// }
/// store.subscribe(thermometer) { $0.select(\.celsius) }
/// ```
public protocol StoreSubscriber<Selection>: AnyObject, Sendable {
    /// What it wants to know: the state, or a part of it.
    associatedtype Selection: Sendable

    /// Called with the latest selection at once, and then with each new one.
    func newState(_ state: Selection)
}
