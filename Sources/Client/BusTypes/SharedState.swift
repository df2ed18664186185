import Flux

/// A state that can live on a bus: in the daemon that hosts it, and mirrored in every process that looks at it.
///
/// It is an ordinary ``State`` that can be coded, knows what it is before anything has happened, and lists the
/// actions that the wire offers:
///
/// ```swift
/// struct Counter: SharedState {
///     private(set) var count = 0
///
///     enum Action: Codable, Sendable { case increment(by: Int = 1), set(count: Int), reset }
///
///     static let actions = ActionList<Counter>(.increment(), .reset).requiring { .set(count: $0) }
///     static let published: PublishedValues<Counter> = ["isEven": { $0.isEven }]
///
///     struct Mutations: Flux.Mutations { … }
/// }
/// ```
///
/// On the wire, the synthesised coding of the action enum is the action's name and its payload:
/// `.increment(by: 2)` is `increment` with `{"by":2}`.
///
/// Mutations of a shared state run where they have to stand whatever comes: in the daemon, with payloads and
/// states from any client. What traps there, such as an integer that overflows or an index out of range, ends the
/// daemon. Throw instead, and choose members that can't hold what the rules don't expect (`UInt16`, an enum).
/// Strings and dictionary keys in Swift are equal by Unicode equivalence, on the wire by their bytes.
public protocol SharedState: State, Codable where Action: Codable {
    /// The name of the state type on the wire; the Swift type's own, with the first letter lower-cased.
    static var typeName: String { get }

    /// The actions that the wire offers, with their payloads' defaults.
    static var actions: ActionList<Self> { get }

    /// Values derived from the state that a daemon publishes as further members of it; none by default.
    static var published: PublishedValues<Self> { get }

    /// The state of a new store.
    init()
}

extension SharedState {
    public static var typeName: String {
        let name = String(describing: Self.self)
        return name.prefix(1).lowercased() + name.dropFirst()
    }

    public static var published: PublishedValues<Self> { PublishedValues() }
}
