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
            guard Names.isTimerName(member.key) else {
                throw SourceError(
                    "A timer can't be called \(member.key); \(Names.timerNameRule).", at: member.place)
            }
            timers.append(try loadTimer(member, in: scope, &compiler))
        }
        return timers
    }

    private func loadTimer(
        _ member: LocatedObject.Member, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerRule {
        if member.value.isNull { return TimerRule(name: member.key, setting: nil) }
        let timer = try member.value.object("The timer \(member.key)")
        try timer.refuseMembers(besides: ["in", "at", "action", "payload"], of: "a timer")
        let time: TimerRule.Time
        switch (timer["in"], timer["at"]) {
        case (let delay?, nil): time = try loadDelay(delay, in: scope, &compiler)
        case (nil, let moment?): time = .at(try compiler.compile(expression: moment, in: scope))
        default:
            throw SourceError(
                "The timer \(member.key) needs either `in`, a length of time, or `at`, seconds since 1970.",
                at: timer.place)
        }
        let action = try timer.required("action", of: "A timer").string("action")
        let payload = try timer["payload"]?.object("payload")
        return TimerRule(
            name: member.key,
            setting: .init(
                time: time, action: action,
                payload: try payload.map { (object) throws(SourceError) in
                    try compiler.build(object, in: scope)
                } ?? LiteralNode(.object([:]))))
    }

    private func loadDelay(
        _ source: LocatedValue, in scope: ExpressionScope, _ compiler: inout ExpressionCompiler
    ) throws(SourceError) -> TimerRule.Time {
        guard case .scalar(let value) = source.content else {
            return .delayed(try compiler.compile(source, in: scope))
        }
        if let delay = DurationText.milliseconds(of: value) { return .delay(delay) }
        // A single word is no number of seconds.
        guard compiler.readsText, let text = value.string,
            text.contains(where: { !$0.isLetter && !$0.isNumber })
        else {
            throw source.failure(
                "in must be a length of time such as 500ms, 30s, 5m or 1h30m, or an expression of seconds.")
        }
        return .delayed(try compiler.compile(expression: source, in: scope))
    }

    /// Checks what only the type as a whole can tell: that timers name actions, and payload members of these.
    func checkTimers(_ root: LocatedObject) {
        guard case .object(let actions)? = root["actions"]?.content else { return }
        for member in actions.members {
            guard case .object(let action) = member.value.content,
                case .object(let timers)? = action["timers"]?.content
            else { continue }
            for timer in timers.members {
                guard case .object(let timer) = timer.value.content else { continue }
                mistakes.collect { () throws(SourceError) in try checkTimer(timer, of: actions.keys) }
            }
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
