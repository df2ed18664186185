import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus watch`: changes as they are committed.
package struct WatchCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what changes, as it changes.",
        discussion: """
            Examples:
              fluxbus watch                              everything
              fluxbus watch counter                      every store of a type
              fluxbus watch counter/kitchen 'todo/*'
              fluxbus watch thermostat --select /target --select /heating
              fluxbus watch light --where isOn           those that are on now
              fluxbus watch door --actions --cause       who rang, also when no state changed
              fluxbus watch door --with-actions          both, in order
              fluxbus watch counter --count 1            the state now, and no more
              fluxbus watch counter --timeout never      reconnect however long it takes

            A store that does not exist yet may be watched. In a pipe every event is printed as the bus sends it. \
            A lost connection is reported on standard error; for --timeout it tries to connect again and continues \
            after what was shown. To continue later, give the last event's revision as --since and the epoch that \
            `fluxbus ping` prints as --epoch; if that history is gone, the first event is a reset. Ctrl-C ends it.
            """)

    @Argument(
        help: "Stores (counter/kitchen), types (counter) or patterns ('counter/*'); everything without any.",
        completion: .custom(BusCompletion.targets))
    package var patterns: [String] = []

    @OptionGroup package var filter: WhereArgument

    @Option(
        help: ArgumentHelp(
            "Only this part of the states, a JSON Pointer; may be repeated.", valueName: "pointer"))
    package var select: [String] = []

    @Option(help: ArgumentHelp("How changes are sent: merge, patch or state.", valueName: "format"))
    package var format = FormatArgument.merge

    @Option(help: ArgumentHelp("Continue after this revision; needs --epoch.", valueName: "revision"))
    package var since: Int?

    @Option(help: "The epoch that --since belongs to.")
    package var epoch: String?

    @Flag(help: "Show which action caused a change, and who sent it.")
    package var cause = false

    @Flag(help: "Show the actions themselves instead of the changes.")
    package var actions = false

    @Flag(help: "Show the actions as well, each before the change that it caused.")
    package var withActions = false

    @Flag(help: "Omit the initial states; start with the next change.")
    package var noInitial = false

    @Option(help: ArgumentHelp("End after this many events; bookmarks don't count.", valueName: "number"))
    package var count: Int?

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard (since == nil) == (epoch == nil) else {
            throw ValidationError(
                "--since and --epoch belong together: a revision only has a meaning within its epoch.")
        }
        guard count ?? 1 > 0 else { throw ValidationError("--count must be at least 1.") }
        if actions && withActions {
            throw ValidationError("--actions shows actions only, --with-actions both: give one of them.")
        }
        if since != nil && noInitial { throw ValidationError("Give either --since or --no-initial.") }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let mirrored = BusMirror.Format(rawValue: format.rawValue) ?? .merge
        let condition = try filter.condition()
        let watched = (patterns.isEmpty ? ["*/*"] : patterns).flatMap { pattern in
            (withActions ? [true, false] : [actions]).map {
                WatchedStores(request(StoreSelector(pattern), condition, actions: $0), format: mirrored)
            }
        }
        try Watcher(session: session, watched, limit: count, sorting: withActions)
            .run(since: since, epoch: epoch, withoutFirstState: noInitial)
        return .success
    }

    private func request(_ selector: StoreSelector, _ condition: JSON?, actions: Bool) -> BusRequest {
        BusRequest(
            "subscribe",
            [
                selector.member.name: selector.member.value,
                "where": condition,
                "select": select.isEmpty || actions && withActions ? nil : .array(select.map(JSON.string)),
                "format": format == .merge || actions && withActions ? nil : .string(format.rawValue),
                "cause": cause && !(actions && withActions) ? true : nil,
                "actions": actions ? true : nil,
            ])
    }
}

/// The wire's change formats as an option's values.
package enum FormatArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case merge, patch, state
}
