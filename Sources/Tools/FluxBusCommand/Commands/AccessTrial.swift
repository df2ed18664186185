import BusJSON
import BusLogic
import BusSystem

/// What the condition of an access rule would be evaluated with, as far as a command line says it.
struct AccessTrial {
    /// The data that conditions read; nil where nothing was given to evaluate them with.
    private let data: JSON?
    /// Whether the state of the store is known.
    private let hasState: Bool

    /// - Parameters:
    ///   - state: The state of the store, as JSON.
    ///   - members: The payload, or of a creation the members of the new state; nil: conditions are not evaluated.
    init(
        state: String?, members: [String]?, isCreation: Bool, store: String, who: Credentials,
        roles: [String], input: Int32
    ) throws {
        var known: JSONObject?
        if let state {
            guard let object = (try? JSON(parsing: state))?.object else {
                throw CommandFailure(.usage, "--state is not a JSON object; write it as '{\"count\":2}'.")
            }
            known = object
        }
        guard let members else {
            if known != nil {
                throw CommandFailure(
                    .usage, "--state goes with an action and its payload; write '{}' for one without members."
                )
            }
            (data, hasState) = (nil, false)
            return
        }
        let given = try MemberArguments.parse(members, input: input)
        if isCreation { known = given }
        hasState = known != nil
        var identity: JSONObject = ["roles": .array(roles.map(JSON.string))]
        identity["uid"] = who.uid.map(JSON.int)
        identity["user"] = who.user.map(JSON.string)
        identity["unit"] = who.unit.map(JSON.string)
        identity["token"] = who.token.map(JSON.string)
        data = [
            "state": .object(known ?? [:]), "payload": .object(isCreation ? [:] : given),
            "store": .string(store), "who": .object(identity),
            "meta": [
                "time": .double(Double(SystemClock.milliseconds) / 1000), "revision": 1,
                "uid": identity["uid"] ?? .null,
                "who": .object(identity),
            ],
        ]
    }

    /// Whether the condition of a rule holds; nil where that can't be known.
    func holds(_ rule: AccessRule) -> Bool? {
        guard let condition = rule.condition else { return true }
        guard let data, hasState || !rule.readsState else { return nil }
        return (try? condition.holds(on: data)) ?? false
    }
}
