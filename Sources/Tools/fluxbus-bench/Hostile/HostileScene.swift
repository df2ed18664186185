import FluxBus

/// The innocent client's stores and connections, made before an attack begins.
final class HostileScene: @unchecked Sendable {
    // The connections are made on one thread and passed to another, which alone uses them from then on.
    private let dispatcher: BusConnection
    private let subscriber: BusConnection
    private let revision: Int

    private static let patience = Duration.seconds(60)

    init(_ address: BusAddress) throws {
        let connect = { () throws in
            try BusConnection(
                to: address, client: "fluxbus-bench", until: Deadline(after: Self.patience))
        }
        dispatcher = try connect()
        subscriber = try connect()
        try dispatcher.exchange(Innocent.stores, patience: Self.patience) { number in
            BusRequest("create", ["store": .string("\(Innocent.type)/s\(number)")])
        }
        let deadline = Deadline(after: Self.patience)
        try subscriber.request(BusRequest("subscribe", ["type": .string(Innocent.type)]), until: deadline)
        guard case .event(_, let event) = try BusMessage(parsing: subscriber.receiveLine(until: deadline)),
            let revision = event["revision"]?.int
        else { throw BusError(.unexpectedReply, "The bus did not tell the states that were subscribed to.") }
        self.revision = revision
    }

    /// For the thread that owns it from then on.
    func innocent() -> Innocent {
        Innocent(dispatcher: dispatcher.descriptor, subscriber: subscriber.descriptor, revision: revision)
    }
}
