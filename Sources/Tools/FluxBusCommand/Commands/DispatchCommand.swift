import ArgumentParser
import BusJSON
import BusProtocol
import FluxBus

/// `fluxbus dispatch`: one action, or a stream of requests.
package struct DispatchCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "dispatch",
        abstract: "Send an action to every store of a type, or to one store.",
        discussion: """
            Examples:
              fluxbus dispatch counter increment                 every counter
              fluxbus dispatch counter/kitchen increment by=2    one store; by is a number, as the type says
              fluxbus dispatch todo/home add id=bread title='Buy bread'     two strings
              fluxbus dispatch todo/home add '{"id": "tea", "title": "Buy tea"}'
              jq -n '{id: "jam", title: "Buy jam"}' | fluxbus dispatch todo/home add -
              fluxbus dispatch '*' reset                         every type that has this action
              fluxbus dispatch counter/kitchen reset --in 5m     later; `fluxbus timers` shows what waits
              fluxbus dispatch thermostat setTarget celsius=17 --at 22:30 --timer night
              fluxbus dispatch counter/kitchen increment --if 'count < 9'   only if that holds
              fluxbus dispatch light switchOff --where isOn         to those that are on

            key=value has the kind that the action takes: a number, a boolean, a list, or else text. Where \
            the type leaves that open, it is text, and key:=json gives any other value.
              fluxbus dispatch value set value:=40

            With `-` instead of a target, requests are read from standard input, one JSON object per line, sent \
            without waiting for each other, and their replies printed in order. A line without `op` is a dispatch. \
            The exit code is that of the worst reply, the one with the highest number.
              printf '%s\\n' '{"type":"counter","action":"increment"}' | fluxbus dispatch -

            Each of them is a commit, or is refused, by itself. With --atomic all are one: they are committed together, \
            in their order, or none is. Then a line is an action, or has the `op` create or drop.
              printf '%s\\n' '{"op":"create","store":"counter/hall"}' \
                '{"store":"counter/hall","action":"increment"}' | fluxbus dispatch --atomic -
            """)

    @Argument(
        help: "A type, a store, '*', or - for requests from standard input.",
        completion: .custom(BusCompletion.targets))
    package var target: String

    @Argument(help: "The action's name.", completion: .custom(BusCompletion.actions))
    package var action: String?

    @Argument(
        help: "The payload: key=value, key:=json, a JSON object, or - for an object from standard input.")
    package var payload: [String] = []

    @OptionGroup package var condition: StoreCondition

    @OptionGroup package var filter: WhereArgument

    @Flag(help: "With -: commit all requests together, or none.")
    package var atomic = false

    @Option(help: "A unique key: sent again with it, the same action is not committed twice.")
    package var key: String?

    @Option(
        help: ArgumentHelp(
            "The place in a trace that this belongs to (W3C Trace Context); else TRACEPARENT of the environment.",
            valueName: "text"))
    package var traceparent: String?

    @Flag(help: "Show what would change, and change nothing.")
    package var dryRun = false

    @Flag(help: "Ask for no reply, and print nothing unless the bus refuses.")
    package var noAck = false

    @OptionGroup package var time: DispatchTimeArgument

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { target == "-" }

    package init() {}

    package func validate() throws {
        if target == "-" {
            guard action == nil else {
                throw ValidationError(
                    "With `-` the actions come from standard input: leave `\(action ?? "")` out.")
            }
            guard condition.flags.isEmpty, filter.expression == nil, time.isNow,
                atomic || key == nil && !dryRun
            else {
                let names = atomic ? "" : "--key, --dry-run, "
                throw ValidationError(
                    "With `-` leave --if-revision, --if, --where, \(names)--in, --at and --timer out: each request on standard input has its own."
                )
            }
            return
        }
        guard !atomic else {
            throw ValidationError("--atomic is for requests from standard input: fluxbus dispatch --atomic -")
        }
        guard action != nil else {
            throw ValidationError("Name the action as well, as in: fluxbus dispatch counter increment")
        }
        if let flag = condition.flags.first, !target.contains("/") {
            throw ValidationError("\(flag) needs one store as the target, as in counter/kitchen.")
        }
        guard filter.expression == nil || !target.contains("/") else {
            throw ValidationError("--where needs a type as the target, as in counter; give one store --if.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        if atomic { return try dispatchAtOnce(in: session) }
        guard target != "-" else {
            return try RequestStream(session: session, withoutAcknowledgement: noAck).run()
        }
        var members = try MemberArguments.parse(payload, input: session.context.input)
        let connection = try session.connect()
        let notes = try settleKinds(of: &members, in: session, on: connection)
        let request = try request(members, in: session.context)
        do {
            try send(request, in: session, on: connection)
        } catch let error as BusError {
            throw MemberArguments.explained(error, of: payload)
        }
        for note in notes { try session.console.note(note) }
        return .success
    }

    /// Dispatches the lines of standard input as one batch.
    private func dispatchAtOnce(in session: CommandSession) throws -> CommandStatus {
        let elements = try BatchLines.read(session.context.input)
        let request = BusRequest(
            "dispatch",
            [
                "actions": .array(elements), "key": key.map(JSON.string), "dryRun": dryRun ? true : nil,
                "ack": noAck ? false : nil, "traceparent": trace(session.context),
            ])
        do {
            try send(request, in: session, on: session.connect())
        } catch let error as BusError {
            throw BatchLines.explained(error)
        }
        return .success
    }

    private func send(
        _ request: BusRequest, in session: CommandSession, on connection: BusConnection
    ) throws {
        if noAck {
            try sendWithoutAcknowledgement(request, in: session, on: connection)
        } else {
            try show(session.ask(request, on: connection), in: session.console)
        }
    }

    /// Gives members that were written as text the kind that the action takes. What can't be known stays text, and is noted.
    private func settleKinds(
        of members: inout JSONObject, in session: CommandSession, on connection: BusConnection
    ) throws -> [String] {
        guard let action, !MemberArguments.ambiguous(payload).isEmpty else { return [] }
        let kinds = try MemberKinds.asked(ofAction: action, target: target, in: session, on: connection)
        return kinds.settle(&members, of: payload, verb: "sent")
    }

    private func request(_ members: JSONObject, in context: CommandContext) throws -> BusRequest {
        var request = BusRequest(
            "dispatch",
            [
                target.contains("/") ? "store" : "type": .string(target),
                "action": action.map(JSON.string),
                "payload": members.isEmpty ? nil : .object(members),
                "where": try filter.condition(),
            ])
        try condition.add(to: &request)
        request.set("key", key.map(JSON.string))
        request.set("dryRun", dryRun ? true : nil)
        request.set("traceparent", trace(context))
        request.set("ack", noAck ? false : nil)
        for member in time.members(now: context.now() / 1000) { request.set(member.name, member.value) }
        return request
    }

    /// What the environment has counts only where it can: a dispatch that comes later is part of no trace.
    private func trace(_ context: CommandContext) -> JSON? {
        let inherited = context.environment["TRACEPARENT"].flatMap { Traceparent.isValid($0) ? $0 : nil }
        return (traceparent ?? (time.isNow ? inherited : nil)).map(JSON.string)
    }

    /// The dispatch is followed by a ping, so that a refusal is known when the ping's reply comes.
    private func sendWithoutAcknowledgement(
        _ request: BusRequest, in session: CommandSession, on connection: BusConnection
    ) throws {
        connection.queue(request)
        do throws(BusError) {
            try connection.request(BusRequest("ping"), until: session.replyDeadline)
        } catch {
            throw CommandFailure.unanswered(request, error)
        }
    }

    private func show(_ reply: JSONObject, in console: Console) throws {
        guard console.form == .text else { return try console.line(.object(reply)) }
        if let due = reply["due"] { return try showSchedule(reply, due, in: console) }
        let matched = reply["matched"]?.int ?? 0
        let changed = reply["changed"]?.int ?? 0
        let revision = reply["revision"]?.int.map { "revision \($0)" } ?? "done"
        let again = reply["duplicate"]?.bool == true ? ", already committed before" : ""
        let lead = dryRun ? "would be committed" : revision
        try console.line(
            "\(lead): \(Self.count(matched, "store")) matched, \(changed) changed\(again)")
        if let result = reply["result"] { try console.line(ScreenText.value(result)) }
        var table = Table()
        for member in reply["results"]?.object ?? [:] {
            table.add(.init("  " + member.key, .address), .init(member.value.encoded))
        }
        guard dryRun else { return try console.table(table) }
        for member in reply["states"]?.object ?? [:] {
            table.add(.init("  " + member.key, .address), .init(member.value.encoded))
        }
        for member in reply["changes"]?.object ?? [:] {
            table.add(.init("  " + member.key, .address), .init(member.value.encoded))
        }
        for address in reply["dropped"]?.array ?? [] {
            table.add(.init("  " + (address.string ?? ""), .address), .init("dropped"))
        }
        try console.table(table)
    }

    private func showSchedule(_ reply: JSONObject, _ due: JSON, in console: Console) throws {
        let time = DispatchTimeArgument.text(of: due)
        guard !dryRun else { return try console.line("would be due at \(time)") }
        let again = reply["duplicate"]?.bool == true ? ", already scheduled before" : ""
        try console.line(
            "revision \(reply["revision"]?.encoded ?? "?"): timer \(reply["timer"]?.string ?? "?") is due at \(time)\(again)"
        )
    }

    static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
