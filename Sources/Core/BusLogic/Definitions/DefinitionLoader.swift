import BusJSON
import BusSource

/// Compiles one state type from what its file says. Nothing is overlooked: a member that means nothing here,
/// an operator or a type that does not exist, a path that can't be right, each is an error with its line and
/// the word that was probably meant.
struct DefinitionLoader {
    /// Everything a type is made of.
    struct Parts {
        var name = ""
        var summary: String?
        var definition = JSON.null
        var plain = JSONObject()
        var computed = ComputedValues([], shape: JSONObject())
        var waitFor: [String] = []
        var waitForPlaces: [Place] = []
        var actions: [DeclaredAction] = []
        var migrations = Migrations(steps: [])
        var timeToLive: Int?
        var place: Place
    }

    let root: LocatedObject
    var parts: Parts
    /// All members of a state, computed ones as null: where keys stand.
    var shape = JSONObject()
    /// Names of the computed values.
    var computedNames: [String] = []

    /// Whether steps between versions may be left out.
    var mayLackSteps = false

    static let members = [
        "type", "summary", "version", "initial", "computed", "waitFor", "ttl", "actions", "migrate",
    ]
    static let longestName = 64

    init(_ source: LocatedValue) throws(SourceError) {
        root = try source.object("A state type")
        parts = Parts(place: source.place)
        parts.definition = source.json
    }

    mutating func load() throws(SourceError) -> Parts {
        try root.refuseMembers(besides: Self.members, of: "a state type")
        try loadNames()
        try loadInitial()
        try loadComputed()
        let actions = try root["actions"]?.object("actions").members ?? []
        for member in actions.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            try Self.check(name: member.key, of: "An action", at: member.place)
            parts.actions.append(try loadAction(member))
        }
        parts.migrations = try loadMigrations()
        try checkTimers()
        parts.timeToLive = try loadTimeToLive()
        return parts
    }

    private mutating func loadNames() throws(SourceError) {
        let type = try root.required("type", of: "A state type")
        parts.name = try type.string("type")
        parts.place = type.place
        try Self.check(name: parts.name, of: "A state type", at: type.place)
        parts.summary = try root["summary"]?.string("summary")
        for element in try root["waitFor"]?.array("waitFor") ?? [] {
            let name = try element.string("each type of waitFor")
            if parts.waitFor.contains(name) {
                throw element.failure("\(name) stands in waitFor twice; keep one of them.")
            }
            parts.waitFor.append(name)
            parts.waitForPlaces.append(element.place)
        }
    }

    private mutating func loadInitial() throws(SourceError) {
        let initial = try root.required("initial", of: "A state type")
        parts.plain = try initial.object("initial").json
        guard JSON.object(parts.plain).nests(atMost: Evaluation.deepestValue) else {
            throw initial.failure("initial is nested too deeply; make it flatter.")
        }
    }

    /// Type and action names: `[a-z][A-Za-z0-9_-]*`, at most 64 bytes.
    private static func check(name: String, of owner: String, at place: Place) throws(SourceError) {
        let bytes = name.utf8
        let isGood =
            bytes.first.map { 97...122 ~= $0 } == true
            && bytes.allSatisfy {
                97...122 ~= $0 || 65...90 ~= $0 || 48...57 ~= $0 || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: "-")
            }
        guard isGood else {
            throw SourceError(
                "\(owner) can't be called \(name); start with a small letter and go on with letters, digits, _ or -.",
                at: place)
        }
        guard bytes.count <= longestName else {
            throw SourceError("The name \(name) has more than \(longestName) bytes; shorten it.", at: place)
        }
    }
}
