import BusJSON

/// Something that happened on the bus and for which a command runs: an action, or a condition that became true.
struct Occurrence {
    /// The address of a store; or a type, or `*`, where an action went to all stores of it.
    let target: String
    let revision: Int
    /// What the command finds in its environment; nil where it is not known, so that none is inherited.
    let variables: [String: String?]
    /// What it reads.
    var input: [UInt8] = []

    /// - Parameters:
    ///   - action: The action's name, where it was one.
    ///   - cause: What has `by` and `time` of the commit, where that is known.
    init(target: String, revision: Int, action: String?, cause: JSONObject, users: UserNames) {
        self.target = target
        self.revision = revision
        variables = [
            "FLUXBUS_STORE": target, "FLUXBUS_ACTION": action, "FLUXBUS_REVISION": "\(revision)",
            "FLUXBUS_TIME": cause["time"]?.encoded, "FLUXBUS_USER": cause["by"].flatMap(users.account),
            "TRACEPARENT": cause["traceparent"]?.string,
        ]
    }

    /// Gives the command one line of JSON to read.
    func reading(_ input: JSON) -> Occurrence {
        var other = self
        other.input = Array((input.encoded + "\n").utf8)
        return other
    }

    /// The store that this is about; nil where it is about many.
    var store: String? { target.contains("/") ? target : nil }

    /// A command's words, with the name of the store in place of `{}` in all but the first. A name has no character that means
    /// anything to a shell, and does not begin with a dash.
    func words(of command: [String]) -> [String] {
        let name = target.split(separator: "/").last.map(String.init) ?? target
        return command.prefix(1) + command.dropFirst().map { $0.replacing("{}", with: name) }
    }
}
