import BusLog
import BusProtocol
import BusSource

/// Reads `log:` of the configuration.
struct LogReading {
    private(set) var errors = ConfigurationErrors()
    private let file: String

    init(file: String) { self.file = file }

    private static let members = ["path", "sync", "retain"]
    private static let bounds = ["commits", "age", "bytes"]
    static let settings = members.flatMap { $0 == "retain" ? bounds.map { "retain.\($0)" } : [$0] }
    private static let modes = ["always", "interval", "never"]

    mutating func settings(_ value: LocatedValue) -> LogSettings? {
        guard let object = errors.collect({ () throws(SourceError) in try value.object("log") }) else {
            return nil
        }
        errors.refuseMembers(of: object, besides: Self.members, of: "log")
        guard let path = object.given("path") else {
            errors.add(
                "log: needs path:, the file to keep the log in, such as /var/lib/fluxbus/bus.sqlite.",
                at: value.place)
            return nil
        }
        guard let located = errors.path(path, "log.path", beside: file) else { return nil }
        var settings = LogSettings(path: located)
        if let sync = object.given("sync") {
            _ = errors.collect { () throws(SourceError) in
                settings.sync = try Self.mode(try sync.string("log.sync"), at: sync.place)
            }
        }
        if let retain = object.given("retain") { read(retain, into: &settings.retain) }
        return settings
    }

    private mutating func read(_ value: LocatedValue, into retention: inout Retention) {
        guard let object = errors.collect({ () throws(SourceError) in try value.object("log.retain") })
        else { return }
        errors.refuseMembers(of: object, besides: Self.bounds, of: "log.retain")
        for member in object.members where Self.bounds.contains(member.key) && !member.value.isNull {
            _ = errors.collect { () throws(SourceError) in
                let name = "log.retain.\(member.key)"
                let number: Int
                switch member.key {
                case "commits": number = try member.value.int(name)
                case "bytes": number = try ByteCount.read(member.value, name)
                default: number = try AgeText.read(member.value, name)
                }
                guard number >= 1 else {
                    throw member.value.failure("\(name) must be at least 1; leave it out for the default.")
                }
                switch member.key {
                // Files from before may have it; it has no effect, because a flood of commits would wipe the history.
                case "commits": break
                case "bytes": retention.bytes = number
                default: retention.age = number
                }
            }
        }
    }

    // MARK: - Flags and variables

    static func settings(path: Located<String>, over settings: LogSettings?) -> LogSettings {
        guard var settings else { return LogSettings(path: path) }
        settings.path = path
        return settings
    }

    static func set(sync: Located<String>, in settings: inout LogSettings?) throws(SourceError) {
        let mode = try mode(sync.value, at: sync.place)
        guard settings != nil else {
            throw SourceError("There is no log to sync; name its file with --log.", at: sync.place)
        }
        settings?.sync = mode
    }

    private static func mode(_ text: String, at place: Place) throws(SourceError) -> SyncMode {
        guard let mode = SyncMode(rawValue: text) else {
            throw SourceError(
                FileWords.invalidValue(text, for: "sync", among: modes), at: place)
        }
        return mode
    }
}

/// Lengths of time of the configuration, with their units: `90s`, `30m`, `12h`, `30d`, `2w`.
enum AgeText {
    /// In milliseconds; `such` shows some in messages.
    static func read(
        _ value: LocatedValue, _ name: String, such examples: String = "12h or 30d"
    ) throws(SourceError) -> Int {
        // A bare number may be meant in seconds or in days.
        guard case .scalar(.string(let text)) = value.content, text.utf8.last.map({ $0 > 57 }) ?? false,
            let age = DurationText.milliseconds(text)
        else {
            if case .scalar(.string) = value.content {
                throw value.failure(
                    "\(name) must be a length of time such as \(examples); the units are ms, s, m, h, d and w."
                )
            }
            throw value.failure("\(name) must be a length of time such as \(examples), not \(value.kind).")
        }
        return age
    }
}

/// The settings under `log:`.
package struct LogSettings: Sendable {
    /// The log's file.
    package var path: Located<String>
    /// What must be on disk before any output is sent.
    package var sync = SyncMode.always
    /// How much of the past is kept.
    package var retain = Retention(age: 30 * 86_400_000, bytes: 1 << 30)

    /// The shortest time between two snapshots that are taken because the last one is old, in milliseconds. No file names it.
    package var look = 3_600_000

    package init(path: Located<String>) { self.path = path }

    /// All of it by name, to see what has changed.
    var values: KeyValuePairs<String, String> {
        [
            "path": path.value, "sync": sync.rawValue, "retain.age": "\(retain.age)",
            "retain.bytes": "\(retain.bytes)",
        ]
    }
}
