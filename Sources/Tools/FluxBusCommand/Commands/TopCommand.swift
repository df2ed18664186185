import ArgumentParser
import BusJSON
import FluxBus
import Glibc

/// `fluxbus top`: the bus live, on the whole screen.
package struct TopCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "top",
        abstract:
            "Show what happens on the bus: rates, latencies, memory, the busiest types, actions and clients.",
        discussion: """
            Examples:
              fluxbus top --once                     one table, and no more
              fluxbus top --once --json | jq .rates.commits

            On a terminal it fills the screen and is live. Keys: q quits, space pauses, s sorts by the next column, \
            1, 2 and 3 show types, actions and clients, + and - change the interval, ? explains. Rates and latencies \
            are those between two updates; `max` is at most the longest since the start. A lost connection is shown, \
            and for --timeout it tries to connect again. Where the bus has access rules, only those who may manage it \
            see more than its revision.
            """)

    @Option(help: ArgumentHelp("Time between updates.", valueName: "time"))
    package var interval = TimeSpan(duration: .seconds(1))

    @Flag(help: "Print rates once, over one interval, and end.")
    package var once = false

    @OptionGroup package var options: GlobalOptions
    package var isOpenEnded: Bool { true }

    package init() {}

    package func validate() throws {
        guard let length = interval.duration, length >= .milliseconds(100), length <= .seconds(3600) else {
            throw ValidationError("--interval takes 100ms to 1h.")
        }
        if options.json && !once { throw ValidationError("--json needs --once: the screen is not JSON.") }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let address = try session.addresses().map(\.description).joined(separator: " ")
        let screen = TopScreen(
            address: address, style: session.console.style, isUTF8: Self.isUTF8(session.context.environment),
            users: session.users)
        if once { return try printOnce(screen, in: session) }
        guard session.console.output.isTerminal, session.console.output.descriptor != nil else {
            throw CommandFailure(
                .usage,
                "fluxbus top needs a terminal: with --once it prints one table and ends.")
        }
        var view = TopView()
        view.interval = Self.seconds(interval)
        let signal = try TopProgram(session, screen: screen, view: view).run()
        // It ends as whoever sent the signal expects.
        if let signal { raise(signal) }
        return .success
    }

    /// Two samples, and what lies between them.
    private func printOnce(_ screen: TopScreen, in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        let clock = ContinuousClock()
        let start = clock.now
        let first = try sample(on: connection, in: session, since: start)
        let deadline = Deadline(after: interval.duration)
        while !deadline.hasPassed { _ = try connection.wait(until: deadline) }
        let model = TopModel(try sample(on: connection, in: session, since: start), since: first)
        if session.console.form == .lines {
            try session.console.line(model.json)
        } else {
            for line in screen.page(model, width: session.console.width) { try session.console.line(line) }
        }
        return .success
    }

    private func sample(
        on connection: BusConnection, in session: CommandSession, since start: ContinuousClock.Instant
    ) throws -> TopSample {
        var sampler = TopSampler()
        var requests = sampler.begin()[...]
        while let request = requests.popFirst() {
            let reply: JSONObject
            do throws(BusError) {
                reply = try connection.request(request, until: session.replyDeadline)
            } catch {
                // An older bus lists none.
                guard request.op == "clients", error.code == .unknownOperation else { throw error }
                reply = ["ok": false]
            }
            let time = Self.seconds(TimeSpan(duration: start.duration(to: .now)))
            switch try sampler.take(reply, at: time) {
            case .ask(let next): requests.append(next)
            case .sample(let sample): return sample
            case .wait: break
            }
        }
        throw CommandFailure(
            .internal, "The bus sent no usable statistics: use a fluxbus of the daemon's version.")
    }

    private static func seconds(_ span: TimeSpan) -> Double {
        let (seconds, attoseconds) = (span.duration ?? .zero).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// Whether the locale's characters are UTF-8.
    package static func isUTF8(_ environment: [String: String]) -> Bool {
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let name = locale.lowercased()
        return name.contains("utf-8") || name.contains("utf8")
    }
}
