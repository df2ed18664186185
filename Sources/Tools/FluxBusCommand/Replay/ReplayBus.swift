import BusJSON
import BusLogic
import BusMachine
import BusProtocol

/// A state machine that applies recorded commits again: at their times, under their numbers, by their users, so that
/// expressions read what they read then.
final class ReplayBus {
    /// Why a recorded commit could not be applied.
    struct Refusal: Error, Equatable {
        let code: String
        let message: String

        init(_ error: RequestError) {
            code = error.code.rawValue
            message = error.message
        }
    }

    private let machine: StateMachine
    private var types: [any StateType]
    private var principals: [Int: Principal] = [:]

    /// No client chooses addresses of a recording, so their hashes need no secret.
    private static let hashSeed: UInt64 = 0x9e37_79b9_7f4a_7c15

    /// A bus with these types, which must not wait for each other in a circle. Recorded commits fitted the
    /// limits once; here there are none.
    init(types: [any StateType], epoch: String) {
        self.types = types
        machine = StateMachine(types: types, epoch: epoch, limits: .none, hashSeed: Self.hashSeed)
        machine.isReplaying = true
    }

    // MARK: - What is applied

    /// A state that a store had, and what is known of its members.
    struct FormerState {
        let state: JSONObject
        let origin: StateOrigin
    }

    /// Creates a store as it was at the recording's base; returns why it does not fit its type.
    func begin(with address: String, _ former: FormerState) -> Refusal? {
        refusal { () throws(RequestError) in try create(address, former) }
    }

    /// Applies a recorded commit, and returns why a part of it was refused, which then has changed nothing. Stores are
    /// created as `created` has them, a revert restores `revertedState`, and a reload applies `definitions`.
    func carryOut(
        _ commit: RecordedCommit, created: JSONObject, revertedState: FormerState?,
        definitions: [any StateType]?
    ) -> Refusal? {
        machine.advance(to: commit.time)
        var first: Refusal?
        func carryOut(_ part: () throws(RequestError) -> Void) {
            // Every part is of one commit, so each has its number.
            machine.renumber(after: commit.revision - 1)
            let refusal = refusal(part)
            first = first ?? refusal
        }
        if let steps = commit.steps {
            carryOut { () throws(RequestError) in
                let batch = try machine.apply(
                    steps, commit.actions, creating: created, by: principal(commit.uid)
                ) { (type, state) throws(RequestError) in
                    try machine.newState(of: type, replacing: state, in: nil)
                }
                machine.commit(CommitDetails(batch))
            }
            machine.renumber(after: commit.revision)
            return first
        }
        if !commit.actions.isEmpty {
            carryOut { () throws(RequestError) in try dispatch(commit.actions, by: principal(commit.uid)) }
        }
        for member in created {
            carryOut { () throws(RequestError) in try create(member.key, member.value) }
        }
        for address in commit.dropped { carryOut { () throws(RequestError) in try drop(address) } }
        if let (store, _) = commit.reverted {
            if machine.find(store) != nil { carryOut { () throws(RequestError) in try drop(store) } }
            if let revertedState {
                carryOut { () throws(RequestError) in try create(store, revertedState) }
            }
        }
        if let definitions {
            carryOut { () throws(RequestError) in
                do throws(Redefinition.Refusal) {
                    machine.commit(try machine.redefine(definitions))
                } catch {
                    throw RequestError(.rejected, error.message)
                }
                types = definitions
            }
        }
        machine.renumber(after: commit.revision)
        return first
    }

    private func refusal(_ body: () throws(RequestError) -> Void) -> Refusal? {
        do throws(RequestError) {
            try body()
            return nil
        } catch {
            return Refusal(error)
        }
    }

    private func dispatch(_ actions: [JSON], by principal: Principal) throws(RequestError) {
        try machine.plan(actions)
        _ = try machine.apply(by: principal)
        machine.commit()
    }

    private func create(_ address: String, _ state: JSON) throws(RequestError) {
        guard let state = state.object else {
            throw .invalid("state", "`state` must be an object.")
        }
        try create(address, FormerState(state: state, origin: .request))
    }

    private func create(_ address: String, _ former: FormerState) throws(RequestError) {
        let details = CommitDetails()
        details.created = [
            try machine.create(address, former.state, from: former.origin, by: .daemon)
        ]
        machine.commit(details)
    }

    private func drop(_ address: String) throws(RequestError) {
        let details = CommitDetails()
        details.dropped = [try machine.requireStore(address).1]
        machine.plan.clear()
        machine.commit(details)
    }

    /// One principal for each user; clients without a user id, as those on TCP, share one.
    private func principal(_ uid: Int?) -> Principal {
        if let known = principals[uid ?? -1] { return known }
        let principal =
            uid.map { machine.principal(uid: $0, pid: 1, unit: nil) }
            ?? machine.principal(token: "replay", address: "replay")
        principals[uid ?? -1] = principal
        return principal
    }

    /// The type with this name.
    func type(named name: String) -> (any StateType)? { types.first { $0.name == name } }

    // MARK: - Reading

    func state(at address: String) -> JSON? { machine.state(at: address).map(JSON.object) }

    private var typeNames: [String] { types.map(\.name) }

    /// All stores but those of views, which follow from the others.
    var addresses: [String] {
        types.filter { ($0 as? DeclaredType)?.definition["view"] == nil }
            .flatMap { machine.addresses(ofType: $0.name) }
    }

    /// The stores whose states a commit may have changed.
    func addresses(touchedBy commit: RecordedCommit) -> Set<String> {
        var found: Set<String> = Set(commit.created.keys + commit.dropped + commit.states.keys)
        if let (store, _) = commit.reverted { found.insert(store) }
        var types: Set<String> = []
        for action in commit.actions {
            if let store = action["store"]?.string { found.insert(store) }
            guard let type = action["type"]?.string else { continue }
            types.formUnion(type == "*" ? typeNames : [type])
        }
        if commit.redefines { types.formUnion(typeNames) }
        for type in types { found.formUnion(machine.addresses(ofType: type)) }
        return found
    }
}

/// The old states that reverts of a recording restore. With other definitions they may differ, so they are
/// kept as the replay reaches them.
final class RevertedStates {
    /// Stores needed, by the revision at which they are.
    private var wanted: [Int: Set<String>] = [:]
    private var states: [Int: [String: JSON]] = [:]

    init(_ outline: RecordingOutline) { wanted = outline.revertedTo }

    /// Keeps the states needed of a revision that has just been reached.
    func note(at revision: Int, in bus: ReplayBus) {
        guard let stores = wanted[revision] else { return }
        note(Array(stores), at: revision, in: bus)
    }

    /// The same, for some stores only.
    func note(_ stores: [String], at revision: Int, in bus: ReplayBus) {
        for store in stores where wanted[revision]?.contains(store) ?? false {
            states[revision, default: [:]][store] = bus.state(at: store)
        }
    }

    /// A store's state at a revision; nil when there was no such store.
    func state(of store: String, at revision: Int) -> JSON? { states[revision]?[store] }
}

/// What has to be known of a whole recording before it is replayed.
struct RecordingOutline {
    /// The stores that were reverted, by the revision that they were reverted to.
    private(set) var revertedTo: [Int: Set<String>] = [:]
    /// The revision of the last commit with which a type had another version; nil if none has.
    private(set) var newestMigration: Int?

    /// Reads a whole recording.
    init(_ reader: inout RecordingReader) throws {
        var versions: [String: Int] = [:]
        while let entry = try reader.next() {
            switch entry {
            case .definition(let definition):
                versions[definition["type"]?.string ?? ""] = definition.definedVersion
            case .store: break
            case .commit(let commit):
                if let (store, revision) = commit.reverted {
                    revertedTo[revision, default: []].insert(store)
                }
                for definition in commit.definitions {
                    let version = definition.definedVersion
                    let before = versions.updateValue(version, forKey: definition["type"]?.string ?? "")
                    if before ?? version != version { newestMigration = commit.revision }
                }
            }
        }
    }
}
