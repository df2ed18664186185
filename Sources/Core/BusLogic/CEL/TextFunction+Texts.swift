import BusJSON

/// Functions on texts, which count Unicode scalars.
extension TextFunction {
    static let texts: [TextFunction] = [
        .init("contains", .method, [.text, .text], .kinds(.bool), contains),
        .init("startsWith", .method, [.text, .text], .kinds(.bool), startsWith),
        .init("endsWith", .method, [.text, .text], .kinds(.bool), endsWith),
        .init("charAt", .method, [.text, .int], .kinds(.text), charAt),
        .init("indexOf", .method, [.text, .text, .int], optional: 1, .kinds(.int), indexOf),
        .init("lastIndexOf", .method, [.text, .text, .int], optional: 1, .kinds(.int), lastIndexOf),
        .init("join", .method, [.list, .text], optional: 1, .kinds(.text), join),
        .init("lowerAscii", .method, [.text], .kinds(.text), lowerAscii),
        .init("upperAscii", .method, [.text], .kinds(.text), upperAscii),
        .init("replace", .method, [.text, .text, .text, .int], optional: 1, .kinds(.text), replace),
        .init("split", .method, [.text, .text, .int], optional: 1, .kinds(.list), split),
        .init("substring", .method, [.text, .int, .int], optional: 1, .kinds(.text), substring),
        .init("trim", .method, [.text], .kinds(.text), trim),
        .init("format", .method, [.text, .list], .kinds(.text), format),
        .init("strings.quote", .global, [.text], .kinds(.text), quote),
    ]

    // MARK: Looking

    private static func contains(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let part = given.second.string ?? ""
        if part.utf8.isEmpty { return true }
        return .bool(try evaluation.offset(of: part, in: given.first.string ?? "", from: 0) != nil)
    }

    private static func startsWith(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let part = given.second.string ?? ""
        try evaluation.spend(part.utf8.count >> 6)
        return .bool((given.first.string ?? "").utf8.starts(with: part.utf8))
    }

    private static func endsWith(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let part = given.second.string ?? ""
        try evaluation.spend(part.utf8.count >> 6)
        return .bool((given.first.string ?? "").utf8.reversed().starts(with: part.utf8.reversed()))
    }

    /// The scalars of a text, which is gone through for them.
    static func scalars(
        _ value: JSON, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> String.UnicodeScalarView {
        let text = value.string ?? ""
        try evaluation.spend(text.utf8.count >> 4)
        return text.unicodeScalars
    }

    private static func charAt(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = try scalars(given.first, &evaluation)
        let index = given.second.int ?? 0
        guard 0...scalars.count ~= index else { throw outside(index, "charAt") }
        return .string(scalars.dropFirst(index).first.map { String($0) } ?? "")
    }

    private static func outside(_ index: Int, _ name: String) -> EvaluationFailure {
        .failed("\(name) was given the index \(index), which is outside of the text")
    }

    private static func indexOf(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = try scalars(given.first, &evaluation)
        let start = given.third.int ?? 0
        guard start >= 0 else { throw outside(start, "indexOf") }
        let part = given.second.string ?? ""
        if part.utf8.isEmpty { return .int(start) }
        guard start < scalars.count else { return -1 }
        let text = String(scalars)
        let bytes = scalars.prefix(start).reduce(0) { $0 + UTF8.width($1) }
        guard let offset = try evaluation.offset(of: part, in: text, from: bytes) else { return -1 }
        return .int(text.bytes(0..<offset).unicodeScalars.count)
    }

    private static func lastIndexOf(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = Array(try scalars(given.first, &evaluation))
        let part = Array(try Self.scalars(given.second, &evaluation))
        let last = given.third.int ?? scalars.count
        guard last >= 0 else { throw outside(last, "lastIndexOf") }
        if part.isEmpty { return .int(last) }
        if given.count > 2, last >= scalars.count { return -1 }
        var start = min(last, scalars.count - part.count)
        var compared = 0
        while start >= 0 {
            var length = 0
            while length < part.count, scalars[start + length] == part[length] { length += 1 }
            if length == part.count { return .int(start) }
            compared += length + 1
            if compared >= 64 {
                try evaluation.spend(compared >> 6)
                compared &= 63
            }
            start -= 1
        }
        return -1
    }

    // MARK: Making

    private static func made(
        _ text: String, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> JSON {
        try evaluation.produce(text.utf8.count)
        return .string(text)
    }

    private static func join(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let separator = given.second.string ?? ""
        var text = ""
        for (index, element) in (given.first.array ?? []).enumerated() {
            try evaluation.spend()
            guard case .string(let part) = element else {
                throw .failed("join needs a list of texts, and one element is \(element.kind)")
            }
            if index > 0 { text += separator }
            try evaluation.produce(part.utf8.count + separator.utf8.count)
            text += part
        }
        return .string(text)
    }

    private static func lowerAscii(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        try mapped(given, &evaluation) { 65...90 ~= $0 ? $0 | 0x20 : $0 }
    }

    private static func upperAscii(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        try mapped(given, &evaluation) { 97...122 ~= $0 ? $0 & ~0x20 : $0 }
    }

    private static func mapped(
        _ given: Arguments, _ evaluation: inout Evaluation, _ change: (UInt8) -> UInt8
    ) throws(EvaluationFailure) -> JSON {
        let bytes = (given.first.string ?? "").utf8
        try evaluation.spend(bytes.count >> 4)
        return try made(String(decoding: bytes.map(change), as: UTF8.self), &evaluation)
    }

    /// Where the parts of a text end and begin between the occurrences of a separator, at most `limit` of these; an empty
    /// one stands before each scalar.
    private static func parts(
        of text: String, between separator: String, limit: Int, _ evaluation: inout Evaluation
    ) throws(EvaluationFailure) -> [Substring] {
        var parts: [Substring] = []
        var end = 0
        if separator.utf8.isEmpty {
            for scalar in text.unicodeScalars where parts.count < limit {
                try evaluation.spend()
                let width = UTF8.width(scalar)
                parts.append(text.bytes(end..<(end + width)))
                end += width
            }
        } else {
            while parts.count < limit, let start = try evaluation.offset(of: separator, in: text, from: end) {
                try evaluation.spend()
                parts.append(text.bytes(end..<start))
                end = start + separator.utf8.count
            }
        }
        parts.append(text.bytes(end..<text.utf8.count))
        return parts
    }

    private static func replace(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let text = given.first.string ?? ""
        let part = given.second.string ?? ""
        let replacement = given.third.string ?? ""
        let limit = given.rest.first?.int ?? -1
        var pieces = try parts(of: text, between: part, limit: limit < 0 ? .max : limit, &evaluation)
        if part.utf8.isEmpty, limit != 0 {
            // Before each scalar, and behind the last.
            pieces.insert("", at: 0)
            if limit > 0, pieces.count - 1 > limit {
                let rest = pieces.suffix(pieces.count - limit).joined()
                pieces = pieces.prefix(limit) + [Substring(rest)]
            }
        }
        try evaluation.produce(text.utf8.count + (pieces.count - 1) * replacement.utf8.count)
        return .string(pieces.joined(separator: replacement))
    }

    private static func split(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let text = given.first.string ?? ""
        let separator = given.second.string ?? ""
        let limit = given.third.int ?? -1
        if limit == 0 { return [] }
        var pieces = try parts(
            of: text, between: separator, limit: limit < 0 ? .max : limit - 1, &evaluation)
        // Between scalars there is nothing behind the last.
        if separator.utf8.isEmpty, pieces.last?.utf8.isEmpty == true { pieces.removeLast() }
        var parts: [JSON] = []
        for piece in pieces {
            let part = JSON.string(String(piece))
            try evaluation.produce(element: part)
            parts.append(part)
        }
        return .array(parts)
    }

    private static func substring(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = try scalars(given.first, &evaluation)
        let count = scalars.count
        let start = given.second.int ?? 0
        let end = given.third.int ?? count
        guard 0...count ~= start else { throw outside(start, "substring") }
        guard 0...count ~= end else { throw outside(end, "substring") }
        guard start <= end else {
            throw .failed("substring was given a start, \(start), behind its end, \(end)")
        }
        return try made(String(scalars.dropFirst(start).prefix(end - start)), &evaluation)
    }

    private static func trim(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let text = given.first.string ?? ""
        try evaluation.spend(text.utf8.count >> 4)
        return try made(RewritingNode.trimmed(text), &evaluation)
    }

    private static func quote(
        _ evaluation: inout Evaluation, _ given: Arguments
    ) throws(EvaluationFailure) -> JSON {
        let scalars = try scalars(given.first, &evaluation)
        var text = "\""
        for scalar in scalars {
            switch scalar {
            case "\u{7}": text += "\\a"
            case "\u{8}": text += "\\b"
            case "\u{b}": text += "\\v"
            case "\u{c}": text += "\\f"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return try made(text + "\"", &evaluation)
    }
}
