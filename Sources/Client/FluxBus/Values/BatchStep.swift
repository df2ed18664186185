import BusJSON

/// One step of a batch: an action, or a store that is created or dropped.
public struct BatchStep: Sendable, Equatable {
    let json: JSON

    private init(
        _ json: JSONObject, ifRevision: Int? = nil, if condition: JSON? = nil, where filter: JSON? = nil
    ) {
        var json = json
        json["ifRevision"] = ifRevision.map(JSON.int)
        json["if"] = condition
        json["where"] = filter
        self.json = .object(json)
    }

    public init(_ action: ActionRequest) { self.init(action.json.object ?? [:]) }

    /// An action. With `ifRevision`, for one store, all is refused with `conflict` unless the store had that revision before
    /// the batch; with `if` unless the expression holds for the store as the steps before have left it. With `where`, for a
    /// type, it goes to the stores for which that expression holds.
    public static func action(
        _ action: String, to target: DispatchTarget, payload: JSONObject = [:], ifRevision: Int? = nil,
        if condition: JSON? = nil, where filter: JSON? = nil
    ) -> BatchStep {
        let request = ActionRequest(action, to: target, payload: payload)
        return BatchStep(
            request.json.object ?? [:], ifRevision: ifRevision, if: condition, where: filter)
    }

    /// A new store, which stays when this client goes; see ``Bus/create(_:state:isEphemeral:ifMissing:timeToLive:usesKey:timeout:)``.
    public static func create(
        _ store: String, state: JSONObject? = nil, ifMissing: Bool = false, timeToLive: Duration? = nil
    ) -> BatchStep {
        var json: JSONObject = ["op": "create", "store": .string(store)]
        json["state"] = state.map(JSON.object)
        if ifMissing { json["ifMissing"] = true }
        json["ttl"] = timeToLive.map { DispatchTime.after($0).member.value }
        return BatchStep(json)
    }

    /// The end of a store.
    public static func drop(_ store: String, ifRevision: Int? = nil, if condition: JSON? = nil) -> BatchStep {
        BatchStep(["op": "drop", "store": .string(store)], ifRevision: ifRevision, if: condition)
    }

    /// The end of all stores of a type for which an expression holds as the steps before have left them.
    public static func drop(type: String, where filter: JSON) -> BatchStep {
        BatchStep(["op": "drop", "type": .string(type)], where: filter)
    }

    static func request(_ steps: [BatchStep]) -> BusRequest {
        BusRequest("dispatch", ["actions": .array(steps.map(\.json))])
    }
}

/// How a dispatch is to be answered with what it has changed.
public enum ReturnedForm: String, Sendable {
    /// As merge patches by address, and whole states where a patch can't express it.
    case changes
    /// As whole states by address.
    case states
}
