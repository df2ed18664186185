import BusJSON
import BusLogic
import BusProtocol
import BusState
import BusTypes
import Flux
import Synchronization

/// A Swift state as a type of the bus. An action is decoded once per dispatch; the state is decoded, changed by the
/// Swift mutations and encoded again for every store, and the difference is written.
///
/// It serves only states in which ``SharedState/mistakes()`` finds nothing.
package final class CompiledType<State: SharedState>: StateType {
    package let name: String
    package let definition: JSON
    package let initial: JSONObject
    package let waitFor: [String] = []
    package let actionNames: [String]
    package let timeToLive: Int?

    let actions: ActionList<State>
    let published: PublishedValues<State>
    let mutations = State.Mutations()
    /// Nil where no action has anything to do with timers.
    let timerChanges = State.timers.changes
    /// `initial` without published values.
    private let plain: JSONObject
    /// The names of all members that a state may have, also of those that are absent at first.
    private let members: [String]
    /// The action that was accepted last: it is committed next, to however many stores. Only a memory, so that
    /// nothing depends on it but time.
    private let latest = Mutex<Accepted?>(nil)

    private struct Accepted: Sendable {
        let index: Int
        let payload: JSONObject
        let action: State.Action
    }

    package init() {
        name = State.typeName
        actions = State.actions
        published = State.published
        actionNames = actions.names
        timeToLive = State.timeToLive?.roundedUpToMilliseconds
        let trace = DecodingTrace(depth: 0)
        do {
            let state = State()
            plain = try state.encodedMembers()
            initial = try Self.object(of: state)
            _ = try State.state(from: .object(plain), trace: trace)
        } catch {
            fatalError("The initial state of \(State.self) can't be coded: \(error)")
        }
        members = plain.keys + trace.reads.map(\.name).filter { [plain] in plain[$0] == nil }
        definition = Self.definition(plain)
    }

    // MARK: Actions

    package func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject {
        let accepted = try actions.accept(payload, for: action)
        _ = try decoded(action, accepted)
        return accepted
    }

    /// The action itself; asked again for the same one, nothing is decoded.
    func decoded(_ index: Int, _ payload: JSONObject) throws(PayloadFailure) -> State.Action {
        if let known = latest.withLock({ $0 }), known.index == index, known.payload == payload {
            return known.action
        }
        let action = try actions.action(index, with: payload)
        latest.withLock { $0 = Accepted(index: index, payload: payload, action: action) }
        return action
    }

    // MARK: States

    package func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        var given = JSONObject()
        for member in members.members {
            if published.names.contains(where: { UTF8Order.equal($0, member.key) }) { continue }
            guard self.members.contains(where: { UTF8Order.equal($0, member.key) }) else {
                let hint = suggestion(for: member.key, among: self.members)
                throw PayloadFailure("\(name) has no member \(member.key); \(hint)")
            }
            guard member.value.nests(atMost: JSON.deepestState - 1) else {
                throw PayloadFailure("\(member.key) is nested too deeply; make it flatter.")
            }
            given[member.key] = member.value
        }
        var absent: [String] = []
        if case .store(let unset, _) = origin { absent = unset }
        var state = given
        for member in plain.members where given.index(of: member.key) == nil {
            if !absent.contains(where: { UTF8Order.equal($0, member.key) }) {
                state[member.key] = member.value
            }
        }
        do {
            do {
                return try Self.object(of: State.state(from: .object(state)))
            } catch  where !absent.isEmpty {
                // What was absent has to be there now.
                for name in absent where state.index(of: name) == nil { state[name] = plain[name] }
                return try Self.object(of: State.state(from: .object(state)))
            }
        } catch {
            throw PayloadFailure("\(name) can't begin with this state: \(CompiledTypeText.sentence(error))")
        }
    }

    package func migrate(
        _ state: JSONObject, from version: Int, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        var state = state
        for step in version..<max(version, State.version) {
            let migrated: JSON
            do {
                migrated = try State.migrate(.object(state), from: step)
            } catch {
                throw PayloadFailure(
                    "the step from version \(step) to \(step + 1) fails: \(CompiledTypeText.sentence(error))")
            }
            guard case .object(let object) = migrated else {
                throw PayloadFailure(
                    "the step from version \(step) to \(step + 1) makes \(migrated.phrase) of the state; return an object."
                )
            }
            state = object
        }
        return state
    }

    /// A state as the bus keeps it, published values included.
    static func object(of state: State) throws -> JSONObject {
        var object = try state.encodedMembers()
        for member in State.published.members(of: state) {
            guard object[member.key] == nil else {
                throw JSONCodingError(
                    path: [member.key], reason: "the state and its published values both have it; rename one."
                )
            }
            object[member.key] = member.value.nests(atMost: JSON.deepestState - 1) ? member.value : .null
        }
        guard JSON.object(object).nests(atMost: JSON.deepestState) else {
            throw JSONCodingError(path: [], reason: "The state nests too deeply; make it flatter.")
        }
        return object
    }

    // MARK: Definition

    /// The type in the form of a declared one. Published values are named, without the code that computes them. Of timers
    /// only the code knows which action sets which: where there may be any, `timers` is null.
    private static func definition(_ plain: JSONObject) -> JSON {
        var actions = JSONObject()
        for form in State.actions.usable {
            var payload = JSONObject()
            for member in form.payload.members { payload[member.name] = text(of: member) }
            actions[form.name] = payload.isEmpty ? [:] : ["payload": .object(payload)]
        }
        var definition: JSONObject = [
            "type": .string(State.typeName), "initial": .object(plain), "actions": .object(actions),
        ]
        if State.version != 1 { definition["version"] = .int(State.version) }
        if let timeToLive = State.timeToLive {
            definition["ttl"] = DurationText.seconds(timeToLive.roundedUpToMilliseconds)
        }
        if State.timers.changes != nil { definition["timers"] = .null }
        if !State.published.isEmpty {
            var computed = JSONObject()
            for name in State.published.names { computed[name] = .null }
            definition["computed"] = .object(computed)
        }
        return .object(definition)
    }

    private static func text(of member: PayloadSchema.Member) -> JSON {
        let type = JSON.string(member.type.rawValue)
        if let fallback = member.fallback { return ["type": type, "default": fallback] }
        return member.isOptional ? .string(member.type.rawValue + "?") : type
    }
}
