import BusJSON

/// One action that was committed.
public struct ActionEvent: Sendable {
    /// The event as the bus sent it.
    public let object: JSONObject
    public let revision: Int
    /// The type or the store it was dispatched to, and its place in a batch.
    public var type: String? { object["type"]?.string }
    public var store: String? { object["store"]?.string }
    public var index: Int? { object["index"]?.int }
    public var action: String { object["action"]?.string ?? "" }
    /// The payload with defaults filled in.
    public var payload: JSONObject { object["payload"]?.object ?? [:] }
    /// Who caused it.
    public var by: JSONObject { object["by"]?.object ?? [:] }
    /// When, in seconds since 1970.
    public var time: Double { object["time"]?.double ?? 0 }

    init(object: JSONObject, revision: Int) {
        self.object = object
        self.revision = revision
    }
}
