import BusJSON
import BusProtocol
import BusSource

/// Timers of a type: `timers: { left-open: { for: 10m, while: isOpen, action: remind } }` beside its actions.
extension DefinitionLoader {
    struct LoadedTimer {
        let name: String
        let condition: ExpressionNode
        let setting: TimerRule.Setting
        let reads: StateReads
    }

    /// As many as there are bits for what is known of each, and far fewer than a store may have timers.
    private static let mostTimers = 32

    /// By the bytes of their names.
    mutating func loadTypeTimers(_ root: LocatedObject) throws(SourceError) -> [LoadedTimer] {
        guard let source = root["timers"], !(mayLackCode && source.isNull) else { return [] }
        let members = try source.object("timers").members
        guard members.count <= Self.mostTimers else {
            throw source.failure(
                "A type has at most \(Self.mostTimers) timers of its own; let actions set the others.")
        }
        var loaded: [LoadedTimer] = []
        for member in members.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
            let timer = mistakes.collect { () throws(SourceError) in try loadTypeTimer(member) }
            if let timer { loaded.append(timer) }
        }
        return loaded
    }

    private mutating func loadTypeTimer(_ member: LocatedObject.Member) throws(SourceError) -> LoadedTimer {
        guard Names.isTimerName(member.key) else {
            throw SourceError(
                "A timer can't be called \(member.key); \(Names.timerNameRule).", at: member.place)
        }
        let timer = try member.value.object("The timer \(member.key)")
        if let stranger = timer.member("in") ?? timer.member("at") ?? timer.member("every") {
            throw SourceError(
                "\(stranger.key) is for a timer that an action sets; one of the type has for and while. Write it below "
                    + "timers: of the action, indented further than the action's name, if it is meant there.",
                at: stranger.place)
        }
        try timer.refuseMembers(besides: ["for", "while", "action", "payload"], of: "a timer of a type")
        let scope = ExpressionScope(data: .state, shape: shape)
        var compiler = stateCompiler()
        defer { usesText = usesText || compiler.hasText }
        let condition = try loadCondition(
            timer.required("while", of: "A timer of a type"), in: scope, &compiler)
        // What it is set to is looked at only when it is set.
        let reads = compiler.reads
        let length = try loadLength(
            timer.required("for", of: "A timer of a type"), "for", in: scope, &compiler)
        let payload = try timer["payload"]?.object("payload")
        let setting = TimerRule.Setting(
            time: .after(length, word: "for"),
            action: try timer.required("action", of: "A timer").string("action"),
            payload: try payload.map { (object) throws(SourceError) in
                try compiler.build(object, in: scope)
            } ?? LiteralNode(.object([:])))
        return LoadedTimer(name: member.key, condition: condition, setting: setting, reads: reads)
    }
}
