import BusJSON
import BusProtocol
import BusSource

/// Timers: `timers: { off: { in: 5m, action: switchOff, payload: {…} } }` in an action, and `ttl:` of a type.
extension DefinitionLoader {
    /// The timers of an action, by the bytes of their names: in a definition that is passed on, no other order is kept.
    func loadTimers(
        _ source: LocatedValue?, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> [TimerRule] {
        guard let source else { return [] }
        var timers: [TimerRule] = []
        let members = try source.object("timers").members
        for member in members.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            let timer = mistakes.collect { () throws(SourceError) in
                try loadTimer(member, in: scope, &compiler)
            }
            if let timer { timers.append(timer) }
        }
        return timers
    }

    private func loadTimer(
        _ member: LocatedObject.Member, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerRule {
        let name = try loadName(of: member, in: scope, &compiler)
        if member.value.isNull { return TimerRule(name: name, setting: nil) }
        let timer = try member.value.object("The timer \(member.key)")
        if let stranger = timer.member("while") ?? timer.member("for") {
            throw SourceError(
                "\(stranger.key) is for a timer of the type, which is written under timers: beside actions; a timer that "
                    + "an action sets has in or at.", at: stranger.place)
        }
        try timer.refuseMembers(besides: ["in", "at", "every", "action", "payload"], of: "a timer")
        let every = try timer["every"].map { (source) throws(SourceError) in
            try loadInterval(source, in: scope, &compiler)
        }
        let time: TimerRule.Time
        switch (timer["in"], timer["at"], every) {
        case (let delay?, nil, _):
            time = .after(try loadLength(delay, "in", in: scope, &compiler), word: "in")
        case (nil, let moment?, _): time = .at(try compiler.compile(expression: moment, in: scope))
        case (nil, nil, let every?): time = .after(every, word: "every")
        default:
            throw SourceError(
                "The timer \(member.key) needs either `in`, a length of time, or `at`, seconds since 1970.",
                at: timer.place)
        }
        let action = try timer.required("action", of: "A timer").string("action")
        let payload = try timer["payload"]?.object("payload")
        return TimerRule(
            name: name,
            setting: .init(
                time: time, every: every, action: action,
                payload: try payload.map { (object) throws(SourceError) in
                    try compiler.build(object, in: scope)
                } ?? LiteralNode(.object([:]))))
    }

    private func loadName(
        of member: LocatedObject.Member, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerName {
        let isTemplate = compiler.readsText && member.key.contains(where: { "{}".contains($0) })
        let found = isTemplate ? TimerName.parts(of: member.key) : [(member.key, 1, false)]
        guard let found else {
            throw SourceError(
                "The name \(member.key) has a brace without the other; write {EXPRESSION} in it.",
                at: member.place)
        }
        // A value may be any name.
        guard Names.isTimerName(found.map { $0.isExpression ? "0" : $0.text }.joined()) else {
            throw SourceError(
                "A timer can't be called \(member.key); \(Names.timerNameRule).", at: member.place)
        }
        guard isTemplate else { return .fixed(member.key) }
        var parts: [TimerName.Part] = []
        for part in found {
            guard part.isExpression else {
                parts.append(.text(part.text))
                continue
            }
            let (node, schema) = try compiler.compile(
                part: part.text, from: part.column, in: scope, at: member.place)
            if schema.kinds.isDisjoint(with: [.text, .int]) {
                mistakes.doubt(
                    "\(part.text) is \(schema.kinds.phrase), and a timer's name takes a string or an integer.",
                    at: member.place)
            }
            parts.append(.value(node, part.text))
        }
        return .template(member.key, parts)
    }

    /// After how long a timer repeats.
    private func loadInterval(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerRule.Length {
        let length = try loadLength(source, "every", in: scope, &compiler)
        if case .fixed(let length) = length,
            !(TimerRule.shortestInterval...DurationText.longest ~= length)
        {
            throw source.failure("every must be from 1s to ten years.")
        }
        return length
    }

    /// A length of time; `name` is the member that it is the value of.
    func loadLength(
        _ source: LocatedValue, _ name: String, in scope: ExpressionScope,
        _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerRule.Length {
        guard case .scalar(let value) = source.content else {
            return .computed(try compiler.compile(source, in: scope))
        }
        if let length = DurationText.milliseconds(of: value) { return .fixed(length) }
        // A single word is no number of seconds, unless it is the name of something.
        guard compiler.readsText, let text = value.string,
            isName(text, in: scope) || text.contains(where: { !$0.isLetter && !$0.isNumber })
        else {
            throw source.failure(
                "\(name) must be a length of time such as 500ms, 30s, 5m or 1h30m, or an expression of seconds."
            )
        }
        return .computed(try compiler.compile(expression: source, in: scope))
    }

    /// Whether `let` has the name, or a member of the state where these are data.
    private func isName(_ text: String, in scope: ExpressionScope) -> Bool {
        if case .state = scope.data, shape[text] != nil { return true }
        return named?.contains(text) == true
    }

    /// Checks what only the type as a whole can tell: that timers name actions, and payload members of these.
    func checkTimers(_ root: LocatedObject) {
        guard case .object(let actions)? = root["actions"]?.content else {
            return check(timers: root["timers"], of: [])
        }
        for member in actions.members {
            guard case .object(let action) = member.value.content else { continue }
            check(timers: action["timers"], of: actions.keys)
        }
        check(timers: root["timers"], of: actions.keys)
    }

    private func check(timers source: LocatedValue?, of actions: [String]) {
        guard case .object(let timers)? = source?.content else { return }
        for timer in timers.members {
            guard case .object(let timer) = timer.value.content else { continue }
            mistakes.collect { () throws(SourceError) in try checkTimer(timer, of: actions) }
        }
    }

    private func checkTimer(_ timer: LocatedObject, of names: [String]) throws(SourceError) {
        guard let source = timer["action"] else { return }
        let name = try source.string("action")
        guard names.contains(where: { UTF8Order.equal($0, name) }) else {
            let hint = suggestion(for: name, among: names)
            throw source.failure("\(parts.name) has no action \(name); \(hint)")
        }
        // Of one with mistakes of its own nothing is known.
        guard let action = parts.actions.first(where: { UTF8Order.equal($0.name, name) }) else { return }
        guard action.redacted.isEmpty else {
            throw source.failure(
                "\(name) has members to redact, which a timer would keep; let it set off another action.")
        }
        let given = try timer["payload"]?.object("payload")
        for member in given?.members ?? [] where action.payload.member(member.key) == nil {
            let hint = suggestion(for: member.key, among: action.payload.names)
            throw SourceError("\(name) takes no payload.\(member.key); \(hint)", at: member.place)
        }
        for member in action.payload.members
        where !member.isOptional && member.fallback == nil && given?[member.name] == nil {
            throw SourceError(
                "\(name) needs payload.\(member.name); add it to the payload of the timer.", at: timer.place)
        }
    }

    /// How long a store of the type lives without a dispatch, in milliseconds; nil: for ever.
    func loadTimeToLive(_ root: LocatedObject) throws(SourceError) -> Int? {
        guard let source = root["ttl"] else { return nil }
        guard case .scalar(let value) = source.content, let time = DurationText.milliseconds(of: value),
            DurationText.shortest...DurationText.longest ~= time
        else {
            throw source.failure(
                "ttl must be a length of time such as 30s, 5m or 1h30m, from 10ms to ten years.")
        }
        return time
    }
}
