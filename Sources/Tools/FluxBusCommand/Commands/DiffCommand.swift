import ArgumentParser
import BusJSON
import FluxBus

/// `fluxbus diff`: what differs between two revisions.
package struct DiffCommand: BusCommand {
    package static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show what differs between two revisions or times.",
        discussion: """
            Examples:
              fluxbus diff 3 now
              fluxbus diff now-1 now counter         what the newest commit did to the counters
              fluxbus diff 3 5 'counter/*' --json
              fluxbus diff yesterday now             since yesterday began

            In a pipe each line is one difference: {"store": address, "path": pointer, "old": value, "new": value}; a \
            store that came has no `old` and one that went no `new`. The code is 0 when nothing differs and 1 when \
            something does.
            """)

    @Argument(
        help: ArgumentHelp(
            "The earlier revision (3, now, now-3) or time (2h, yesterday, 2026-11-21T10:00).",
            valueName: "from"), completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var from: RevisionArgument

    @Argument(
        help: ArgumentHelp("The later revision or time.", valueName: "to"),
        completion: RevisionArgument.completion, transform: RevisionArgument.parse)
    package var to: RevisionArgument

    @OptionGroup package var states: StateArguments

    @OptionGroup package var options: GlobalOptions

    package init() {}

    package func perform(in session: CommandSession) throws -> CommandStatus {
        let connection = try session.connect()
        // `now` is resolved once: both sides are read while the bus continues.
        let revisions = [
            try from.resolved(on: connection, in: session), try to.resolved(on: connection, in: session),
        ]
        let readers = revisions.map {
            StateReader(
                session, connection, StoreSelector(states.target), select: states.select, revision: $0)
        }
        var old = AddressedStates(readers[0])
        var new = AddressedStates(readers[1])
        var printer = DifferencePrinter(console: session.console)
        while let address = AddressedStates.first(try old.address(), try new.address()) {
            let difference = StateDifference.between(try old.take(address), try new.take(address))
            let type = String(address.prefix { $0 != "/" })
            // What has a past on one side alone did not come or go in between.
            if readers.contains(where: { $0.gone[type] != nil }) { continue }
            try printer.show(difference, of: address)
        }
        try readers.first { !$0.gone.isEmpty }?.noteGone(on: session.console)
        if let error = old.absence, new.absence != nil { throw error }
        if printer.isEmpty, session.console.form == .text { try session.console.note("Nothing differs.") }
        return printer.isEmpty ? .success : .no
    }
}

/// The states of one side, ascending by address, with a look ahead.
private struct AddressedStates {
    private let reader: StateReader
    private var head: (address: String, state: JSON)?
    private var hasEnded = false
    /// The bus's error if there was no such store or type at that time: on one side that is an answer.
    private(set) var absence: BusError?

    init(_ reader: StateReader) { self.reader = reader }

    mutating func address() throws -> String? {
        if head == nil, !hasEnded {
            do {
                head = try reader.next()
            } catch let error as BusError where [.unknownStore, .unknownType].contains(error.code) {
                absence = error
            }
            hasEnded = head == nil
        }
        return head?.address
    }

    /// Takes the state at `address`; nil when this side has none there.
    mutating func take(_ address: String) throws -> JSON? {
        guard try self.address() == address else { return nil }
        defer { head = nil }
        return head?.state
    }

    /// The first of two addresses in order.
    static func first(_ left: String?, _ right: String?) -> String? {
        guard let left, let right else { return left ?? right }
        return UTF8Order.precedes(right, left) ? right : left
    }
}
