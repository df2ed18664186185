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

    /// Whether expressions tell segments of it.
    var isComputed: Bool {
        if case .template(let template) = self { template.isComputed } else { false }
    }

    /// Compiles an expression that stands in a path, at a column of it; nil where texts are no expressions.
    typealias SegmentCompiler = (_ text: String, _ column: Int) throws(SourceError) -> ExpressionNode?

    /// Reads the dotted form: `items.{payload.id}.done`, `items.{"a.b"}.done`, `hours.{meta.hour}`.
    static func parse(
        _ text: String, payload: PayloadSchema, shape: JSONObject, at place: Place,
        expression: SegmentCompiler = { (_, _) throws(SourceError) in nil }
    ) throws(SourceError) -> WritePath {
        var segments: [PathTemplate.Segment] = []
        var column = 1
        for part in parts(of: text, payload: payload) {
            guard !part.isEmpty else {
                throw SourceError(
                    "The path \(text) has an empty segment; write keys separated by dots.", at: place)
            }
            if let key = literal(part) {
                segments.append(.key(key))
            } else if !part.contains("{") && !part.contains("}") {
                segments.append(.key(part))
            } else if part.hasPrefix(literalOpening) && !part.hasSuffix("}") {
                throw noKey(part, of: text, at: place)
            } else if isMember(part, of: payload) || !part.hasPrefix("{") || !part.hasSuffix("}") {
                segments.append(.payload(try member(part, of: text, payload: payload, at: place)))
            } else if let node = try expression(String(part.dropFirst().dropLast()), column + 1) {
                segments.append(known(node) ?? .expression(node, String(part.dropFirst().dropLast())))
            } else if part.hasPrefix(literalOpening) {
                throw noKey(part, of: text, at: place)
            } else {
                segments.append(.payload(try member(part, of: text, payload: payload, at: place)))
            }
            column += part.unicodeScalars.count + 1
        }
        guard segments.count <= longest else {
            throw SourceError(
                "The path \(text) has more than \(longest) segments; write a shorter one.", at: place)
        }
        let keys = segments.compactMap { if case .key(let key) = $0 { key } else { nil } }
        if keys.count < segments.count { return .template(PathTemplate(segments, text: text)) }
        return .fixed(StatePath(keys, hints: hints(keys, in: shape), isOfType: true))
    }

    private static func noKey(_ part: String, of text: String, at place: Place) -> SourceError {
        SourceError(
            "The segment \(part) of \(text) is not a key in quotes and braces; write {\"KEY\"}, a JSON string.",
            at: place)
    }

    /// The segment of an expression that depends on no data.
    private static func known(_ node: ExpressionNode) -> PathTemplate.Segment? {
        switch node.constant {
        case .string(let key)?: .key(key)
        case .int(let index)?: .key(String(index))
        default: nil
        }
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
        parts(of: text).contains { $0.hasPrefix(memberOpening) }
    }

    /// The parts between dots. Those in braces are keys in quotes and members of the payload, as paths had them first, or
    /// else expressions.
    private static func parts(of text: String, payload: PayloadSchema) -> [String] {
        let plain = parts(of: text)
        let isPlain = plain.allSatisfy { part in
            literal(part) != nil || !part.contains("{") && !part.contains("}") || isMember(part, of: payload)
        }
        return isPlain ? plain : partsWithExpressions(of: text)
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

    /// The same where expressions in braces may have braces and texts in either kind of quotes.
    private static func partsWithExpressions(of text: String) -> [String] {
        var parts = [""]
        var braces = BraceScanner()
        for scalar in text.unicodeScalars {
            _ = braces.take(scalar)
            if scalar == "." && braces.depth <= 0 {
                parts.append("")
            } else {
                parts[parts.count - 1].unicodeScalars.append(scalar)
            }
        }
        return parts
    }

    private static let literalOpening = "{\""
    private static let memberOpening = "{payload."

    /// `{"a.b"}`: one whole key, as a JSON string; nil for anything else.
    private static func literal(_ part: String) -> String? {
        guard part.hasPrefix(literalOpening), part.hasSuffix("\"}"),
            case .string(let key)? = try? JSON(parsing: Array(part.dropFirst().dropLast().utf8))
        else { return nil }
        return key
    }

    /// Whether a part is `{payload.NAME}`: a member that the payload has, or a name that it lacks and no more.
    private static func isMember(_ part: String, of payload: PayloadSchema) -> Bool {
        guard part.hasPrefix(memberOpening), part.hasSuffix("}") else { return false }
        let name = String(part.dropFirst(memberOpening.count).dropLast())
        return payload.member(name) != nil
            || name.utf8.allSatisfy {
                48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 || $0 == UInt8(ascii: "_")
            }
    }

    private static func member(
        _ part: String, of path: String, payload: PayloadSchema, at place: Place
    ) throws(SourceError) -> String {
        guard part.hasPrefix(memberOpening), part.hasSuffix("}"),
            part.utf8.count > memberOpening.utf8.count + 1
        else {
            throw SourceError("The segment \(part) of \(path) is not {payload.NAME}; write it so.", at: place)
        }
        let name = String(part.dropFirst(memberOpening.count).dropLast())
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
