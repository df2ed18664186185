import BusJSON
import BusLogic
import BusProtocol

/// A recorded history with its own definitions, as they came into force: what really happened.
final class ReplayRecording {
    private let header: Recording.Header
    private var definitions: [DeclaredType] = []
    private var made: ReplayBus?

    init(_ header: Recording.Header) { self.header = header }

    /// The bus that the recorded definitions have made so far.
    var bus: ReplayBus {
        if let made { return made }
        let bus = ReplayBus(types: definitions, epoch: header.epoch)
        made = bus
        return bus
    }

    // MARK: - What is applied

    func begin(with definition: JSON) throws {
        definitions.append(try Self.compile(definition, of: header.base))
    }

    func begin(with address: String, _ state: JSONObject) throws {
        if let refusal = bus.begin(with: address, former(state, at: address, for: bus)) {
            throw damage(header.base, refusal)
        }
    }

    func carryOut(_ commit: RecordedCommit) throws {
        let bus = bus
        var reloaded: [DeclaredType]?
        if commit.redefines {
            let new = try commit.definitions.map { try Self.compile($0, of: commit.revision) }
            let gone = Set(new.map(\.name) + commit.undefined)
            definitions = definitions.filter { !gone.contains($0.name) } + new
            reloaded = definitions
        }
        let store = commit.reverted?.store ?? ""
        let then = commit.states[store]
        let refusal = bus.carryOut(
            commit, created: commit.created,
            revertedState: then?.object.map { former($0, at: store, for: bus) }, definitions: reloaded)
        if let refusal { throw damage(commit.revision, refusal) }
    }

    private static func compile(_ definition: JSON, of revision: Int) throws -> DeclaredType {
        do {
            return try DeclaredType(definition: definition)
        } catch {
            throw CommandFailure(
                .refused,
                "A definition of revision \(revision) can't be replayed by this fluxbus (\(error.message)): "
                    + "use a fluxbus of the daemon's version.")
        }
    }

    private func damage(_ revision: Int, _ refusal: ReplayBus.Refusal) -> CommandFailure {
        CommandFailure(
            .refused,
            refusal.message.endingSentence(
                with:
                    "revision \(revision) can't be replayed with its own definitions; export it again, with a fluxbus of the daemon's version"
            ))
    }

    // MARK: - Recorded states

    /// A recorded state of a store, for a bus with other definitions or the same.
    func former(_ state: JSONObject, at address: String, for bus: ReplayBus) -> ReplayBus.FormerState {
        let plain = plain(state, at: address)
        guard let recorded = type(of: address), let type = bus.type(named: recorded.name) else {
            return .init(state: plain, origin: .request)
        }
        let origin = NamedMembers(of: recorded.definition)
            .origin(of: plain, under: NamedMembers(of: type.definition))
        return .init(state: plain, origin: origin)
    }

    /// A recorded state without the values its type computes, which another definition computes itself.
    func plain(_ state: JSONObject, at address: String) -> JSONObject {
        var state = state
        for name in type(of: address)?.definition["computed"]?.object?.keys ?? [] { state[name] = nil }
        return state
    }

    func type(of address: String) -> DeclaredType? {
        definitions.first { address.hasPrefix($0.name + "/") }
    }
}
