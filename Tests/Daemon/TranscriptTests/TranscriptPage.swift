import BusEngine
import BusJSON
import Foundation
import TestFiles
import TestSupport

/// Reads the transcripts out of a page.
struct TranscriptPage {
    /// The pages that have transcripts.
    enum Source: String, CaseIterable {
        case wire = "Sources/Core/BusProtocol/BusProtocol.docc/Protocol.md"
        case types = "Sources/Core/BusLogic/BusLogic.docc/Types.md"
    }

    struct Mistake: Error, CustomStringConvertible { let description: String }

    static func transcripts() throws -> [Transcript] {
        try Source.allCases.flatMap { try transcripts(of: $0) }
    }

    static func transcripts(of source: Source) throws -> [Transcript] {
        let name = source.rawValue.split(separator: "/").last.map(String.init) ?? ""
        return try transcripts(in: Repository.text(source.rawValue), name: name)
    }

    static func transcripts(in text: String, name: String) throws -> [Transcript] {
        var page = TranscriptPage(name: name)
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            do {
                try page.take(line, number: index + 1)
            } catch {
                throw Mistake(description: "\(name):\(index + 1): \(error)")
            }
        }
        guard page.fence == nil else { throw Mistake(description: "A block of the page does not end.") }
        return page.transcripts
    }

    private let name: String
    private var transcripts: [Transcript] = []
    private var heading = ""
    private var fence: String?
    private var current = Transcript(page: "", title: "")
    private var definition = ""
    private var definitions: [String] = []
    private var laterDefinitions: [String] = []

    private init(name: String) { self.name = name }

    private mutating func take(_ line: Substring, number: Int) throws {
        if line.hasPrefix("```") {
            if fence == nil { open(String(line.dropFirst(3))) } else { try close() }
        } else if fence == "transcript" {
            try takeStep(String(line), number: number)
        } else if fence == "types" || fence == "types later" {
            definition += line + "\n"
        } else if fence == nil, line.hasPrefix("#") {
            heading = line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces)
            (definitions, laterDefinitions) = ([], [])
        }
    }

    private mutating func open(_ tag: String) {
        fence = tag
        definition = ""
        current = Transcript(page: name, title: heading)
        (current.definitions, current.laterDefinitions) = (definitions, laterDefinitions)
    }

    private mutating func close() throws {
        defer { fence = nil }
        if fence == "types" {
            definitions.append(definition)
        } else if fence == "types later" {
            laterDefinitions.append(definition)
        } else if fence == "transcript" {
            guard !current.lines.isEmpty else { throw Mistake(description: "This transcript is empty.") }
            guard !transcripts.contains(where: { $0.title == heading }) else {
                throw Mistake(
                    description: "\"\(heading)\" has a transcript already; give this one a heading.")
            }
            transcripts.append(current)
        }
    }

    private mutating func takeStep(_ line: String, number: Int) throws {
        if line.isEmpty || line.hasPrefix("#") { return }
        if line.hasPrefix("= ") {
            return try takeSetup(line.dropFirst(2).split(separator: " ").map(String.init))
        }
        let ofBus: [String: Transcript.Step] = ["bus! shutdown": .shutdown, "bus! new types": .newTypes]
        if let step = ofBus[line] {
            current.lines.append(.init(number: number, step: step))
            return
        }
        guard let client = line.first, client.isUppercase, line.dropFirst(2).first == " " else {
            throw Mistake(description: "\"\(line)\" is no line of a transcript.")
        }
        let rest = Self.expanded(String(line.dropFirst(3)))
        let step: Transcript.Step
        switch (line.dropFirst().first, rest) {
        case (">", _): step = Self.sending(rest, by: client)
        case ("<", _): step = .receive(client, try JSON(parsing: rest))
        case ("!", "close"): step = .close(client)
        case ("!", "closed"): step = .closed(client)
        default: throw Mistake(description: "\"\(line)\" is no line of a transcript.")
        }
        current.lines.append(.init(number: number, step: step))
    }

    /// `1000 × {…}`, or a line as it is.
    private static func sending(_ text: String, by client: Character) -> Transcript.Step {
        let parts = text.components(separatedBy: " × ")
        if parts.count == 2, let times = Int(parts[0]) { return .send(client, parts[1], times: times) }
        return .send(client, text, times: 1)
    }

    private mutating func takeSetup(_ words: [String]) throws {
        switch (words.first, words.dropFirst()) {
        case ("stores", let stores): current.stores += stores
        case ("log", let rest) where rest.isEmpty: current.hasLog = true
        case ("tcp", let clients): current.tcp.formUnion(clients.map { Character($0) })
        case ("limits", let rest) where rest.count == 2:
            guard let limit = Self.limits[words[1]], let value = Int(words[2]) else { fallthrough }
            current.limits[keyPath: limit] = value
            current.limitTexts.append("\(words[1])=\(value)")
        default: throw Mistake(description: "\"= \(words.joined(separator: " "))\" sets up nothing known.")
        }
    }

    private static let limits: [String: WritableKeyPath<Limits, Int> & Sendable] = [
        "line": \.daemon.line, "depth": \.daemon.depth, "state": \.bus.state, "stores": \.bus.stores,
        "outbox": \.daemon.outbox,
        "subscriptions": \.daemon.subscriptions, "batch": \.bus.batch, "commit": \.bus.commit,
        "memory": \.daemon.memory,
    ]

    /// Replaces `x×200` by that many letters.
    private static func expanded(_ text: String) -> String {
        text.replacing(/(.)×(\d+)/) { match in
            String(repeating: String(match.1), count: Int(match.2) ?? 0)
        }
    }
}
