import BusJSON

/// The bus's description of itself when a connection opens.
public struct BusGreeting: Sendable, Equatable {
    /// The daemon's name and version.
    public let server: String
    public let version: String
    /// The history that revisions belong to.
    public let epoch: String
    /// The revision at that moment.
    public let revision: Int
    /// This client's identity on the bus, as in `by`.
    public let identity: JSONObject
    /// The daemon's limits by their names in its configuration: `line`, `depth`, `state`, `batch`, …
    public let limits: JSONObject

    init?(_ reply: JSONObject) {
        guard let epoch = reply["epoch"]?.string, let revision = reply["revision"]?.int else { return nil }
        self.epoch = epoch
        self.revision = revision
        server = reply["server"]?.string ?? ""
        version = reply["version"]?.string ?? ""
        identity = reply["identity"]?.object ?? [:]
        limits = reply["limits"]?.object ?? [:]
    }
}
