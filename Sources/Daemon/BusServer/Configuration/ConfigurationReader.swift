import BusEngine
import BusLogic
import BusMachine
import BusProtocol
import BusSource

/// Reads `fluxbusd.yaml`. Every member is read even when another is wrong, and all errors are kept.
struct ConfigurationReader {
    private(set) var errors = ConfigurationErrors()
    private let file: String

    init(file: String) { self.file = file }

    static let members = [
        "listen", "tokens", "types", "stores", "log", "cluster", "limits", "access",
    ]

    mutating func configuration(_ root: LocatedValue) -> ServerConfiguration {
        var configuration = ServerConfiguration()
        // An empty file sets nothing, which is no error.
        guard !root.isNull,
            let object = errors.collect({ () throws(SourceError) in
                try root.object("the configuration")
            })
        else { return configuration }
        errors.refuseMembers(of: object, besides: Self.members, of: "the configuration")

        configuration.listen = elements(object, "listen").compactMap { listenAddress($0) }
        configuration.tokens = path(object, "tokens")
        configuration.types = path(object, "types")
        configuration.stores = elements(object, "stores").compactMap { element in
            errors.collect { () throws(SourceError) in
                Located(try element.string("a store"), at: element.place)
            }
        }
        configuration.access = object.given("access")
        if let limits = object.given("limits") { read(limits, into: &configuration.limits) }
        if let log = object.given("log") {
            var reading = LogReading(file: file)
            configuration.log = reading.settings(log)
            errors.addSorted(reading.errors)
        }
        if let cluster = object.member("cluster"), !cluster.value.isNull {
            var reading = ClusterReading(file: file)
            configuration.cluster = reading.settings(cluster)
            errors.addSorted(reading.errors)
        }
        return configuration
    }

    // MARK: - Members

    private mutating func elements(_ object: LocatedObject, _ key: String) -> [LocatedValue] {
        guard let value = object.given(key) else { return [] }
        return errors.collect { () throws(SourceError) in try value.array(key) } ?? []
    }

    private mutating func path(_ object: LocatedObject, _ key: String) -> Located<String>? {
        errors.path(object.given(key), key, beside: file)
    }

    // MARK: - Listening

    /// What an element of `listen` may say beside its address, by the address's kind.
    static let companions: KeyValuePairs = [
        "unix": ["mode", "group"], "tcp": [], "tls": ["certificate", "key", "clients", "require"],
        "systemd": [],
    ]

    private mutating func listenAddress(_ value: LocatedValue) -> ListenAddress? {
        guard
            let object = errors.collect({ () throws(SourceError) in
                try value.object("an element of listen")
            })
        else { return nil }
        let kinds = Self.companions.map(\.key)
        let known = kinds + Self.companions.flatMap(\.value)
        errors.refuseMembers(of: object, besides: known, of: "an element of listen")
        let named = object.members.filter { kinds.contains($0.key) }
        guard named.count == 1, let kind = named.first else {
            // A misspelt one was reported already.
            if named.count > 1 || object.members.allSatisfy({ known.contains($0.key) }) {
                errors.add("An element of listen needs one of unix, tcp, tls and systemd.", at: value.place)
            }
            return nil
        }
        for (owner, names) in Self.companions where owner != kind.key {
            for member in object.members where names.contains(member.key) {
                errors.add("\(member.key) is for \(owner): only; remove it here.", at: member.place)
            }
        }
        if kind.key == "tls" { return secureAddress(object, kind.value) }
        return errors.collect { [file] () throws(SourceError) in
            let text = try kind.value.string(kind.key)
            switch kind.key {
            case "unix":
                let path = PathText.resolve(
                    try PathText.check(text, "unix", at: kind.value.place), beside: file)
                let mode = try object["mode"].map { mode throws(SourceError) in try FileMode.read(mode) }
                let group = try object["group"].map { group throws(SourceError) in try group.string("group") }
                return ListenAddress(
                    .unix(path: path, mode: mode ?? FileMode.standard, group: group), at: kind.value.place)
            case "tcp":
                return try ListenText.tcp(text, at: kind.value.place)
            default:
                return try ListenText.systemd(text, at: kind.value.place)
            }
        }
    }

    private mutating func secureAddress(_ object: LocatedObject, _ address: LocatedValue) -> ListenAddress? {
        let certificate = path(object, "certificate")
        let key = path(object, "key")
        for (name, isThere) in [("certificate", object["certificate"]), ("key", object["key"])] {
            if isThere?.isNull ?? true {
                errors.add(
                    "TLS needs a certificate and its key; name the PEM file under \(name):.",
                    at: address.place)
            }
        }
        let clients = path(object, "clients")
        var requires = false
        if let value = object.given("require") {
            requires = errors.collect { () throws(SourceError) in try value.bool("require") } ?? false
            if requires, object.given("clients") == nil {
                errors.add(
                    "require asks every client for a certificate; name the file of who issues them under clients:.",
                    at: value.place)
            }
        }
        guard let certificate, let key else { return nil }
        let files = TLSFiles(
            certificate: certificate, key: key, clients: clients, requiresCertificate: requires)
        return errors.collect { () throws(SourceError) in
            try ListenText.tls(try address.string("tls"), files, at: address.place)
        }
    }

    // MARK: - Limits

    private mutating func read(_ value: LocatedValue, into limits: inout Limits) {
        guard let object = errors.collect({ () throws(SourceError) in try value.object("limits") }) else {
            return
        }
        errors.refuseMembers(of: object, besides: LimitReading.names, of: "limits")
        for member in object.members where LimitReading.names.contains(member.key) {
            if member.key == "user", !member.value.isNull {
                readUserLimits(member.value, into: &limits)
                continue
            }
            _ = errors.collect { () throws(SourceError) in
                try LimitReading.set(member.key, to: member.value, in: &limits)
            }
        }
    }

    private mutating func readUserLimits(_ value: LocatedValue, into limits: inout Limits) {
        guard let object = errors.collect({ () throws(SourceError) in try value.object("limits.user") })
        else {
            return
        }
        errors.refuseMembers(of: object, besides: LimitReading.userNames, of: "limits.user")
        for member in object.members {
            _ = errors.collect { () throws(SourceError) in
                try LimitReading.setForUser(member.key, to: member.value, in: &limits)
            }
        }
    }
}

extension LocatedObject {
    /// A member with a value: one without counts as absent.
    func given(_ key: String) -> LocatedValue? { self[key].flatMap { $0.isNull ? nil : $0 } }
}

/// Paths as written in the configuration.
enum PathText {
    /// Checks that the kernel accepts a path.
    static func check(_ path: String, _ name: String, at place: Place) throws(SourceError) -> String {
        if path.isEmpty { throw SourceError("\(name) is empty; write a path.", at: place) }
        if path.utf8.contains(0) {
            throw SourceError("\(name) has a zero byte in it; no path has one.", at: place)
        }
        return path
    }

    /// Paths in a file are relative to its directory, so that a configuration can be moved as a whole.
    static func resolve(_ path: String, beside file: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}

/// Collects all errors, so that an operator who made three mistakes starts the daemon twice and not four times.
struct ConfigurationErrors {
    private(set) var errors: [SourceError] = []

    mutating func add(_ error: SourceError) { errors.append(error) }
    mutating func add(_ message: String, at place: Place) { errors.append(SourceError(message, at: place)) }

    /// Adds why definitions do not fit the stores in the log, each reason where its type is defined, or else where the
    /// log is named.
    mutating func add(_ refusal: Redefinition.Refusal, of types: [any StateType], log: Place) {
        for (type, reason) in refusal.reasons {
            let declared = types.first { $0.name == type } as? DeclaredType
            add(reason, at: declared?.place ?? log)
        }
        if refusal.more > 0 { add("There are \(refusal.more) more errors of this kind.", at: log) }
    }

    /// Adds an error for each member that is not in `valid`; `owner` is what the object describes.
    mutating func refuseMembers(of object: LocatedObject, besides valid: [String], of owner: String) {
        errors += object.unknownKeys(besides: valid, of: owner)
    }

    /// The path that a member called `name` in messages holds, relative ones beside `file`; nil for none and for a wrong one.
    mutating func path(_ value: LocatedValue?, _ name: String, beside file: String) -> Located<String>? {
        guard let value else { return nil }
        return collect { () throws(SourceError) in
            let path = try PathText.check(try value.string(name), name, at: value.place)
            return Located(PathText.resolve(path, beside: file), at: value.place)
        }
    }

    var isEmpty: Bool { errors.isEmpty }

    /// The failure of a start with these errors.
    var failure: StartFailure { StartFailure(.configuration, errors.lines) }

    /// The value, or nil after recording the error.
    mutating func collect<Value>(_ body: () throws(SourceError) -> Value) -> Value? {
        errors.collect(body)
    }

    /// Adds the errors of a file, in the order of its lines.
    mutating func addSorted(_ more: ConfigurationErrors) {
        errors += more.errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    func throwIfAny() throws(StartFailure) {
        if !errors.isEmpty { throw failure }
    }
}

/// A value of the configuration and its source: a line of a file, a flag, or a variable.
package struct Located<Value: Sendable>: Sendable {
    package let value: Value
    package let place: Place

    package init(_ value: Value, at place: Place) {
        self.value = value
        self.place = place
    }
}

extension Located: Equatable where Value: Equatable {}

extension Place {
    /// A flag or variable, which has no lines.
    package init(name: String) { self.init(file: name, line: 0, column: 0) }
}
