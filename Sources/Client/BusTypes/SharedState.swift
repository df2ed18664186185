import BusJSON
import BusProtocol
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

/// States on their way to the wire and from there.
extension SharedState {
    /// The state that JSON from the wire describes; published values in it are passed over.
    ///
    /// - Throws: ``JSONCodingError`` naming the member, or what the type's own coding throws.
    package static func state(from json: JSON, trace: DecodingTrace? = nil) throws -> Self {
        guard case .object(var members) = json, !published.isEmpty else {
            return try json.decoded(as: Self.self, trace: trace)
        }
        for name in published.names { members[name] = nil }
        return try JSON.object(members).decoded(as: Self.self, trace: trace)
    }

    /// The state as members of an object, without published values.
    ///
    /// - Throws: ``JSONCodingError`` when the state can't be encoded, or is no object.
    package func encodedMembers() throws -> JSONObject {
        let json = try JSON(encoding: self)
        guard case .object(let object) = json else {
            throw JSONCodingError(
                path: [],
                reason: "A state must be coded as an object, and \(Self.self) is \(json.phrase); "
                    + "let the compiler write its coding.")
        }
        return object
    }

    /// What can't work about this type on a bus, each as a sentence; empty when all is right. A daemon looks here
    /// before it serves the type.
    package static func mistakes() -> [String] {
        var mistakes: [String] = []
        if !Names.isTypeName(typeName) {
            mistakes.append(
                "The state \(Self.self) can't be called \(typeName) on the wire; give it a typeName that starts with "
                    + "a small letter and goes on with at most 63 letters, digits, _ or -.")
        }
        // A sample that is wrong is no omission as well.
        mistakes += actions.mistakes.isEmpty ? actions.omissions : actions.mistakes
        mistakes += published.mistakes
        if let timeToLive, !(TimerLimits.shortest...TimerLimits.longest ~= timeToLive) {
            mistakes.append(
                "\(Self.self).timeToLive is \(timeToLive); let it be from 10 milliseconds to ten years.")
        }
        do {
            let initial = try Self().encodedMembers()
            for name in published.names where initial[name] != nil {
                mistakes.append(
                    "\(Self.self).published and the state itself both have \(name); rename one of them.")
            }
            _ = try JSON.object(initial).decoded(as: Self.self)
        } catch {
            mistakes.append("The initial state of \(Self.self) can't be coded: \(error)")
        }
        return mistakes
    }
}

/// The mutations of a state that this program only mirrors: its rules are on the bus alone, as those of a type file are.
///
/// ```swift
/// struct Light: SharedState {
///     …
///     typealias Mutations = MirroredMutations<Light>
/// }
/// ```
///
/// Actions are dispatched to the bus, and their effects come back from there. A store that is optimistic shows nothing
/// before that; a local ``Flux/Store`` and a daemon that hosts the type refuse every action.
public struct MirroredMutations<State: SharedState>: Mutations {
    public init() {}

    public func commit(_ action: State.Action, to state: inout State) throws {
        throw MirroredStateError(typeName: State.typeName)
    }
}

/// An action was to be committed in a program that does not have the rules of the state type.
public struct MirroredStateError: Error, Equatable, CustomStringConvertible {
    public let typeName: String

    public var description: String {
        "Only the bus has the rules of \(typeName); dispatch its actions to a store there."
    }
}
