import ArgumentParser
import BusDefinitions
import BusJSON
import BusLogic
import BusProtocol
import BusSystem
import Glibc

/// `fluxbus access`: what the access rules of a configuration say.
package struct AccessCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "access",
        abstract: "Check what access rules allow, and by which line.",
        discussion: """
            Examples:
              fluxbus access check --file /etc/fluxbus/access.yaml --as user:root manage
            """,
        subcommands: [AccessCheckCommand.self])

    package init() {}
}

/// `fluxbus access check`: whether the rules of a configuration allow something. It reads files and needs no bus.
package struct AccessCheckCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say whether somebody may do something, and by which line.",
        discussion: """
            Examples:
              fluxbus access check --file /etc/fluxbus/access.yaml --as group:fluxbus dispatch light/hall switchOn
              fluxbus access check --file /etc/fluxbus/access.yaml --as token:sensor-1 read thermostat/attic
              fluxbus access check --file /etc/fluxbus/access.yaml --as user:root manage
              fluxbus access check --as user:ada dispatch thermostat/hall setTarget celsius:=30
              fluxbus access check --as user:ada dispatch lamp/hall switchOn '{}' --state '{"count":2}'
              fluxbus access check --as user:ada create lamp/own-1 count:=2

            Without --file they are those of the configuration. The rules are read from files, before they are reloaded, so no bus is needed. Users bring the groups that \
            they have on this machine. With a payload, or with the state of a new store, the conditions of rules are evaluated; \
            key=value is a text here, and key:=json any other value. A condition that reads the state of a store needs --state. \
            Exit code 0: allowed, maybe only where a condition holds that was not evaluated; 77: forbidden.
            """)

    @Option(
        help: ArgumentHelp("The configuration that has or names the rules.", valueName: "path"),
        completion: .file())
    package var config = "/etc/fluxbus/fluxbusd.yaml"

    @Option(
        help: ArgumentHelp("A file of access rules, instead of a configuration.", valueName: "path"),
        completion: .file())
    package var file: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "Who: user, uid, group, unit, token or certificate, a colon, and the name. Can be repeated.",
            valueName: "kind:name"))
    package var who: [String] = []

    @Argument(help: "What: read, history, dispatch, create, drop, revert or manage.")
    package var capability: String

    @Argument(help: "The store, or for dispatch also a type.", completion: .custom(BusCompletion.targets))
    package var target: String?

    @Argument(
        help:
            "For dispatch the action and its payload, for create the members of the new state: key=value, key:=json, or a JSON object."
    )
    package var rest: [String] = []

    @Option(
        help: ArgumentHelp(
            "The state of the store as a JSON object, for conditions that read it.", valueName: "json"))
    package var state: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let rules = try rules()
        let credentials = try credentials()
        let roles = rules.roles(of: credentials)
        let trial = try AccessTrial(
            state: state, members: evaluated, isCreation: capability == "create", store: target ?? "",
            who: credentials, roles: roles, input: session.context.input)
        // Conditions decide about dispatches and new stores, not about reading.
        let isConditional = ["dispatch", "create"].contains(capability)
        let holds = { (rule: AccessRule) in isConditional ? trial.holds(rule) : true }
        let allowing = try allowing(rules.grants(to: roles)).filter { holds($0) != false }
        let console = session.console
        guard console.form == .text else {
            try console.line([
                "allowed": .bool(!allowing.isEmpty), "roles": .array(roles.map(JSON.string)),
                "rules": .array(
                    allowing.map { rule in
                        [
                            "role": .string(rule.role), "place": .string(Self.place(of: rule)),
                            "if": .bool(holds(rule) == nil),
                        ]
                    }),
            ])
            return allowing.isEmpty ? .forbidden : .success
        }
        try console.line("roles: \(roles.isEmpty ? "none" : roles.joined(separator: ", "))")
        for rule in allowing {
            let condition = holds(rule) == nil ? ", where its if holds" : ""
            let most = rule.maxStores == .max ? "" : ", at most \(rule.maxStores) stores at once"
            let parts =
                switch capability {
                case "read" where rule.parts != nil: ", parts of the state"
                case "history" where rule.parts != nil: ", parts of past states and no actions"
                default: ""
                }
            try console.line(
                "allowed by \(Self.place(of: rule)), role \(rule.role)\(condition)\(most)\(parts)")
        }
        if allowing.isEmpty { try console.line("forbidden: no rule allows it") }
        return allowing.isEmpty ? .forbidden : .success
    }

    /// The members that conditions are evaluated with; nil where none were given.
    private var evaluated: [String]? {
        switch capability {
        case "dispatch" where rest.count > 1: Array(rest.dropFirst())
        case "create" where !rest.isEmpty: rest
        default: nil
        }
    }

    private static func place(of rule: AccessRule) -> String { "\(rule.place.file):\(rule.place.line)" }

    private func rules() throws -> AccessRules {
        do {
            return try AccessFile.read(file: file, configuration: config)
        } catch {
            throw CommandFailure(.refused, error.lines.joined(separator: "\n"))
        }
    }

    private func credentials() throws -> Credentials {
        var credentials = Credentials()
        for text in who {
            let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
            guard parts.count == 2, !parts[1].isEmpty else { throw wrong(text) }
            switch parts[0] {
            case "user":
                credentials.user = parts[1]
                let user = Accounts.user(named: parts[1])
                if let user { credentials.uid = Int(user.number) }
                credentials.groups += user?.groups ?? []
            case "uid":
                guard let uid = uid_t(parts[1]) else { throw wrong(text) }
                let user = Accounts.user(uid)
                credentials.uid = Int(uid)
                if let user { credentials.user = user.name }
                credentials.groups += user?.groups ?? []
            case "group": credentials.groups.append(parts[1])
            case "unit": credentials.unit = parts[1]
            case "token": credentials.token = parts[1]
            case "certificate": credentials.certificate.append(parts[1])
            case "client": credentials.client = parts[1]
            default: throw wrong(text)
            }
        }
        return credentials
    }

    private func wrong(_ text: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "--as \(text) is not an identity; write user:NAME, uid:NUMBER, group:NAME, unit:NAME, token:NAME, certificate:NAME or client:NAME."
        )
    }

    /// The rules that allow it.
    private func allowing(_ grants: Grants) throws -> [AccessRule] {
        guard let wanted = Capability.named.first(where: { $0.key == capability && $0.value != .all })?.value
        else {
            let words = Capability.all.words
            throw CommandFailure(
                .usage, "\(capability) is not a capability; \(suggestion(for: capability, among: words))"
            )
        }
        if wanted == .manage { return grants.managing }
        guard let target else {
            throw CommandFailure(
                .usage, "Name the store: fluxbus access check … \(capability) STORE.")
        }
        let parts = target.split(separator: "/", maxSplits: 1).map(String.init)
        if wanted == .dispatch {
            guard let action = rest.first else {
                throw CommandFailure(.usage, "Name the action: … dispatch \(target) ACTION.")
            }
            return grants.dispatching(action, to: parts.count == 2 ? parts[1] : nil, ofType: parts[0])
        }
        guard parts.count == 2 else {
            throw CommandFailure(
                .usage, "\(target) is not a store; write TYPE/NAME, such as counter/kitchen.")
        }
        return grants.allowing(wanted, parts[1], ofType: parts[0])
    }
}
