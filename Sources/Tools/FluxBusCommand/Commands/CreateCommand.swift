import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus create`: a new store.
package struct CreateCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a store.",
        discussion: """
            Examples:
              fluxbus create counter/kitchen
              fluxbus create counter/hall count=5             with members other than the type's initial ones
              fluxbus create counter/kitchen --if-missing     no error when it is there already
              fluxbus create presence/desk last=ada --ephemeral
              fluxbus create counter/guest --ttl 1h           dropped when nobody has used it for an hour

            key=value has the kind that the type's states have: a number, a boolean, a list, or else text. Where \
            the type leaves that open, it is text, and key:=json gives any other value.

            An ephemeral store lives as long as the connection that made it: with --ephemeral the command keeps \
            running until it is ended (Ctrl-C), and the store goes with it.
            """)

    @Argument(help: "The address: TYPE/NAME.", completion: .custom(BusCompletion.targets))
    package var store: String

    @Argument(
        help:
            "Members of its state: key=value, key:=json, a JSON object, or - for an object from standard input."
    )
    package var state: [String] = []

    @Flag(help: "Drop the store when this command ends, and keep running until then.")
    package var ephemeral = false

    @Flag(help: "Succeed when the store exists already, and leave it as it is.")
    package var ifMissing = false

    @Option(
        help: ArgumentHelp(
            "Drop the store when no dispatch has matched it for this long: 30s, 1h, 7d.", valueName: "time"))
    package var ttl: String?

    @Option(help: "A unique key: sent again with it, the store is not created twice.")
    package var key: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store.contains("/") else {
            throw ValidationError("A store's address is TYPE/NAME, as in: fluxbus create \(store)/main")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        var members = try MemberArguments.parse(state, input: session.context.input)
        let connection = try session.connect()
        let notes = try settleKinds(of: &members, in: session, on: connection)
        let reply: JSONObject
        do {
            reply = try session.ask(request(members), on: connection)
        } catch let error as BusError {
            throw MemberArguments.explained(error, of: state)
        }
        try show(reply, in: session.console)
        let wasThere = reply["created"]?.bool == false
        for note in notes where !wasThere { try session.console.note(note) }
        guard ephemeral else { return .success }
        try session.console.flush()
        if wasThere {
            try session.console.note("\(store) existed already, so it stays when this command ends.")
            return .success
        }
        try session.console.note("\(store) lives until this command ends (Ctrl-C).")
        try waitForEnd(of: connection)
        return .success
    }

    private func request(_ members: JSONObject) -> BusRequest {
        BusRequest(
            "create",
            [
                "store": .string(store), "state": members.isEmpty ? nil : .object(members),
                "ephemeral": ephemeral ? true : nil, "ifMissing": ifMissing ? true : nil,
                "ttl": ttl.map(DispatchTimeArgument.length), "key": key.map(JSON.string),
            ])
    }

    /// Gives members that were written as text the kind that the type's states have. What can't be known stays text.
    private func settleKinds(
        of members: inout JSONObject, in session: CommandSession, on connection: BusConnection
    ) throws -> [String] {
        guard !MemberArguments.ambiguous(state).isEmpty else { return [] }
        let kinds = try MemberKinds.asked(ofState: store, in: session, on: connection)
        return kinds.settle(&members, of: state, verb: "set")
    }

    private func show(_ reply: JSONObject, in console: Console) throws {
        guard console.form == .text else { return try console.line(.object(reply)) }
        let revision = reply["revision"]?.encoded ?? "?"
        let isNew = reply["created"]?.bool ?? true
        try console.line(isNew ? "created \(store), revision \(revision)" : "\(store) exists already")
    }

    /// Keeps the connection. It ends with the process, or throws when the bus ends it.
    private func waitForEnd(of connection: BusConnection) throws {
        while true { _ = try connection.receiveLine() }
    }
}
