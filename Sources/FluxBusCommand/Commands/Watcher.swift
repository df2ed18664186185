import BusJSON
import FluxBus

/// Takes a connection's events and shows them until the connection, the output or the wanted number ends.
///
/// For programs, lines pass as the bus sent them. For people, a mirror per subscription gives what was before.
final class Watcher {
    private let session: CommandSession
    private let connection: BusConnection
    private var remaining: Int?
    private var mirrors: [Int: Mirror] = [:]
    private var text: ChangeText

    private var console: Console { session.console }

    /// Ends after `limit` events; never without one.
    init(session: CommandSession, connection: BusConnection, limit: Int?) {
        self.session = session
        self.connection = connection
        remaining = limit
        text = ChangeText(style: session.console.style, width: session.console.width)
    }

    /// Watches the subscription that a reply to `subscribe` announces.
    func add(subscription reply: JSONObject, mirror: Mirror) {
        if let sub = reply["sub"]?.int { mirrors[sub] = mirror }
    }

    func run() throws {
        while true {
            while let line = connection.receiveLineIfReady() {
                try take(line)
                if remaining == 0 { return }
            }
            try console.flush()
            // Also wakes up when nobody reads our output any more, so that `watch | head -1` ends at once.
            let wakeup = try connection.wait(output: console.output.descriptor)
            if wakeup.outputClosed { return }
        }
    }

    private func take(_ line: [UInt8]) throws {
        guard case .event(let name, let event) = try BusMessage(parsing: line) else { return }
        switch console.form {
        case .lines: try console.output.write(line: line)
        case .text: try show(name, event)
        }
        if name == "goodbye" { throw Self.failure(goodbye: event) }
        if name != "bookmark", event["more"]?.bool != true, let left = remaining { remaining = left - 1 }
    }

    private func show(_ name: String, _ event: JSONObject) throws {
        let now = session.context.now()
        text.width = console.width
        switch name {
        case "change", "bookmark":
            guard let sub = event["sub"]?.int, mirrors[sub] != nil else { return }
            guard let change = try mirrors[sub]?.fold(event) else { return }
            let cause = event["cause"]
            let time = cause?["time"]?.double.map { Int($0 * 1000) } ?? now
            for line in text.lines(change, cause: cause, at: time) { try console.line(line) }
        case "action": try console.line(text.line(action: event, at: now))
        case "gap": try console.line(text.note("older actions are no longer kept", at: now))
        default: break
        }
    }

    /// The bus says why it ends; the status says whether trying again helps.
    private static func failure(goodbye event: JSONObject) -> CommandFailure {
        let reason = event["code"]?.string ?? "closed"
        let message = event["message"]?.string ?? "The bus ended the connection (\(reason))."
        let status: CommandStatus =
            switch reason {
            case "slow_consumer", "limit": .temporary
            case "protocol": .internal
            default: .unreachable
            }
        return CommandFailure(status, message)
    }
}
