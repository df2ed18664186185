import BusJSON
import BusProtocol

/// Reads the value as the type that it must have. `name` is what messages call the value: "limits.line".
extension LocatedValue {
    /// An error at this value's place in its file.
    package func failure(_ message: String) -> SourceError { SourceError(message, at: place) }

    package var isNull: Bool { if case .scalar(.null) = content { true } else { false } }

    /// What kind of value this is, with its article: "a string".
    package var kind: String {
        switch content {
        case .scalar(.null): "null"
        case .scalar(.bool): "a boolean"
        case .scalar(.int): "an integer"
        case .scalar(.double): "a number with a fraction"
        case .scalar: "a string"
        case .array: "a list"
        case .object: "an object"
        }
    }

    package func string(_ name: String) throws(SourceError) -> String {
        if case .scalar(.string(let text)) = content { return text }
        var message = "\(name) must be a string, not \(kind)"
        if case .scalar(let value) = content { message += "; write it in quotes: \"\(value)\"" }
        throw failure(message + ".")
    }

    package func bool(_ name: String) throws(SourceError) -> Bool {
        if case .scalar(.bool(let flag)) = content { return flag }
        throw mismatch(name, "true or false")
    }

    package func int(_ name: String, in range: ClosedRange<Int> = Int.min...Int.max) throws(SourceError)
        -> Int
    {
        guard case .scalar(.int(let number)) = content else { throw mismatch(name, "an integer") }
        guard range.contains(number) else {
            let bounds =
                range.upperBound == .max
                ? "at least \(range.lowerBound)" : "within \(range.lowerBound)...\(range.upperBound)"
            throw failure("\(name) must be \(bounds), not \(number).")
        }
        return number
    }

    /// A number, with or without a fraction.
    package func double(_ name: String) throws(SourceError) -> Double {
        if case .scalar(let value) = content, let number = value.double { return number }
        throw mismatch(name, "a number")
    }

    package func array(_ name: String) throws(SourceError) -> [LocatedValue] {
        if case .array(let elements) = content { return elements }
        throw mismatch(name, "a list")
    }

    package func strings(_ name: String) throws(SourceError) -> [String] {
        var texts: [String] = []
        for element in try array(name) { texts.append(try element.string("each element of \(name)")) }
        return texts
    }

    package func object(_ name: String) throws(SourceError) -> LocatedObject {
        if case .object(let object) = content { return object }
        throw mismatch(name, "an object")
    }

    /// A string that must be one of `words`.
    package func word(_ name: String, among words: [String]) throws(SourceError) -> String {
        let text = try string(name)
        if words.contains(where: { UTF8Order.equal($0, text) }) { return text }
        throw failure(FileWords.invalidValue(text, for: name, among: words))
    }

    private func mismatch(_ name: String, _ wanted: String) -> SourceError {
        failure("\(name) must be \(wanted), not \(kind).")
    }
}
