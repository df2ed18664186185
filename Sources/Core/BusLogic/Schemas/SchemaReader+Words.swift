import BusJSON
import BusProtocol
import BusSource

extension SchemaReader {
    /// The single words of one schema.
    struct Reading {
        let object: LocatedObject
        let name: String
        let mistakes: Mistakes

        /// Whether a word may stand beside the type; adds the mistake if it stands there and may not.
        func expect(_ word: String, _ wanted: PayloadType, _ words: ValueSchema.Words) -> Bool {
            guard let member = object.member(word) else { return true }
            let types = words.types ?? [words.type]
            if types.contains(where: { $0 == wanted || wanted == .number && $0 == .integer }) { return true }
            let own = types.flatMap { SchemaReader.bounds(of: $0) }
            let list =
                own.dropLast().joined(separator: ", ") + (own.count > 1 ? " and " : "") + (own.last ?? "")
            let hint = own.isEmpty ? "leave it out." : "it takes \(list)."
            mistakes.add(
                "\(word) is for \(SchemaReader.plural(wanted)), and \(name) is \(ValueSchema(words).phrase); \(hint)",
                at: member.place)
            return false
        }

        func flag(_ word: String, _ take: (Bool) -> Void) {
            guard let source = object[word] else { return }
            if let flag = mistakes.collect({ () throws(SourceError) in try source.bool(word) }) { take(flag) }
        }

        func count(_ word: String, _ take: (Int) -> Void) {
            guard let source = object[word] else { return }
            if let count = mistakes.collect({ () throws(SourceError) in try source.int(word, in: 0...Int.max)
            }) {
                take(count)
            }
        }

        func numbers(_ words: inout ValueSchema.Words) {
            words.minimum = bound("minimum", words)
            words.maximum = bound("maximum", words)
            words.exclusiveMinimum = bound("exclusiveMinimum", words)
            words.exclusiveMaximum = bound("exclusiveMaximum", words)
            let schema = ValueSchema(words)
            guard let low = schema.lowest, let high = schema.highest,
                let member = object.member("minimum") ?? object.member("exclusiveMinimum")
            else { return }
            let order = low.number.compared(to: high.number)
            guard order > 0 || order == 0 && (low.isExclusive || high.isExclusive) else { return }
            let hint =
                low.isExclusive || high.isExclusive
                ? "No number is between the bounds of \(name); widen them."
                : "minimum is more than maximum, so nothing fits \(name); exchange them."
            mistakes.add(hint, at: member.place)
            (words.minimum, words.maximum, words.exclusiveMinimum, words.exclusiveMaximum) = (
                nil, nil, nil, nil
            )
        }

        private func bound(_ word: String, _ words: ValueSchema.Words) -> JSON? {
            guard let source = object[word], expect(word, .number, words) else { return nil }
            guard mistakes.collect({ () throws(SourceError) in try source.double(word) }) != nil else {
                return nil
            }
            return source.json
        }

        func texts(_ words: inout ValueSchema.Words) {
            if expect("minLength", .string, words) { count("minLength") { words.minLength = $0 } }
            if expect("maxLength", .string, words) { count("maxLength") { words.maxLength = $0 } }
            guard let least = words.minLength, let most = words.maxLength, least > most,
                let member = object.member("minLength")
            else { return }
            mistakes.add(
                "minLength is more than maxLength, so nothing fits \(name); exchange them.", at: member.place)
            (words.minLength, words.maxLength) = (nil, nil)
        }

        /// `minItems`, `maxItems`, `uniqueItems` and `overflow`.
        func counts(_ words: inout ValueSchema.Words) {
            if expect("minItems", .array, words) { count("minItems") { words.minItems = $0 } }
            if expect("maxItems", .array, words) { count("maxItems") { words.maxItems = $0 } }
            if expect("uniqueItems", .array, words) { flag("uniqueItems") { words.areUnique = $0 } }
            if let least = words.minItems, let most = words.maxItems, least > most,
                let member = object.member("minItems")
            {
                mistakes.add(
                    "minItems is more than maxItems, so nothing fits \(name); exchange them.",
                    at: member.place)
                (words.minItems, words.maxItems) = (nil, nil)
            }
            guard let source = object["overflow"], expect("overflow", .array, words),
                mistakes.collect({ () throws(SourceError) in
                    try source.word("overflow", among: ["dropOldest"])
                }) != nil
            else { return }
            guard words.maxItems != nil else {
                return mistakes.add(
                    "overflow says what happens beyond maxItems, which \(name) lacks; add it.",
                    at: source.place)
            }
            words.dropsOldest = true
        }

        /// `const`: an `enum` of one value.
        func constant(_ words: inout ValueSchema.Words) {
            guard let source = object["const"] else { return }
            if let member = object.member("enum") {
                return mistakes.add("\(name) has either const or enum; leave one out.", at: member.place)
            }
            if let problem = ValueSchema(words).problem(of: source.json, at: ["The const of \(name)"]) {
                mistakes.add("\(problem.sentence).", at: source.place)
            }
            words.choices = [source.json]
        }

        /// `enum`; each choice has to fit all other words.
        func choices(_ words: inout ValueSchema.Words) {
            guard let source = object["enum"],
                let elements = mistakes.collect({ () throws(SourceError) in try source.array("enum") })
            else { return }
            guard !elements.isEmpty else {
                return mistakes.add(
                    "enum lists no value, so nothing fits \(name); add some.", at: source.place)
            }
            let schema = ValueSchema(words)
            for element in elements {
                let value = element.json
                if value.isNull, words.type != .any {
                    mistakes.add(
                        "null does not fit \(words.type.rawValue); leave it out and write nullable: true.",
                        at: element.place)
                } else if let problem = schema.problem(of: value, at: ["Each value of enum"]) {
                    mistakes.add("\(problem.sentence).", at: element.place)
                }
            }
            words.choices = elements.map(\.json)
        }

        func fallback(_ source: LocatedValue, isPart: Bool, _ words: inout ValueSchema.Words) {
            let schema = ValueSchema(words)
            let value = schema.filled(source.json)
            if let problem = schema.problem(of: value, at: []) {
                let inner = problem.path.isEmpty ? "" : ".\(problem.place)"
                let hint = words.type == .boolean ? source.truthHint : ""
                mistakes.add("The default of \(name)\(inner) \(problem.reason)\(hint).", at: source.place)
                // What it is filled into would be wrong as well.
                if isPart { return }
            }
            words.fallback = value
        }
    }

    static func bounds(of type: PayloadType) -> [String] {
        switch type {
        case .integer, .number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        case .string: ["minLength", "maxLength"]
        case .array: ["items", "minItems", "maxItems", "uniqueItems", "overflow"]
        case .object: ["properties", "required", "values"]
        case .any, .boolean: []
        }
    }

    fileprivate static func plural(_ type: PayloadType) -> String {
        switch type {
        case .any: "any values"
        default: "\(type.rawValue)s"
        }
    }
}
