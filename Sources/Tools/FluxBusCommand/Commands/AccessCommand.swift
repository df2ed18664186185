import ArgumentParser
import BusDefinitions
import BusJSON
import BusLogic
import BusProtocol

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

            Without --file they are those of the configuration. The rules are read from files, before they are reloaded, so no bus is needed. Users bring the groups that \
            they have on this machine. Exit code 0: allowed, maybe only where a condition holds; 77: forbidden.
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

    @Argument(help: "The action, for dispatch.")
    package var action: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let rules = try rules()
        let roles = rules.roles(of: try credentials())
        let allowing = try allowing(rules.grants(to: roles))
        let console = session.console
        guard console.form == .text else {
            try console.line([
                "allowed": .bool(!allowing.isEmpty), "roles": .array(roles.map(JSON.string)),
                "rules": .array(
                    allowing.map { rule in
                        [
                            "role": .string(rule.role), "place": .string(Self.place(of: rule)),
                            "if": .bool(rule.condition != nil),
                        ]
                    }),
            ])
            return allowing.isEmpty ? .forbidden : .success
        }
        try console.line("roles: \(roles.isEmpty ? "none" : roles.joined(separator: ", "))")
        for rule in allowing {
            let condition = rule.condition == nil ? "" : ", where its if holds"
            let most = rule.maxStores == .max ? "" : ", at most \(rule.maxStores) stores at once"
            let parts = capability == "read" && rule.parts != nil ? ", parts of the state" : ""
            try console.line(
                "allowed by \(Self.place(of: rule)), role \(rule.role)\(condition)\(most)\(parts)")
        }
        if allowing.isEmpty { try console.line("forbidden: no rule allows it") }
        return allowing.isEmpty ? .forbidden : .success
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
                (credentials.uid, credentials.groups) = AccountTable.lookUp(parts[1])
            case "uid":
                guard let uid = Int(parts[1]) else { throw wrong(text) }
                credentials.uid = uid
            case "group": credentials.groups.append(parts[1])
            case "unit": credentials.unit = parts[1]
            case "token": credentials.token = parts[1]
            case "certificate": credentials.certificate.append(parts[1])
            default: throw wrong(text)
            }
        }
        return credentials
    }

    private func wrong(_ text: String) -> CommandFailure {
        CommandFailure(
            .usage,
            "--as \(text) is not an identity; write user:NAME, uid:NUMBER, group:NAME, unit:NAME, token:NAME or certificate:NAME."
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
        if wanted == .manage { return grants.allowing(.manage) }
        guard let target else {
            throw CommandFailure(
                .usage, "Name the store: fluxbus access check … \(capability) STORE.")
        }
        let parts = target.split(separator: "/", maxSplits: 1).map(String.init)
        if wanted == .dispatch {
            guard let action else {
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
