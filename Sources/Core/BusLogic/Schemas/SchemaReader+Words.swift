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
        func expect(_ word: String, _ wanted: PayloadType, _ type: PayloadType) -> Bool {
            guard let member = object.member(word) else { return true }
            if type == wanted || wanted == .number && type == .integer { return true }
            let own = SchemaReader.bounds(of: type)
            let hint = own.isEmpty ? "leave it out." : "it takes \(own.joined(separator: " and "))."
            mistakes.add(
                "\(word) is for \(SchemaReader.plural(wanted)), and \(name) is \(type.phrase); \(hint)",
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
            words.minimum = bound("minimum", words.type)
            words.maximum = bound("maximum", words.type)
            guard let low = words.minimum?.scalarNumber, let high = words.maximum?.scalarNumber,
                low.compared(to: high) > 0, let member = object.member("minimum")
            else { return }
            mistakes.add(
                "minimum is more than maximum, so nothing fits \(name); exchange them.", at: member.place)
            (words.minimum, words.maximum) = (nil, nil)
        }

        private func bound(_ word: String, _ type: PayloadType) -> JSON? {
            guard let source = object[word], expect(word, .number, type) else { return nil }
            guard mistakes.collect({ () throws(SourceError) in try source.double(word) }) != nil else {
                return nil
            }
            return source.json
        }

        func texts(_ words: inout ValueSchema.Words) {
            if expect("minLength", .string, words.type) { count("minLength") { words.minLength = $0 } }
            if expect("maxLength", .string, words.type) { count("maxLength") { words.maxLength = $0 } }
            guard let least = words.minLength, let most = words.maxLength, least > most,
                let member = object.member("minLength")
            else { return }
            mistakes.add(
                "minLength is more than maxLength, so nothing fits \(name); exchange them.", at: member.place)
            (words.minLength, words.maxLength) = (nil, nil)
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

        func fallback(_ source: LocatedValue, _ words: inout ValueSchema.Words) {
            let value = source.json
            if let problem = ValueSchema(words).problem(of: value, at: []) {
                let inner = problem.path.isEmpty ? "" : ".\(problem.place)"
                mistakes.add("The default of \(name)\(inner) \(problem.reason).", at: source.place)
            }
            words.fallback = value
        }
    }

    fileprivate static func bounds(of type: PayloadType) -> [String] {
        switch type {
        case .integer, .number: ["minimum", "maximum"]
        case .string: ["minLength", "maxLength"]
        case .array: ["items", "maxItems"]
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
