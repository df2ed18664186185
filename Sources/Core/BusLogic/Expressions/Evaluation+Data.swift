import BusJSON

/// What the first segment of a path leads into.
enum DataScope: Sendable {
    /// `{state, payload, store, meta, stores}`; `stores` shows the stores of the types that are waited for.
    case action(waitFor: [String])
    /// The state itself: computed values.
    case state
    /// `{state}`: the state that a migration starts from.
    case migration
    /// The element of an iteration, the error of a `try`, or the data of a free-standing expression.
    case element
    /// `{current, accumulator}`.
    case reduction
}

/// The data of expressions, found by name.
extension Evaluation {
    /// The value at a computed path, as `var` takes it: null and the empty text mean all data.
    mutating func find(path: JSON, in scope: DataScope) throws(EvaluationFailure) -> JSON? {
        if case .null = path { return try find([], in: scope) }
        let text = try text(of: path)
        if text.utf8.isEmpty { return try find([], in: scope) }
        try spend(text.utf8.count >> 4)
        try read(text.utf8.count)
        // No data nests as deeply, so a longer path leads nowhere, and no keys are made of it.
        guard text.utf8.count(where: { $0 == UInt8(ascii: ".") }) < Self.longestPath else { return nil }
        return try find(Self.keys(of: text), in: scope)
    }

    /// In segments: twice as many as a state nests, which has room for what is around it.
    private static let longestPath = 2 * deepestValue

    /// The segments of a dotted path.
    static func keys(of path: String) -> [ReadKey] {
        path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
            ReadKey(String(Substring($0)))
        }
    }

    mutating func find(_ keys: [ReadKey], in scope: DataScope) throws(EvaluationFailure) -> JSON? {
        switch scope {
        case .state: return state.pointee.find(keys)
        case .migration:
            guard let first = keys.first else { return .object(["state": .object(state.pointee)]) }
            return first.name == "state" ? state.pointee.find(keys, from: 1) : nil
        case .element: return element.find(keys)
        case .reduction: return try Self.find(keys, current: element, accumulator: accumulator)
        case .action(let waitFor):
            guard let first = keys.first else { return .object(try allData(waitFor)) }
            switch first.name {
            case "state": return state.pointee.find(keys, from: 1)
            case "payload": return payload.pointee.find(keys, from: 1)
            case "store": return storeAddress?.find(keys, from: 1)
            case "meta":
                guard keys.count > 1 else { return .object(allMeta) }
                // Paths that are worked out led nowhere else before there was more, and a log may have them.
                guard Self.metaNames.contains(keys[1].name) else { return nil }
                return meta(keys[1].name)?.find(keys, from: 2)
            case "stores":
                guard keys.count > 1 else { return .object(try allStores(waitFor)) }
                return stateOfStore(at: keys[1].name, waitFor)?.find(keys, from: 2)
            default: return nil
            }
        }
    }

    /// A place in the data of a reduction. Its whole data may become what is gathered next, and nests one level deeper
    /// with each element: no deeper than values may.
    static func find(
        _ keys: [ReadKey], current: JSON, accumulator: JSON
    ) throws(EvaluationFailure) -> JSON? {
        guard let first = keys.first else {
            var (gathered, depth) = (accumulator, 1)
            while case .object(let object) = gathered, let inner = object["accumulator"] {
                depth += 1
                if depth > deepestValue { throw .tooDeep }
                gathered = inner
            }
            return .object(["accumulator": accumulator, "current": current])
        }
        return switch first.name {
        case "accumulator": accumulator.find(keys, from: 1)
        case "current": current.find(keys, from: 1)
        default: nil
        }
    }

    /// The names that `meta` has as an object. `ClockTime` has those that are only read one by one.
    static let metaNames = ["time", "revision", "uid", "who"]

    func meta(_ name: String) -> JSON? {
        guard let context else { return nil }
        return switch name {
        case "time": .double(context.time)
        case "revision": .int(context.revision)
        case "uid": context.uid.map { .int($0) } ?? .null
        case "who": context.reader.who
        default: ClockTime(rawValue: name).map { .int($0.value(at: context.time)) }
        }
    }

    private var allMeta: JSONObject {
        var object = JSONObject()
        for name in Self.metaNames { object[name] = meta(name) ?? .null }
        return object
    }

    var storeAddress: JSON? {
        context.map { .string($0.reader.address(of: $0.store)) }
    }

    /// The state of a store, if its type is waited for and it exists.
    func stateOfStore(at address: String, _ waitFor: [String]) -> JSON? {
        guard let context, let slash = address.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let type = String(address[..<slash])
        guard waitFor.contains(where: { UTF8Order.equal($0, type) }) else { return nil }
        return context.reader.state(at: address).map { .object($0) }
    }

    private mutating func allStores(_ waitFor: [String]) throws(EvaluationFailure) -> JSONObject {
        var members: [JSONObject.Member] = []
        guard let context else { return JSONObject() }
        for type in waitFor {
            // Spent before they are listed, which takes the time.
            try spend(context.reader.storeCount(ofType: type))
            for address in context.reader.addresses(ofType: type) {
                try produce(16)
                guard let state = context.reader.state(at: address) else { continue }
                members.append(.init(key: address, value: .object(state)))
            }
        }
        // Types have different names, so no address comes twice.
        return JSONObject(distinct: members) ?? JSONObject()
    }

    private mutating func allData(_ waitFor: [String]) throws(EvaluationFailure) -> JSONObject {
        try produce(5 * 16)
        return [
            "meta": .object(allMeta), "payload": .object(payload.pointee), "state": .object(state.pointee),
            "store": storeAddress ?? .null, "stores": .object(try allStores(waitFor)),
        ]
    }
}
