import BusJSON
import FluxBus

/// Shows each commit as it comes, every one once and in order.
///
/// The log itself is shown; subscriptions only notify that there is more to read. One of them wants the actions,
/// because a commit may change nothing, the other one the changes, because a commit may be no dispatch. So it does not
/// matter whether events were merged or lost: after a bus disconnects us as too slow, we connect again.
final class CommitFollower {
    private let session: CommandSession
    private let log: CommitLog
    private let target: String?
    private let filter: CommitFilter
    /// Everything up to here has been shown.
    private var shown: Int

    init(
        _ session: CommandSession, log: CommitLog, target: String?, filter: CommitFilter, after revision: Int
    ) {
        self.session = session
        self.log = log
        self.target = target
        self.filter = filter
        shown = revision
    }

    /// Follows until the output, the bus or the requested number ends.
    func run(over first: BusConnection) throws {
        var connection = first
        let epoch = try epoch(of: connection)
        while true {
            do {
                return try follow(connection)
            } catch let error as BusError where error.details["reason"] == "slow_consumer" {
                connection = try session.connect()
                guard try self.epoch(of: connection) == epoch else { throw error }
            }
        }
    }

    private func epoch(of connection: BusConnection) throws -> String? {
        try connection.hello(client: "fluxbus", until: session.replyDeadline)["epoch"]?.string
    }

    private func follow(_ connection: BusConnection) throws {
        let selector = StoreSelector(target ?? "*").member
        for actions in [true, false] {
            let request = BusRequest(
                "subscribe",
                [
                    selector.name: selector.value, "initial": actions ? nil : false,
                    "actions": actions ? true : nil,
                ])
            try connection.request(request, until: session.replyDeadline)
        }
        let reader = HistoryReader(session, connection, target: target, filter: filter)
        // What was committed before the subscriptions has no event.
        try showNews(reader, at: nil)
        while !log.isComplete {
            while let line = connection.receiveLineIfReady() {
                guard case .event(let name, let event) = try BusMessage(parsing: line) else { continue }
                if name == "goodbye" { throw BusMessage.goodbye(event) }
                guard let revision = event["revision"]?.int, revision > shown else { continue }
                try showNews(reader, at: revision)
                if log.isComplete { return }
            }
            try session.console.flush()
            let wakeup = try connection.wait(output: session.console.output.descriptor)
            if wakeup.outputClosed { return }
        }
    }

    /// Shows what the log has after `shown`. When an event said that the bus was at `revision`, everything up to it is
    /// in the log by now, so commits to other stores need not be looked at again.
    private func showNews(_ reader: HistoryReader, at revision: Int?) throws {
        let start = shown
        try reader.forEach(after: start) { commit in
            shown = max(shown, commit["revision"]?.int ?? shown)
            try log.take(commit)
            return !log.isComplete
        }
        shown = max(shown, revision ?? start)
    }
}
