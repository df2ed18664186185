import BusJSON
import BusLogic
import BusProtocol

/// Replays a recorded history twice, with its own definitions and with others, and reports after each
/// commit which results differ.
final class ReplayComparison {
    /// The differences that one commit, or the beginning, made from what was recorded.
    struct Deviation {
        /// Nil at the beginning.
        let commit: RecordedCommit?
        /// Why it would have been refused; nil when it would not.
        let refusal: ReplayBus.Refusal?
        /// The parts of states that differ, and did not differ so before.
        let stores: [(address: String, differences: [StateDifference])]
    }

    private let header: Recording.Header
    /// What comes after this revision is compared.
    private let start: Int
    private let reverts: RevertedStates
    private var definitions: [DeclaredType] = []
    private var recorded: ReplayBus?
    private let candidate: ReplayBus
    /// How stores differ now; those that do not are left out.
    private var differing: [String: [StateDifference]] = [:]

    private(set) var commits = 0
    private(set) var deviating = 0
    private(set) var refused = 0

    /// The stores that differ now, ascending.
    var differingStores: [String] { differing.keys.sorted(by: UTF8Order.precedes) }
    /// No result has differed at any time.
    var isEqual: Bool { deviating == 0 }

    /// Compares with the results of `types` from a revision on: with the states that the recorded definitions had made by then,
    /// migrated where `types` have a later version. `reverts` names the old states needed for reverts.
    init(_ header: Recording.Header, since start: Int, types: [DeclaredType], reverts: RevertedStates) {
        self.header = header
        self.start = start
        self.reverts = reverts
        candidate = ReplayBus(types: types, epoch: header.epoch)
    }

    /// Handles the file's next line; returns the differences it made.
    func take(_ entry: Recording.Entry) throws -> [Deviation] {
        switch entry {
        case .definition(let definition): definitions.append(try Self.compile(definition, of: header.base))
        case .store(let address, let state):
            if let refusal = bus().begin(with: address, former(state, at: address, for: bus())) {
                throw damage(header.base, refusal)
            }
            if start == header.base { return [begin(with: address, state)].compactMap(\.self) }
        case .commit(let commit):
            try carryOutAsRecorded(commit)
            if commit.revision > start { return [carryOut(commit)].compactMap(\.self) }
            if commit.revision == start {
                return bus().addresses.compactMap { begin(with: $0, bus().state(at: $0)?.object ?? [:]) }
            }
        }
        return []
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

    private func bus() -> ReplayBus {
        if let recorded { return recorded }
        let bus = ReplayBus(types: definitions, epoch: header.epoch)
        recorded = bus
        return bus
    }

    // MARK: - The beginning

    private func begin(with address: String, _ state: JSONObject) -> Deviation? {
        var refusal: ReplayBus.Refusal?
        switch adopted(state, at: address) {
        case .success(let adopted):
            let origin = former(state, at: address, for: candidate).origin
            refusal = candidate.begin(with: address, .init(state: adopted, origin: origin))
        case .failure(let failure): refusal = failure
        }
        reverts.note([address], at: start, in: candidate)
        return deviation(nil, refusal, at: [address])
    }

    // MARK: - Commits

    private func carryOutAsRecorded(_ commit: RecordedCommit) throws {
        let recorded = bus()
        var reloaded: [DeclaredType]?
        if commit.redefines {
            let new = try commit.definitions.map { try Self.compile($0, of: commit.revision) }
            let gone = Set(new.map(\.name) + commit.undefined)
            definitions = definitions.filter { !gone.contains($0.name) } + new
            reloaded = definitions
        }
        let store = commit.reverted?.store ?? ""
        let then = commit.states[store]
        let own = recorded.carryOut(
            commit, created: commit.created,
            revertedState: then?.object.map { former($0, at: store, for: recorded) }, definitions: reloaded)
        if let own { throw damage(commit.revision, own) }
    }

    private func carryOut(_ commit: RecordedCommit) -> Deviation? {
        commits += 1
        let (store, target) = commit.reverted ?? ("", 0)
        let then = commit.states[store]
        let before = then?.object.map {
            ReplayBus.FormerState(
                state: (try? adopted($0, at: store).get()) ?? plain($0, at: store),
                origin: former($0, at: store, for: candidate).origin)
        }
        let kept = reverts.state(of: store, at: target)?.object.map { former($0, of: candidate, at: store) }
        let refusal = candidate.carryOut(
            commit, created: wanted(commit.created), revertedState: target < start ? before : kept,
            definitions: nil)
        reverts.note(at: commit.revision, in: candidate)
        // A store may exist on one side only.
        let touched = bus().addresses(touchedBy: commit).union(candidate.addresses(touchedBy: commit))
        return deviation(commit, refusal, at: touched.sorted(by: UTF8Order.precedes))
    }

    // MARK: - States of the recorded definitions

    /// A recorded state of a store, for a bus with other definitions or the same.
    private func former(
        _ state: JSONObject, at address: String, for bus: ReplayBus
    ) -> ReplayBus.FormerState {
        let plain = plain(state, at: address)
        guard let recorded = type(of: address), let type = bus.type(named: recorded.name) else {
            return .init(state: plain, origin: .request)
        }
        let origin = NamedMembers(of: recorded.definition)
            .origin(of: plain, under: NamedMembers(of: type.definition))
        return .init(state: plain, origin: origin)
    }

    /// A state that a store had on the candidate, which has had its definitions all the time.
    private func former(
        _ state: JSONObject, of bus: ReplayBus, at address: String
    ) -> ReplayBus.FormerState {
        guard let type = bus.type(named: String(address.prefix { $0 != "/" })) else {
            return .init(state: state, origin: .request)
        }
        let plain = type.definition.withoutComputed(state)
        let named = NamedMembers(of: type.definition)
        return .init(state: plain, origin: named.origin(of: plain, under: named))
    }

    /// A recorded state without the values its type computes, which the other definition computes itself.
    private func plain(_ state: JSONObject, at address: String) -> JSONObject {
        var state = state
        for name in type(of: address)?.definition["computed"]?.object?.keys ?? [] { state[name] = nil }
        return state
    }

    /// A recorded state as the other definition has it: migrated, if that is of a later version.
    private func adopted(
        _ state: JSONObject, at address: String
    ) -> Result<JSONObject, ReplayBus.Refusal> {
        let plain = plain(state, at: address)
        guard let recorded = type(of: address), let type = candidate.type(named: recorded.name),
            recorded.version < type.version
        else { return .success(plain) }
        do throws(PayloadFailure) {
            return .success(try type.migrate(plain, from: recorded.version))
        } catch {
            return .failure(
                ReplayBus.Refusal(
                    RequestError(.rejected, "\(address) can't be migrated: \(error.message)")))
        }
    }

    /// The states requested for new stores. The log has whole states; members equal to the type's own initial state
    /// count as not requested, so that another initial state takes effect.
    private func wanted(_ created: JSONObject) -> JSONObject {
        var wanted: JSONObject = [:]
        for member in created {
            let recorded = type(of: member.key)
            if let recorded, recorded.version < candidate.type(named: recorded.name)?.version ?? 0,
                let state = member.value.object, case .success(let migrated) = adopted(state, at: member.key)
            {
                wanted[member.key] = .object(migrated)
                continue
            }
            let initial = recorded?.initial ?? [:]
            let state = plain(member.value.object ?? [:], at: member.key)
            let given = state.members.filter { initial[$0.key] != $0.value }
            wanted[member.key] = .object(JSONObject(sorted: given))
        }
        return wanted
    }

    private func type(of address: String) -> DeclaredType? {
        definitions.first { address.hasPrefix($0.name + "/") }
    }

    private func deviation(
        _ commit: RecordedCommit?, _ refusal: ReplayBus.Refusal?, at addresses: [String]
    ) -> Deviation? {
        var stores: [(address: String, differences: [StateDifference])] = []
        for address in addresses {
            let before = differing[address] ?? []
            let now = StateDifference.between(bus().state(at: address), candidate.state(at: address))
            differing[address] = now.isEmpty ? nil : now
            let fresh = now.filter { !before.contains($0) }
            if !fresh.isEmpty { stores.append((address, fresh)) }
        }
        guard refusal != nil || !stores.isEmpty else { return nil }
        deviating += 1
        if refusal != nil { refused += 1 }
        return Deviation(commit: commit, refusal: refusal, stores: stores)
    }

    private func damage(_ revision: Int, _ refusal: ReplayBus.Refusal) -> CommandFailure {
        CommandFailure(
            .refused,
            refusal.message.endingSentence(
                with:
                    "revision \(revision) can't be replayed with its own definitions; export it again, with a fluxbus of the daemon's version"
            ))
    }
}
