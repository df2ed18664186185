import ArgumentParser
import BusLogic
import FluxBus
import Glibc

/// `fluxbus on`: runs a command whenever something happens.
package struct OnCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "on",
        abstract: "Run a command for each action, or when a condition becomes true.",
        discussion: """
            Examples:
              fluxbus on 'door/*' rang -- echo {} rang       for each of these actions
              fluxbus on door/front rang --count 1 --since start -- cat   the first one, ever
              fluxbus on counter --becomes 'count > 9' --since start --count 1 -- echo {} is full
              fluxbus on counter --becomes 'count > 9' --for 1s --since start --count 1 -- echo {} stays so

            The command stands behind -- and is run without a shell. In its arguments {} is the name of the store, \
            front of door/front. Its environment has FLUXBUS_STORE (door/front), FLUXBUS_ACTION, FLUXBUS_REVISION, \
            FLUXBUS_TIME (seconds since 1970) and FLUXBUS_USER; it reads the payload as one line of JSON, or for a \
            condition the state. An action that went to all stores of a type runs it once, with the type (door) in place \
            of the store.

            Commands of one store run one after the other, in the order of the bus; of several stores --jobs at a time. One \
            that fails is reported, and --fail-fast ends with its status. While \(CommandRuns.mostWaiting) wait, nothing more \
            is read, and the bus keeps the rest. SIGTERM, SIGINT and SIGHUP end the commands with SIGTERM, and after \
            \(CommandRuns.grace.components.seconds) seconds with SIGKILL, and what is printed then says how to continue.

            A condition counts when it becomes true after it was false; where it holds at the start, nothing is run. \
            With --for it must have held for as long as that.
            """)

    @Argument(
        help: "A store (door/front), a type (door) or a pattern ('door/*').",
        completion: .custom(BusCompletion.targets))
    package var target: String

    @Argument(help: "The action's name.", completion: .custom(BusCompletion.actions))
    package var action: String?

    @Option(
        help: ArgumentHelp(
            "Run it when this becomes true: text such as 'count > 3', or JsonLogic where it begins with {.",
            valueName: "expression"))
    package var becomes: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "With --becomes: once that has held for so long, as 30s or 10m.", valueName: "time"))
    package var span: TimeSpan?

    @Option(
        help: ArgumentHelp(
            "Begin after a revision or a time, with all that is kept (start), or now.", valueName: "revision"),
        completion: .list(["start", "now", "1h", "yesterday"]), transform: StartArgument.parse)
    package var since = StartArgument.now

    @Option(help: "The epoch that --since belongs to; without it that of the bus.")
    package var epoch: String?

    @Option(help: ArgumentHelp("How many commands may run at a time.", valueName: "number"))
    package var jobs = 1

    @Option(help: ArgumentHelp("End after this many commands.", valueName: "number"))
    package var count: Int?

    @Flag(help: "End when a command fails, with its status.")
    package var failFast = false

    @Argument(parsing: .postTerminator, help: "The command, behind --.")
    package var command: [String] = []

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard !command.isEmpty else {
            throw ValidationError("Write the command behind --, as in: fluxbus on door rang -- echo {}")
        }
        guard (action == nil) != (becomes == nil) else {
            throw ValidationError("Name an action, as in `door rang`, or give a condition with --becomes.")
        }
        guard span == nil || becomes != nil, span?.duration != nil || span == nil else {
            throw ValidationError("--for goes with --becomes, and is a length of time such as 10m.")
        }
        guard 1...CommandRuns.mostJobs ~= jobs else {
            throw ValidationError("--jobs is from 1 to \(CommandRuns.mostJobs).")
        }
        guard count ?? 1 > 0 else { throw ValidationError("--count must be at least 1.") }
        guard epoch == nil || since != .now else {
            throw ValidationError("--epoch goes with --since: it says of which history that is.")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let trigger: OccurrenceFeed.Trigger =
            if let becomes {
                .condition(try Expression.condition(becomes), hold: span?.duration)
            } else {
                .action(action ?? "")
            }
        let feed = OccurrenceFeed(session, StoreSelector(target), trigger)
        let runs = CommandRuns(command, jobs: jobs, limit: count)
        let loop = try OccurrenceLoop(session, feed, runs, failsFast: failFast)
        try loop.run(since: since == .now ? nil : since, epoch: epoch)
        return .success
    }
}

/// Takes what happens from the bus, and runs commands for it, until a signal, a number or a failure ends it.
private final class OccurrenceLoop {
    private let session: CommandSession
    private let feed: OccurrenceFeed
    private let runs: CommandRuns
    private let failsFast: Bool
    private let bus: LastingConnection
    /// The revision of what failed and ends it.
    private var failed: Int?

    init(_ session: CommandSession, _ feed: OccurrenceFeed, _ runs: CommandRuns, failsFast: Bool) throws {
        (self.session, self.feed, self.runs, self.failsFast) = (session, feed, runs, failsFast)
        bus = try LastingConnection(session, patience: session.options.timeout, resume: feed.resume)
    }

    func run(since: StartArgument?, epoch: String?) throws {
        if let connection = bus.connection { try feed.begin(on: connection, since: since, epoch: epoch) }
        do {
            while !runs.isComplete {
                try turn()
                for signal in bus.signals.arrived() where signal != SIGCHLD { return try end() }
            }
        } catch {
            try end()
            throw error
        }
    }

    private func turn() throws {
        try report(runs.reap())
        while runs.hasRoom, let line = bus.nextLine() {
            guard let occurrences = try feed.take(line) else {
                try bus.lose()
                break
            }
            for occurrence in occurrences { runs.add(occurrence) }
        }
        let failures = runs.start()
        try report(failures)
        if runs.hasRoom, let connection = bus.connection { feed.ask(on: connection) }
        // What could not be started made room for what can.
        guard failures.isEmpty, !runs.isComplete else { return }
        let canAsk = runs.hasRoom && bus.connection != nil
        try bus.wait(reading: runs.hasRoom, until: canAsk ? feed.nextDue : .never)
    }

    private func report(_ failures: [CommandRuns.Failure]) throws {
        for failure in failures {
            session.console.report(CommandFailure(.no, failure.sentence))
            guard failsFast else { continue }
            failed = failure.occurrence.revision
            throw ProgramEnd(status: failure.status)
        }
    }

    /// Ends the commands, and says how to continue.
    private func end() throws {
        let unfinished = [runs.unfinished, failed].compactMap { $0 }.min()
        runs.end(bus.signals)
        guard let (since, epoch) = feed.standing(unfinished: unfinished) else { return }
        try session.console.note("To continue: --since \(since) --epoch \(epoch)")
    }
}
