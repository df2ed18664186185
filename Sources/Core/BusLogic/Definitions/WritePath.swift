import BusJSON
import BusProtocol
import BusSource
import BusState

/// Where a write goes: known when the definition is loaded, or with segments that the payload names.
enum WritePath: Sendable {
    case fixed(StatePath)
    case template(PathTemplate)

    /// The dotted form, as the definition writes it.
    var text: String {
        switch self {
        case .fixed(let path): path.description
        case .template(let template): template.text
        }
    }

    var segments: [PathTemplate.Segment] {
        switch self {
        case .fixed(let path): path.segments.map { .key($0) }
        case .template(let template): template.segments
        }
    }

    /// Whether the payload's member names one of its segments.
    func reads(payload name: String) -> Bool {
        guard case .template(let template) = self else { return false }
        return template.segments.contains { segment in
            if case .payload(let member) = segment { UTF8Order.equal(member, name) } else { false }
        }
    }

    /// Whether a write of this kind makes members of the state whose names the payload says.
    func makesMembers(_ kind: WriteKind) -> Bool { kind == .set && first == nil && segments.count == 1 }

    /// The first segment; nil when the payload names it.
    var first: String? {
        switch self {
        case .fixed(let path): return path.segments[0]
        case .template(let template):
            if case .key(let name) = template.segments[0] { return name }
            return nil
        }
    }

    /// Reads the dotted form: `items.{payload.id}.done`, `items.{"a.b"}.done`.
    static func parse(
        _ text: String, payload: PayloadSchema, shape: JSONObject, at place: Place
    ) throws(SourceError) -> WritePath {
        var segments: [PathTemplate.Segment] = []
        for part in parts(of: text) {
            guard !part.isEmpty else {
                throw SourceError(
                    "The path \(text) has an empty segment; write keys separated by dots.", at: place)
            }
            if part.hasPrefix(literalOpening) {
                segments.append(.key(try literal(part, of: text, at: place)))
            } else if part.contains("{") || part.contains("}") {
                segments.append(.payload(try member(part, of: text, payload: payload, at: place)))
            } else {
                segments.append(.key(part))
            }
        }
        guard segments.count <= longest else {
            throw SourceError(
                "The path \(text) has more than \(longest) segments; write a shorter one.", at: place)
        }
        let keys = segments.compactMap { if case .key(let key) = $0 { key } else { nil } }
        if keys.count < segments.count { return .template(PathTemplate(segments, text: text)) }
        return .fixed(StatePath(keys, hints: hints(keys, in: shape), isOfType: true))
    }

    /// Where the keys stand in the initial state, as far as objects lead there.
    private static func hints(_ keys: [String], in shape: JSONObject) -> [Int] {
        var here: JSON? = .object(shape)
        return keys.map { key in
            guard case .object(let object)? = here else { return 0 }
            here = object[key]
            return object.position(of: key).index
        }
    }

    /// States nest no deeper than `Evaluation.deepestValue`, and a path can't lead deeper than they nest.
    private static let longest = 32

    /// Whether a path in its dotted form takes a segment from a payload.
    static func readsPayload(_ text: String) -> Bool {
        parts(of: text).contains {
            ($0.contains("{") || $0.contains("}")) && !$0.hasPrefix(literalOpening)
        }
    }

    /// The parts between dots, except that dots in braces divide nothing, nor do braces in quotes there.
    private static func parts(of text: String) -> [String] {
        var parts = [""]
        var (inBraces, inQuotes, isEscaped) = (false, false, false)
        for scalar in text.unicodeScalars {
            if inBraces, scalar == "\"", !isEscaped { inQuotes.toggle() }
            isEscaped = inQuotes && scalar == "\\" && !isEscaped
            if !inQuotes, scalar == "{" { inBraces = true }
            if !inQuotes, scalar == "}" { inBraces = false }
            if scalar == "." && !inBraces {
                parts.append("")
            } else {
                parts[parts.count - 1].unicodeScalars.append(scalar)
            }
        }
        return parts
    }

    private static let literalOpening = "{\""

    /// `{"a.b"}`: one whole key, as a JSON string.
    private static func literal(
        _ part: String, of path: String, at place: Place
    ) throws(SourceError) -> String {
        let text = Array(part.dropFirst().dropLast().utf8)
        guard part.hasSuffix("\"}"), case .string(let key)? = try? JSON(parsing: text) else {
            throw SourceError(
                "The segment \(part) of \(path) is not a key in quotes and braces; write {\"KEY\"}, a JSON string.",
                at: place)
        }
        return key
    }

    private static func member(
        _ part: String, of path: String, payload: PayloadSchema, at place: Place
    ) throws(SourceError) -> String {
        let opening = "{payload."
        guard part.hasPrefix(opening), part.hasSuffix("}"), part.utf8.count > opening.utf8.count + 1 else {
            throw SourceError("The segment \(part) of \(path) is not {payload.NAME}; write it so.", at: place)
        }
        let name = String(part.dropFirst(opening.count).dropLast())
        guard let member = payload.member(name) else {
            let hint =
                payload.members.isEmpty
                ? "the action declares no payload." : suggestion(for: name, among: payload.names)
            throw SourceError("payload.\(name) is not declared; \(hint)", at: place)
        }
        guard [.string, .integer, .any].contains(member.type) else {
            throw SourceError(
                "payload.\(name) is \(member.type.phrase), and a path takes a string or an integer.",
                at: place)
        }
        return name
    }
}
