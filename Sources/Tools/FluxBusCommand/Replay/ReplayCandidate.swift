import BusJSON
import BusLogic
import BusProtocol

/// What other definitions would have made of a recorded history.
final class ReplayCandidate {
    let bus: ReplayBus
    /// Old states that reverts need, as these definitions made them.
    private let reverts: RevertedStates
    private let recording: ReplayRecording
    /// The revision that it begins with.
    private let start: Int

    init(
        _ types: [DeclaredType], _ recording: ReplayRecording, _ header: Recording.Header, since start: Int,
        _ outline: RecordingOutline
    ) {
        bus = ReplayBus(types: types, epoch: header.epoch)
        reverts = RevertedStates(outline)
        self.recording = recording
        self.start = start
    }

    /// Creates a store as the recorded definitions had made it, migrated where these have a later version; returns why it can't
    /// be.
    func begin(with address: String, _ state: JSONObject) -> ReplayBus.Refusal? {
        defer { reverts.note([address], at: start, in: bus) }
        switch adopted(state, at: address) {
        case .success(let adopted):
            let origin = recording.former(state, at: address, for: bus).origin
            return bus.begin(with: address, .init(state: adopted, origin: origin))
        case .failure(let failure): return failure
        }
    }

    /// Applies a commit that the recorded definitions have just made; returns why a part of it is refused.
    func carryOut(_ commit: RecordedCommit) -> ReplayBus.Refusal? {
        defer { reverts.note(at: commit.revision, in: bus) }
        let (store, target) = commit.reverted ?? ("", 0)
        let before = commit.states[store]?.object.map {
            ReplayBus.FormerState(
                state: (try? adopted($0, at: store).get()) ?? recording.plain($0, at: store),
                origin: recording.former($0, at: store, for: bus).origin)
        }
        let kept = reverts.state(of: store, at: target)?.object.map { former($0, at: store) }
        return bus.carryOut(
            commit, created: wanted(commit.created), revertedState: target < start ? before : kept,
            definitions: nil)
    }

    /// A state that a store had here, where the definitions have been the same all the time.
    private func former(_ state: JSONObject, at address: String) -> ReplayBus.FormerState {
        guard let type = bus.type(named: String(address.prefix { $0 != "/" })) else {
            return .init(state: state, origin: .request)
        }
        let plain = type.definition.withoutComputed(state)
        let named = NamedMembers(of: type.definition)
        return .init(state: plain, origin: named.origin(of: plain, under: named))
    }

    /// A recorded state as these definitions have it: migrated, if they are of a later version.
    private func adopted(
        _ state: JSONObject, at address: String
    ) -> Result<JSONObject, ReplayBus.Refusal> {
        let plain = recording.plain(state, at: address)
        guard let recorded = recording.type(of: address), let type = bus.type(named: recorded.name),
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
            let recorded = recording.type(of: member.key)
            if let recorded, recorded.version < bus.type(named: recorded.name)?.version ?? 0,
                let state = member.value.object, case .success(let migrated) = adopted(state, at: member.key)
            {
                wanted[member.key] = .object(migrated)
                continue
            }
            let initial = recorded?.initial ?? [:]
            let state = recording.plain(member.value.object ?? [:], at: member.key)
            let given = state.members.filter { initial[$0.key] != $0.value }
            wanted[member.key] = .object(JSONObject(sorted: given))
        }
        return wanted
    }
}
