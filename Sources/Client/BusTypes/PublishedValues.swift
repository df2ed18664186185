import BusJSON
import Flux

/// Values derived from a state that a daemon publishes as further members of it, so that clients in any
/// language and the command line see them too.
///
/// ```swift
/// extension Computed<Counter> {
///     var isEven: Bool { state.count.isMultiple(of: 2) }
/// }
///
/// static let published: PublishedValues<Counter> = ["isEven": { $0.isEven }]
/// ```
///
/// They are worked out again after each commit. One that can't be encoded is null. Where a state is read from the
/// wire they are passed over: a Swift client has ``Flux/Computed`` for them.
public struct PublishedValues<State: SharedState>: Sendable, ExpressibleByDictionaryLiteral {
    /// Works a value out.
    public typealias Value = @Sendable (Computed<State>) -> any Encodable

    private var values: [(name: String, value: Value)] = []
    /// What can't work, each as a sentence; empty when all is right.
    package private(set) var mistakes: [String] = []

    /// No values.
    public init() {}

    /// Values by their names on the wire.
    public init(dictionaryLiteral values: (String, Value)...) {
        for (name, value) in values {
            let place = self.values.firstIndex { !UTF8Order.precedes($0.name, name) } ?? self.values.count
            if place < self.values.count, UTF8Order.equal(self.values[place].name, name) {
                mistakes.append("\(State.self).published names \(name) twice; keep one of them.")
            } else {
                self.values.insert((name, value), at: place)
            }
        }
    }

    package var isEmpty: Bool { values.isEmpty }

    /// Ascending by their bytes.
    package var names: [String] { values.map(\.name) }

    /// What a state publishes, in the order of the names. A value that can't be encoded is null.
    package func members(of state: State) -> [JSONObject.Member] {
        let computed = Computed(state)
        return values.map { name, value in
            .init(key: name, value: (try? JSON(encoding: value(computed))) ?? .null)
        }
    }
}
