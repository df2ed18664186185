import ArgumentParser
import BusJSON
import BusLogic
import FluxBus
import Glibc

/// `fluxbus wait`: waits until the bus answers, a store exists, or an expression holds.
package struct WaitCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the bus answers, a store exists, or an expression holds.",
        discussion: """
            Examples:
              fluxbus wait                                   until the bus answers
              fluxbus wait counter/kitchen --timeout 1m      until the store exists
              fluxbus wait counter/kitchen --timeout never   however long that takes
              fluxbus wait counter/kitchen 'count > 9'

            The expression is over the store's state, computed values included; `man fluxbus-types` describes \
            it. An object in JSON with an operator is JsonLogic. Made for scripts and \
            units, as in ExecStartPre=. Nothing is polled: once connected, the bus says when it holds. After \
            --timeout the code is 75. With --timeout 0 it looks once, and the code is 1 when it does not hold.
            """)

    @Argument(help: "The store: TYPE/NAME.", completion: .custom(BusCompletion.targets))
    package var store: String?

    @Argument(help: "An expression that must hold on the store's state.")
    package var expression: String?

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func validate() throws {
        guard store?.contains("/") ?? true else {
            throw ValidationError("Name one store, TYPE/NAME, as in: fluxbus wait \(store ?? "counter")/main")
        }
    }

    package func perform(in session: CommandSession) throws -> CommandStatus {
        try Waiter(
            session: session, store: store,
            expression: expression.map { try .argument($0, isCondition: true) }
        ).run()
    }
}

/// Waits for a bus, on it for a store, and for an expression to hold on its state, within one span of time.
///
/// While nothing answers it retries with growing pauses; once connected it subscribes and is notified. When a
/// connection ends it starts over.
struct Waiter {
    private static let shortestPause = 10
    private static let longestPause = 500
    /// The time limit of one exchange when `--timeout 0` asks for a single look.
    private static let onceTimeout = Duration.seconds(5)

    let session: CommandSession
    let store: String?
    let expression: Expression?

    private var looksOnce: Bool { session.options.timeout.duration == Duration.zero }

    func run() throws -> CommandStatus {
        let deadline = Deadline(after: looksOnce ? Self.onceTimeout : session.options.timeout.duration)
        var pause = Self.shortestPause
        while true {
            do {
                return try attempt(until: deadline)
            } catch let error as BusError {
                guard Self.mayPass(error), !looksOnce else { throw error }
                guard !deadline.hasPassed else { throw timedOut(error) }
            }
            var left = Int(deadline.pollTimeout)
            if left < 0 { left = pause }
            _ = poll(nil, 0, Int32(min(pause, left)))
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// Whether a retry can help.
    private static func mayPass(_ error: BusError) -> Bool {
        [.unreachable, .closed, .timedOut, .unavailable].contains(error.code)
    }

    private func attempt(until deadline: Deadline) throws -> CommandStatus {
        let connection = try session.connect(until: deadline)
        guard let store else {
            try connection.request(BusRequest("ping"), until: deadline)
            return .success
        }
        try connection.request(BusRequest("subscribe", ["store": .string(store)]), until: deadline)
        var mirror = BusMirror()
        while true {
            guard
                case .event(_, let event) = try BusMessage(parsing: connection.receiveLine(until: deadline)),
                try mirror.fold(event) != nil
            else { continue }
            if let state = mirror.states[store], holds(on: state) { return .success }
            if looksOnce { return .no }
        }
    }

    /// An expression without a value, as a computed value without one, is not true: the next state may give it one.
    private func holds(on state: JSON) -> Bool {
        guard let expression else { return true }
        return (try? expression.holds(on: state)) ?? false
    }

    private func timedOut(_ error: BusError) -> CommandFailure {
        let span = session.options.timeout
        let awaited =
            switch (store, expression) {
            case (let store?, nil): "\(store) was not created"
            case (let store?, _): "The expression did not become true on \(store)"
            case (nil, _): "No bus answered"
            }
        let reason = error.code == .timedOut ? "" : ": \(error.message)"
        return CommandFailure(.temporary, "\(awaited) within \(span)\(reason.isEmpty ? "." : reason)")
    }
}
