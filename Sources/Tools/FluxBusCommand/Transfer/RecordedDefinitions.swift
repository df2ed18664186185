import BusJSON
import BusLogic

/// The definitions of a recording, as far as it was read, beside those that the bus has: what is of an earlier version
/// there has to be migrated here.
struct RecordedDefinitions {
    private var recorded: [String: JSON] = [:]
    private let present: [String: JSON]

    init(present: [String: JSON]) { self.present = present }

    /// The definition came into force in the recording.
    mutating func note(_ definition: JSON) {
        if let name = definition["type"]?.string { recorded[name] = definition }
    }

    /// The recorded definition of a store's type, where the bus has a later version; else nil.
    func earlier(of address: String) -> JSON? {
        let name = String(address.prefix { $0 != "/" })
        guard let then = recorded[name], let now = present[name], then.definedVersion < now.definedVersion
        else { return nil }
        return then
    }
}
