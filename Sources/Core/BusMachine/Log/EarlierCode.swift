import BusJSON
import BusLogic
import BusProtocol
import BusState

/// A type of the log that another build of the daemon had in code: its mutations are not here, so its actions can't be
/// applied again. Its states can be read, and migrated.
final class EarlierCode: StateType {
    private let declared: DeclaredType

    init(_ declared: DeclaredType) { self.declared = declared }

    var name: String { declared.name }
    var definition: JSON { declared.definition }
    var initial: JSONObject { declared.initial }
    var waitFor: [String] { declared.waitFor }
    var actionNames: [String] { declared.actionNames }

    func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject {
        try declared.accept(payload, for: action)
    }

    func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        let store = context.reader.address(of: context.store)
        throw Rejection(
            message:
                "\(store) can't apply \(actionNames[action]) again, because another build of the daemon had \(name) in code: "
                + "start that build once more and stop it, which leaves a snapshot, and then start this one.",
            store: store, action: actionNames[action])
    }

    func precomputedWrites(of action: Int) -> PrecomputedWrites? { nil }

    func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        try declared.state(members, from: origin, spending: &budget)
    }
}

extension DeclaredType {
    /// Whether no action writes anything: so it is with pure events, and with types in code, whose definitions have only
    /// names.
    var writesNothing: Bool { actionNames.indices.allSatisfy { isPureEvent($0) } }
}
