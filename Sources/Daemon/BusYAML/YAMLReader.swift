import BusJSON
import BusSource
internal import CYAML

/// Reads one YAML document by the 1.2 core schema and nothing beyond it: no aliases, tags, merge keys,
/// duplicate or non-string keys, and no second document. What is refused is refused with its place.
///
/// It takes the events of libyaml and builds no tree of nodes first: in such a tree aliases are already resolved (a few
/// lines can unfold to gigabytes).
struct YAMLReader: ~Copyable {
    private let source: SourceText
    /// On the heap, because libyaml keeps a pointer from the parser to itself.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let input: UnsafeMutableBufferPointer<UInt8>
    private var event = yaml_event_t()
    private let depthLimit: Int

    init(_ source: SourceText, depthLimit: Int) {
        self.source = source
        self.depthLimit = depthLimit
        input = .allocate(capacity: source.bytes.count)
        _ = input.initialize(from: source.bytes)
        parser = .allocate(capacity: 1)
        guard yaml_parser_initialize(parser) == 1 else {
            preconditionFailure("There is no memory for the YAML parser.")
        }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, UnsafePointer(input.baseAddress), input.count)
    }

    deinit {
        release(event)
        yaml_parser_delete(parser)
        parser.deallocate()
        input.deallocate()
    }

    /// Reads the whole stream: one document, or none, which is null.
    mutating func document() throws(SourceError) -> LocatedValue {
        try refuseOldLineBreaks()
        try advance()  // The start of the stream.
        try advance()
        guard event.type == YAML_DOCUMENT_START_EVENT else {
            return LocatedValue(.scalar(.null), at: Place(file: source.file, line: 1, column: 1))
        }
        try advance()
        let root = try value(levelsLeft: depthLimit)
        try advance()  // The end of the document.
        try advance()
        guard event.type == YAML_STREAM_END_EVENT else {
            throw failure("A second document starts here; put it into a file of its own.")
        }
        return root
    }

    /// Reads the value that the current event starts; afterwards its last event is the current one.
    /// `hasNumberedKeys`: the keys of an object may be integers, and are taken as their texts.
    private mutating func value(
        levelsLeft: Int, hasNumberedKeys: Bool = false
    ) throws(SourceError) -> LocatedValue {
        let place = here
        switch event.type {
        case YAML_ALIAS_EVENT:
            throw failure(
                "Aliases are not supported; write the value out, and a text that begins with * in quotes.")
        case YAML_SCALAR_EVENT:
            try refuse(anchor: event.data.scalar.anchor, tag: event.data.scalar.tag)
            return LocatedValue(.scalar(try scalar()), at: place)
        case YAML_SEQUENCE_START_EVENT:
            try refuse(anchor: event.data.sequence_start.anchor, tag: event.data.sequence_start.tag)
            guard levelsLeft > 0 else { throw failure(LocatedValue.tooDeep) }
            return LocatedValue(.array(try sequence(levelsLeft: levelsLeft - 1)), at: place)
        case YAML_MAPPING_START_EVENT:
            try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag)
            guard levelsLeft > 0 else { throw failure(LocatedValue.tooDeep) }
            let object = try mapping(
                at: place, levelsLeft: levelsLeft - 1, hasNumberedKeys: hasNumberedKeys)
            return LocatedValue(.object(object), at: place)
        default:
            throw failure("A value is missing here.")
        }
    }

    private mutating func sequence(levelsLeft: Int) throws(SourceError) -> [LocatedValue] {
        var elements: [LocatedValue] = []
        try advance()
        while event.type != YAML_SEQUENCE_END_EVENT {
            elements.append(try value(levelsLeft: levelsLeft))
            try advance()
        }
        return elements
    }

    private mutating func mapping(
        at place: Place, levelsLeft: Int, hasNumberedKeys: Bool
    ) throws(SourceError) -> LocatedObject {
        var members: [LocatedObject.Member] = []
        let isRoot = levelsLeft == depthLimit - 1
        try advance()
        while event.type != YAML_MAPPING_END_EVENT {
            let keyPlace = here
            let key = try key(mayBeNumber: hasNumberedKeys)
            try advance()
            // The steps of a migration are called as the versions they start from.
            let value = try value(levelsLeft: levelsLeft, hasNumberedKeys: isRoot && key == "migrate")
            members.append(.init(key: key, place: keyPlace, value: value))
            try advance()
        }
        return try LocatedObject(members, at: place)
    }

    private mutating func key(mayBeNumber: Bool) throws(SourceError) -> String {
        if event.type == YAML_ALIAS_EVENT { throw failure("Aliases are not supported; write the key out.") }
        if event.type == YAML_MAPPING_START_EVENT {
            try refuse(anchor: event.data.mapping_start.anchor, tag: event.data.mapping_start.tag)
        }
        guard event.type == YAML_SCALAR_EVENT else {
            throw failure("A key must be a string, not a list or an object.")
        }
        try refuse(anchor: event.data.scalar.anchor, tag: event.data.scalar.tag)
        let plain = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
        if plain && text() == "<<" {
            throw failure("Merge keys are not supported; write the members out.")
        }
        let value = try scalar()
        if case .string(let key) = value {
            if plain, let mistake = YAMLAdvice.mistake(ofKey: key, at: here, in: source) { throw mistake }
            return key
        }
        if mayBeNumber, case .int(let number) = value { return String(number) }
        let shown = text()
        throw failure(
            shown.isEmpty
                ? "A key is missing here." : "A key must be a string; write it in quotes: \"\(shown)\".")
    }

    private func scalar() throws(SourceError) -> JSON {
        guard event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE else { return .string(text()) }
        // A plain scalar without the right to be plain was given the tag `!`.
        guard event.data.scalar.plain_implicit == 1 else { throw failure(Self.taggedMessage) }
        do throws(CoreSchema.Refusal) {
            return try CoreSchema.resolve(text())
        } catch {
            throw failure(error.message)
        }
    }

    private func text() -> String {
        let bytes = UnsafeBufferPointer(start: event.data.scalar.value, count: event.data.scalar.length)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let taggedMessage =
        "Tags are not supported; a text or an operator that begins with ! stands in quotes, such as \"!state.on\"."

    private func refuse(
        anchor: UnsafeMutablePointer<UInt8>?, tag: UnsafeMutablePointer<UInt8>?
    ) throws(SourceError) {
        if anchor != nil {
            throw failure(
                "Anchors are not supported; write the value out where it is needed, and a text that begins with & in quotes."
            )
        }
        if tag != nil { throw failure(Self.taggedMessage) }
    }

    /// YAML 1.2 counts three characters as text that libyaml, a 1.1 parser, takes for line breaks.
    private func refuseOldLineBreaks() throws(SourceError) {
        let bytes = source.bytes
        for offset in bytes.indices where bytes[offset] == 0xc2 || bytes[offset] == 0xe2 {
            let rest = bytes[offset...]
            let found: String? =
                if rest.starts(with: [0xc2, 0x85]) {
                    "\\N"
                } else if rest.starts(with: [0xe2, 0x80, 0xa8]) {
                    "\\L"
                } else if rest.starts(with: [0xe2, 0x80, 0xa9]) {
                    "\\P"
                } else {
                    nil
                }
            guard let found else { continue }
            let message = "This invisible line separator is ambiguous; write it as \(found) in double quotes."
            throw SourceError(message, at: source.place(of: offset))
        }
    }

    private mutating func advance() throws(SourceError) {
        yaml_event_delete(&event)
        guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxFailure() }
    }

    private var here: Place { place(event.start_mark) }

    private func place(_ mark: yaml_mark_t) -> Place {
        Place(file: source.file, line: Int(mark.line) + 1, column: Int(mark.column) + 1)
    }

    private func failure(_ message: String) -> SourceError { SourceError(message, at: here) }

    private func syntaxFailure() -> SourceError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "the text can't be read"
        if parser.pointee.error == YAML_READER_ERROR {
            return SourceError(
                "This is not YAML: \(problem).", at: source.place(of: parser.pointee.problem_offset))
        }
        return YAMLAdvice(
            source, problem: problem, context: parser.pointee.context.map { String(cString: $0) } ?? "",
            at: place(parser.pointee.problem_mark), from: place(parser.pointee.context_mark)
        ).error
    }
}

/// Frees what an event holds; the reader's `deinit` may not change its own fields.
private func release(_ event: yaml_event_t) {
    var event = event
    yaml_event_delete(&event)
}
