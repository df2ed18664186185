import BusJSON
import BusLogic
import BusProtocol
import BusSystem
import Glibc

/// Reads an exported file line by line, and refuses one that is no export, damaged or cut short: nothing that it
/// returns is out of order or repeated, and no commit is missing between two that it returns, but those that the log does not keep. So endless input is
/// refused early, whatever it repeats.
package struct RecordingReader: ~Copyable {
    package let header: Recording.Header
    private let descriptor: Int32
    private let isOurs: Bool
    private let name: String
    private var lines: InputLines
    private var lineNumber = 1
    private var revision: Int
    private var commitsBegan = false
    /// Whether the log leaves out commits of some types.
    private var leavesOut = false
    /// The types and stores returned so far.
    private var given: Set<String> = []
    private let form: Int
    /// Whether its last line, which says so, has been read.
    private var hasEnded = false
    /// A commit that stands for several equal ones, and how many of them are still to be returned.
    private var repeated: (commit: JSON, count: Int)?

    /// The first line is short; a file without one within this length is no export.
    private static let longestHeader = 64 << 10
    /// An export holds no empty lines at all; a few may have been added by hand.
    private static let mostBlank = 64 << 10

    /// Opens `path`, or takes `input` for `-`, and reads the first line.
    package init(_ path: String, input: Int32) throws {
        if path == "-" {
            try self.init(descriptor: input, isOurs: false, name: "Standard input")
            return
        }
        guard let descriptor = FileReader.open(path) else {
            throw CommandFailure(
                .usage,
                "\(path) can't be read (\(systemReason())): check its path and mode."
            )
        }
        try self.init(descriptor: descriptor, isOurs: true, name: path)
    }

    private init(descriptor: Int32, isOurs: Bool, name: String) throws {
        self.descriptor = descriptor
        self.isOurs = isOurs
        self.name = name
        lines = InputLines(
            isOurs ? name : "standard input", longestLine: Self.longestHeader, mostBlank: Self.mostBlank)
        do {
            (header, form) = try Self.header(lines.line(from: descriptor), name: name)
        } catch {
            if isOurs { close(descriptor) }
            throw error
        }
        lines.longestLine = InputLines.longestRequest
        revision = header.base
    }

    deinit {
        if isOurs { close(descriptor) }
    }

    private static func header(
        _ line: [UInt8]?, name: String
    ) throws -> (Recording.Header, form: Int) {
        let object = line.flatMap { try? JSON(parsing: $0) }
        guard let object, object["fluxbus"]?.string == "export" else {
            throw CommandFailure(.refused, "\(name) is not an export of a bus: make one with fluxbus export.")
        }
        guard let form = object["form"]?.int, Recording.forms.contains(form) else {
            throw CommandFailure(
                .refused, "\(name) has a format that this fluxbus does not know: use a newer one.")
        }
        guard let epoch = object["epoch"]?.string, let base = object["revision"]?.int,
            let last = object["until"]?.int, base <= last
        else { throw CommandFailure(.refused, "The first line of \(name) is damaged: export it again.") }
        return (Recording.Header(epoch: epoch, base: base, last: last), form)
    }

    /// The next line; nil after the last.
    package mutating func next() throws -> Recording.Entry? {
        if let (commit, count) = repeated {
            repeated = count > 1 ? (commit, count - 1) : nil
            var next = commit.object ?? [:]
            next["revision"] = .int(revision + 1)
            return try entry(.object(next))
        }
        while let value = try value() {
            if hasEnded { throw damage("stands behind the end") }
            if value["end"] != nil {
                hasEnded = true
                continue
            }
            guard form == Recording.wholeForm else { return try entry(value) }
            if let entry = try whole(value) { return entry }
        }
        return nil
    }

    /// What a line of a whole log says; nil for what only a log needs.
    private mutating func whole(_ value: JSON) throws -> Recording.Entry? {
        switch value["kind"]?.string {
        case "type":
            if value["keep"] != nil { leavesOut = true }
            return try entry(["definition": value["definition"] ?? .null])
        case "store":
            let address = "\(value["type"]?.string ?? "")/\(value["name"]?.string ?? "")"
            return try entry(["store": .string(address), "state": value["state"] ?? .null])
        case nil where value["revision"] != nil:
            var commit = value.object ?? [:]
            if let times = value["times"]?.int {
                commit["times"] = nil
                if times > 1 { repeated = (.object(commit), times - 1) }
            }
            return try entry(.object(commit))
        default: return nil
        }
    }

    private mutating func value() throws -> JSON? {
        guard let line = try lines.line(from: descriptor) else {
            guard revision == header.last || leavesOut, hasEnded || form == Recording.form else {
                throw CommandFailure(
                    .refused,
                    "\(name) ends with revision \(revision) instead of \(header.last): get the whole file.")
            }
            return nil
        }
        lineNumber += 1
        guard let value = try? JSON(parsing: line, depthLimit: 256) else { throw damage("is not JSON") }
        return value
    }

    private mutating func entry(_ value: JSON) throws -> Recording.Entry {
        if let commit = RecordedCommit(value) {
            guard commit.revision == revision + 1 || leavesOut && commit.revision > revision,
                commit.revision <= header.last
            else {
                throw damage("holds revision \(commit.revision) where \(revision + 1) belongs")
            }
            revision = commit.revision
            leavesOut = leavesOut || Recording.leavesOut(value)
            commitsBegan = true
            return .commit(commit)
        }
        guard !commitsBegan else { throw damage("is not a commit") }
        if let definition = value["definition"] {
            let type = definition["type"]?.string ?? ""
            leavesOut = leavesOut || definition.logReach != .whole
            guard given.insert(type).inserted else { throw damage("has a duplicate type \(type)") }
            return .definition(definition)
        }
        if let address = value["store"]?.string, let state = value["state"]?.object {
            guard given.insert(address).inserted else { throw damage("has a duplicate store \(address)") }
            return .store(address: address, state: state)
        }
        throw damage("is neither definition, store nor commit")
    }

    private func damage(_ what: String) -> CommandFailure {
        CommandFailure(.refused, "Line \(lineNumber) of \(name) \(what): export it again.")
    }
}

extension InputLines {
    /// The next line, awaited; nil at the end.
    fileprivate mutating func line(from descriptor: Int32) throws -> [UInt8]? {
        while true {
            if let line = try next() { return line }
            if hasEnded { return nil }
            try read(descriptor)
        }
    }
}

/// The file that `export` writes and `import` and `replay` read: what a bus was at one revision, and every commit after
/// it. NDJSON, in this order:
///
///     {"fluxbus":"export","form":1,"epoch":"…","revision":BASE,"until":LAST}
///     {"definition":{"type":"counter",…}}            each state type at BASE
///     {"store":"counter/kitchen","state":{…}}        each store at BASE
///     {"revision":BASE+1,"time":…,"by":…,"actions":[…]}   each commit through LAST, as `history` gives it
///
/// Where a type has a `log:` rule, or had one between BASE and LAST, so that the log leaves commits out, the form is 3, and the last
/// line is `{"end":LAST}`.
///
/// A faithful one has all that the log holds instead: the records of its oldest snapshot, its entries as they stand there, and
/// `{"end":LINES}`, of which the log of another bus is made.
package enum Recording {
    /// The forms of file that this version writes and reads.
    static let form = 1
    static let wholeForm = 2
    static let formWithEnd = 3
    static let forms = [form, wholeForm, formWithEnd]

    /// Whether commits may be left out from one on, because the log does not keep all types from there.
    static func leavesOut(_ commit: JSON) -> Bool {
        (commit["definitions"]?.array ?? []).contains { $0.logReach != .whole }
    }

    /// The first line.
    package struct Header: Equatable {
        /// The history that the revisions belong to.
        package var epoch: String
        /// The revision of the definitions and states.
        package var base: Int
        /// The last commit's revision; the base's when there are no commits.
        package var last: Int

        /// Commits in the file.
        var count: Int { last - base }

        /// The line; its members are in this order, so that `head -1` and `file` first show what it is.
        func line(form: Int) -> String {
            "{\"fluxbus\":\"export\",\"form\":\(form),\"epoch\":\(JSON.string(epoch).encoded),\"revision\":\(base),\"until\":\(last)}\n"
        }

        package init(epoch: String, base: Int, last: Int) {
            self.epoch = epoch
            self.base = base
            self.last = last
        }
    }

    /// One line after the first.
    package enum Entry {
        case definition(JSON)
        case store(address: String, state: JSONObject)
        case commit(RecordedCommit)
    }
}

/// One commit as recorded in the log.
package struct RecordedCommit {
    package let revision: Int
    /// When it was committed, in milliseconds since 1970.
    let time: Int
    /// The whole entry of the log.
    let line: JSON

    /// Nil when the line has no revision or time, so that it is no commit.
    init?(_ line: JSON) {
        guard let revision = line["revision"]?.int, let time = CommitText.milliseconds(of: line) else {
            return nil
        }
        self.revision = revision
        self.time = time
        self.line = line
    }

    /// The actions in order, each as in a request to dispatch it.
    var actions: [JSON] { (line["actions"]?.array ?? []).map(\.asRequested) }
    /// Of a batch that created or dropped stores: how its elements follow one another, as numbers of actions, and requests.
    var steps: [JSON]? { line["steps"]?.array }
    /// Stores that it created, with their states.
    var created: JSONObject { line["created"]?.object ?? [:] }
    /// Addresses of stores that it dropped.
    var dropped: [String] { (line["dropped"]?.array ?? []).compactMap(\.string) }
    /// The definitions that came into force with it: new ones and changed ones.
    var definitions: [JSON] { line["definitions"]?.array ?? [] }
    /// Names of the types removed by it.
    var undefined: [String] { (line["undefined"]?.array ?? []).compactMap(\.string) }
    /// Whether it changed definitions.
    var redefines: Bool { !definitions.isEmpty || !undefined.isEmpty }
    /// The store that it reverted, and to which revision; nil when it was no revert.
    var reverted: (store: String, to: Int)? {
        guard let reverted = line["reverted"], let store = reverted["store"]?.string else { return nil }
        return (store, reverted["to"]?.int ?? 0)
    }
    /// States that did not come from actions: of reverted stores, and of those changed by new definitions.
    var states: JSONObject { line["states"]?.object ?? [:] }
    /// No client caused it.
    var isByDaemon: Bool { line["by"]?["daemon"]?.bool == true }
    /// The user who caused it, where the kernel reported one.
    var uid: Int? { line["by"]?["uid"]?.int }
}

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
