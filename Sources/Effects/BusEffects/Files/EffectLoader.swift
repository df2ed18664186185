import BusJSON
import BusLogic
import BusProtocol
import BusSource

/// Compiles the file of an effect, and finds everything that is wrong with it.
package struct EffectLoader {
    package private(set) var errors: [SourceError] = []
    private var readsState = false

    package init() {}

    package static let keys = [
        "effect", "summary", "on", "when", "if", "do", "timeout", "retry", "limit", "after-downtime",
    ]
    package static let deeds = ["run", "post", "dispatch"] + UnitVerb.allCases.map(\.rawValue)

    /// The effect, unless something is wrong with it.
    package mutating func load(_ source: LocatedValue) -> Effect? {
        guard let root = errors.collect({ () throws(SourceError) in try source.object("an effect") }) else {
            return nil
        }
        errors += root.unknownKeys(besides: Self.keys, of: "an effect")
        let name = errors.collect { () throws(SourceError) in
            try root.required("effect", of: "An effect").name(
                "effect", of: "An effect", atMost: EffectLimits.name)
        }
        if let summary = root["summary"] {
            errors.collect { () throws(SourceError) in _ = try summary.string("summary") }
        }
        let trigger = errors.collect { () throws(SourceError) in
            try Self.trigger(root)
        }
        let condition = root["if"].map { source in
            errors.collect { () throws(SourceError) in
                try EffectValue.condition(source, names: EffectValue.names, on: "event")
            }
        }
        let deed = errors.collect { () throws(SourceError) in
            try Self.deed(root.required("do", of: "An effect").object("do"))
        }
        let retry = errors.collect { () throws(SourceError) in try Self.retry(root["retry"]) }
        let limit = errors.collect { () throws(SourceError) in try Self.limit(root["limit"]) }
        let timeout = errors.collect { () throws(SourceError) in
            try root["timeout"].map { source throws(SourceError) in
                try source.duration("timeout", in: .milliseconds(100)...Self.longestTime)
            }
        }
        let downtime = errors.collect { () throws(SourceError) in try Self.downtime(root["after-downtime"]) }
        guard errors.isEmpty, let name, let trigger, let deed, let retry, let limit, let timeout, let downtime
        else { return nil }
        return Effect(
            name: name, pattern: trigger.pattern, actions: trigger.actions, becoming: trigger.becoming,
            condition: condition ?? nil,
            deed: deed, retry: retry, limit: limit, downtime: downtime, timeout: timeout ?? deed.patience,
            readsState: (condition ?? nil)?.reads.contains("state") == true || deed.readsState,
            place: source.place, store: "effect/\(name)")
    }

    // MARK: Keys

    private typealias Trigger = (pattern: AddressPattern, actions: [String], becoming: Effect.Becoming?)

    private static func trigger(_ root: LocatedObject) throws(SourceError) -> Trigger {
        switch (root.member("on"), root.member("when")) {
        case (let on?, nil): return try self.on(on.value.object("on"))
        case (nil, let when?): return try self.when(when.value.object("when"))
        case (_, let when?):
            throw SourceError("An effect follows from one thing; write either on or when.", at: when.place)
        case (nil, nil):
            throw SourceError("An effect needs a member on, or when; add one of them.", at: root.place)
        }
    }

    private static func when(_ object: LocatedObject) throws(SourceError) -> Trigger {
        try object.refuseMembers(besides: ["of", "becomes", "for"], of: "when")
        let source = try object.required("becomes", of: "when")
        let text = try source.string("becomes")
        let condition = try Expression.compile(
            text: text, isCondition: true, names: .store, at: source.place)
        if let constant = condition.constant {
            throw source.failure(
                "This condition is always \(constant == true ? "true" : "false"); let it read the state.")
        }
        let hold = try object["for"].map { source throws(SourceError) in
            try source.duration("for", in: .zero...(.seconds(366 * 86_400)))
        }
        return (try pattern(object, "when"), [], Effect.Becoming(text: text, hold: hold ?? .zero))
    }

    private static func on(_ object: LocatedObject) throws(SourceError) -> Trigger {
        try object.refuseMembers(besides: ["action", "of"], of: "on")
        let action = try object.required("action", of: "on")
        var actions: [String] = []
        if case .array(let elements) = action.content {
            for element in elements { actions.append(try DispatchTemplate.action(element)) }
            guard !actions.isEmpty else { throw action.failure("action is empty; name an action.") }
        } else {
            actions = [try DispatchTemplate.action(action)]
        }
        return (try pattern(object, "on"), actions, nil)
    }

    private static func pattern(_ object: LocatedObject, _ owner: String) throws(SourceError)
        -> AddressPattern
    {
        let of = try object.required("of", of: owner)
        var text = try of.string("of")
        guard let pattern = text.withUTF8({ AddressPattern(UnsafeRawBufferPointer($0)) }) else {
            throw of.failure("`\(text)` is not a pattern of addresses; write TYPE/NAME, such as door/*.")
        }
        guard pattern.type.isLiteral, Names.isTypeName(String(decoding: pattern.type.pattern, as: UTF8.self))
        else {
            throw of.failure("`\(text)` names no type; write one before the slash, such as door/*.")
        }
        return pattern
    }

    // MARK: Deeds

    private static func deed(_ object: LocatedObject) throws(SourceError) -> Effect.Deed {
        try object.refuseMembers(besides: deeds, of: "do")
        guard object.count == 1, let member = object.members.first else {
            let place = object.members.dropFirst().first?.place ?? object.place
            throw SourceError(
                "An effect does one thing; write one of \(deeds.joined(separator: ", ")) in do.", at: place)
        }
        switch member.key {
        case "run": return try run(member.value)
        case "post": return .post(try PostTemplate(member.value.object("post")))
        case "dispatch":
            return .dispatch(
                try DispatchTemplate(member.value.object("dispatch"), names: EffectValue.names))
        default:
            guard let verb = UnitVerb(rawValue: member.key) else {
                preconditionFailure("Others have been refused.")
            }
            return .unit(verb, try UnitTemplate(member.value, for: member.key))
        }
    }

    private static func run(_ source: LocatedValue) throws(SourceError) -> Effect.Deed {
        guard case .array(let words) = source.content, let program = words.first else {
            throw source.failure(
                "run must be a program with its arguments; write [/path/of/program, argument, …].")
        }
        let path = try program.string("the program of run")
        guard path.hasPrefix("/") else {
            throw program.failure(
                path.hasPrefix("=")
                    ? "An event can't choose the program; write its whole path."
                    : "`\(path)` is not a whole path; write one that begins with /.")
        }
        var arguments: [EffectValue] = []
        for word in words.dropFirst() {
            guard case .scalar(let value) = word.content, !value.isNull else {
                throw word.failure("an argument of run must be a text or a number, not \(word.kind).")
            }
            arguments.append(try EffectValue.compile(word))
        }
        return .run(path: path, arguments: arguments)
    }

    // MARK: Limits

    private static let longestTime = Duration.seconds(86_400)

    private static func retry(_ source: LocatedValue?) throws(SourceError) -> Effect.Retry {
        var retry = Effect.Retry()
        guard let object = try source?.object("retry") else { return retry }
        try object.refuseMembers(besides: ["times", "first", "most"], of: "retry")
        retry.times = try object["times"]?.int("times", in: 0...1000) ?? retry.times
        let range = Duration.milliseconds(10)...longestTime
        if let first = object["first"] { retry.first = try first.duration("first", in: range) }
        if let most = object["most"] {
            retry.most = try most.duration("most", in: range)
            guard retry.most >= retry.first else {
                throw most.failure("most is shorter than first; make it at least as long.")
            }
        }
        retry.most = max(retry.most, retry.first)
        return retry
    }

    private static func limit(_ source: LocatedValue?) throws(SourceError) -> Effect.Limit {
        var limit = Effect.Limit()
        guard let object = try source?.object("limit") else { return limit }
        try object.refuseMembers(besides: ["running", "for", "rate"], of: "limit")
        limit.running = try object["running"]?.int("running", in: 1...EffectLimits.running) ?? limit.running
        limit.isOneByOne = try object["for"]?.word("for", among: ["store", "all"]) == "all"
        if let rate = object["rate"] { limit.rate = try self.rate(rate) }
        return limit
    }

    private static func rate(_ source: LocatedValue) throws(SourceError) -> Effect.Rate {
        let text = try source.string("rate")
        let units = ["s": 1, "m": 60, "h": 3600]
        let halves = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard halves.count == 2, let count = Int(halves[0]), (1...100_000).contains(count),
            let seconds = units[halves[1]]
        else { throw source.failure("`\(text)` is not a rate; write 10/s, 100/m or 20/h.") }
        return Effect.Rate(count: count, time: .seconds(seconds))
    }

    private static func downtime(_ source: LocatedValue?) throws(SourceError) -> Effect.Downtime {
        guard let source else { return .all }
        let word = try source.word("after-downtime", among: Effect.Downtime.allCases.map(\.rawValue))
        return Effect.Downtime(rawValue: word) ?? .all
    }
}

extension Effect.Deed {
    /// How long an attempt may take where the file does not say.
    fileprivate var patience: Duration { if case .post = self { .seconds(30) } else { .seconds(300) } }

    fileprivate var readsState: Bool {
        switch self {
        case .run(_, let arguments): arguments.contains(where: \.readsState)
        case .unit(_, let name): name.readsState
        case .post(let template): template.readsState
        case .dispatch(let template): template.readsState
        }
    }
}
