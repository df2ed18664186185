import Flux

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
