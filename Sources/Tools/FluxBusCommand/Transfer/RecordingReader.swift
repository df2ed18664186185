import BusJSON

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Reads an exported file line by line, and refuses one that is no export, damaged or cut short: nothing that it
/// returns is out of order or repeated, and no commit is missing between two that it returns. So endless input is
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
    /// The types and stores returned so far.
    private var given: Set<String> = []

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
                "\(path) can't be read (\(String(cString: strerror(errno)))): check its path and mode."
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
            header = try Self.header(lines.line(from: descriptor), name: name)
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

    private static func header(_ line: [UInt8]?, name: String) throws -> Recording.Header {
        let object = line.flatMap { try? JSON(parsing: $0) }
        guard let object, object["fluxbus"]?.string == "export" else {
            throw CommandFailure(.refused, "\(name) is not an export of a bus: make one with fluxbus export.")
        }
        guard object["form"]?.int == Recording.form else {
            throw CommandFailure(
                .refused, "\(name) has a format that this fluxbus does not know: use a newer one.")
        }
        guard let epoch = object["epoch"]?.string, let base = object["revision"]?.int,
            let last = object["until"]?.int, base <= last
        else { throw CommandFailure(.refused, "The first line of \(name) is damaged: export it again.") }
        return Recording.Header(epoch: epoch, base: base, last: last)
    }

    /// The next line; nil after the last.
    package mutating func next() throws -> Recording.Entry? {
        guard let line = try lines.line(from: descriptor) else {
            guard revision == header.last else {
                throw CommandFailure(
                    .refused,
                    "\(name) ends with revision \(revision) instead of \(header.last): get the whole file.")
            }
            return nil
        }
        lineNumber += 1
        guard let value = try? JSON(parsing: line, depthLimit: 256) else { throw damage("is not JSON") }
        if let commit = RecordedCommit(value) {
            guard commit.revision == revision + 1, revision < header.last else {
                throw damage("holds revision \(commit.revision) where \(revision + 1) belongs")
            }
            revision = commit.revision
            commitsBegan = true
            return .commit(commit)
        }
        guard !commitsBegan else { throw damage("is not a commit") }
        if let definition = value["definition"] {
            let type = definition["type"]?.string ?? ""
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
