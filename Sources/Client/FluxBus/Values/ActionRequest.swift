import BusJSON

/// One action of a batch, of a dry run or of a will.
///
/// ```swift
/// ActionRequest("increment", to: .store("counter/a"), payload: ["by": 2])
/// ```
public struct ActionRequest: Sendable, Equatable {
    public var action: String
    public var target: DispatchTarget
    public var payload: JSONObject

    public init(_ action: String, to target: DispatchTarget, payload: JSONObject = [:]) {
        self.action = action
        self.target = target
        self.payload = payload
    }

    var json: JSON {
        var object: JSONObject = ["action": .string(action)]
        switch target {
        case .store(let address): object["store"] = .string(address)
        case .type(let name): object["type"] = .string(name)
        case .everything: object["type"] = "*"
        }
        if !payload.isEmpty { object["payload"] = .object(payload) }
        return .object(object)
    }
}

/// The target of an action.
public enum DispatchTarget: Hashable, Sendable {
    /// One store, by its address: `counter/kitchen`.
    case store(String)
    /// Every store of a type.
    case type(String)
    /// Every store of every type that declares the action.
    case everything
}
