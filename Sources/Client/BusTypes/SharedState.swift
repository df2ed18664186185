import BusJSON
import Flux

/// A state that can live on a bus: in the daemon that hosts it, and mirrored in every process that looks at it.
///
/// It is an ordinary ``Flux/State`` that can be coded, knows what it is before anything has happened, and lists the
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
/// `.increment(by: 2)` is `increment` with `{"by":2}`. A `Date` is encoded as seconds since 1970.
///
/// Mutations of a shared state run where they have to stand whatever comes: in the daemon, with payloads and
/// states from any client. What traps there, such as an integer that overflows or an index out of range, ends the
/// daemon. Throw instead, and choose members that can't hold what the rules don't expect (`UInt16`, an enum). The same
/// holds for ``Flux/State/timers``, whose actions the daemon commits when they are due, also after a restart.
/// Strings and dictionary keys in Swift are equal by Unicode equivalence, on the wire by their bytes.
public protocol SharedState: State, Codable where Action: Codable {
    /// The name of the state type on the wire; the Swift type's own, with the first letter lower-cased.
    static var typeName: String { get }

    /// The actions that the wire offers, with their payloads' defaults.
    static var actions: ActionList<Self> { get }

    /// Values derived from the state that a daemon publishes as further members of it; none by default.
    static var published: PublishedValues<Self> { get }

    /// How long a store that a client creates lives without a dispatch that reaches it; for ever by default. A client may
    /// say otherwise when it creates the store.
    static var timeToLive: Duration? { get }

    /// The version of the state's form, from 1 on; 1 by default. A daemon that is started on a log with states of an
    /// earlier version migrates them; one with states of a later version is refused.
    static var version: Int { get }

    /// A state of an earlier version as the next version has it: a daemon calls it once for each version between that of
    /// a stored state and ``version``. Published values are no part of the state.
    ///
    /// It has to be pure, as mutations are.
    ///
    /// - Parameters:
    ///   - state: The state in the form of `version`, an object.
    ///   - version: The version it comes from; what is returned has the form of the next one.
    /// - Throws: Any error, where the state can't be migrated; then nothing is, and the daemon does not start.
    static func migrate(_ state: JSON, from version: Int) throws -> JSON

    /// The state of a new store.
    init()
}

/// A state of an earlier version that the type does not know how to migrate.
public struct MigrationMissing: Error, CustomStringConvertible {
    let type: String
    let version: Int

    public var description: String {
        "\(type).migrate does not take version \(version); write what leads from it to version \(version + 1)"
    }
}

extension SharedState {
    public static var typeName: String {
        let name = String(describing: Self.self)
        return name.prefix(1).lowercased() + name.dropFirst()
    }

    public static var published: PublishedValues<Self> { PublishedValues() }

    public static var timeToLive: Duration? { nil }

    public static var version: Int { 1 }

    public static func migrate(_ state: JSON, from version: Int) throws -> JSON {
        throw MigrationMissing(type: String(describing: Self.self), version: version)
    }
}
