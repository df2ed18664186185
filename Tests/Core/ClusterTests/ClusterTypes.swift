import BusJSON
import BusLogic
import BusProtocol
import BusState

/// The types of the simulated bus. Every action takes a mark that names the operation.
enum ClusterTypes {
    static let counter: JSON = [
        "type": "counter",
        "initial": ["count": 0, "last": 0, "at": 0.0],
        "actions": [
            "add": [
                "payload": ["mark": "integer"], "increment": ["count": 1],
                "set": ["last": ["var": "payload.mark"], "at": ["var": "meta.time"]],
            ],
            "addBelow": [
                "payload": ["mark": "integer", "limit": "integer"],
                "require": [
                    ["if": ["<": [["var": "state.count"], ["var": "payload.limit"]]], "else": "too many"]
                ],
                "increment": ["count": 1],
            ],
        ],
    ]

    /// What the members work out alike.
    private static let totals: JSON = [
        "type": "totals",
        "view": [
            "of": "counter",
            "values": [
                "counters": "count()", "sum": "sum(count)", "times": "sum(at)", "latest": "argmax(at)",
                "counts": "counts(count)",
            ],
        ],
    ]

    static func load() throws -> [any StateType] {
        [try DeclaredType(definition: counter), try DeclaredType(definition: totals)]
    }
}

/// The same definition with other code behind it, as in a build that is not the others'.
final class OtherCode: StateType {
    private let declared: DeclaredType

    init() throws { declared = try DeclaredType(definition: ClusterTypes.counter) }

    var name: String { declared.name }
    var definition: JSON { declared.definition }
    var initial: JSONObject { declared.initial }
    var waitFor: [String] { declared.waitFor }
    var actionNames: [String] { declared.actionNames }

    func accept(_ payload: JSONObject, for action: Int) throws(PayloadFailure) -> JSONObject {
        try declared.accept(payload, for: action)
    }

    /// Now and then it adds twice.
    func commit(
        _ action: Int, payload: JSONObject, to draft: inout Draft, in context: CommitContext
    ) throws(Rejection) -> Bool {
        let isOdd = (payload["mark"]?.int ?? 0) % 3 == 0
        if isOdd { _ = try declared.commit(action, payload: payload, to: &draft, in: context) }
        return try declared.commit(action, payload: payload, to: &draft, in: context)
    }

    func precomputedWrites(of action: Int) -> PrecomputedWrites? { nil }

    func state(
        _ members: JSONObject, from origin: StateOrigin, spending budget: inout Budget
    ) throws(PayloadFailure) -> JSONObject {
        try declared.state(members, from: origin, spending: &budget)
    }
}
