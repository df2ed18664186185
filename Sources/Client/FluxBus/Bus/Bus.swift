import BusJSON
import Synchronization

/// A lasting connection to a bus: any number of tasks share it, and it reconnects by itself when it is lost.
///
/// ```swift
/// let bus = try await Bus.connect()
/// let reply = try await bus.dispatch("increment", to: .store("counter/kitchen"), payload: ["by": 2])
/// for try await event in try await bus.subscribe(to: .type("counter")) { … }
/// ```
///
/// **Order.** Requests of one task are sent in its order, answers and events come in the order of the bus: when
/// `dispatch` returns revision R, everything up to R has been delivered to every subscription of this connection.
///
/// **Exactly once.** Dispatches, creations and drops carry a key, so that one whose answer was lost with the connection
/// is sent again without being committed twice. If the outcome can't be known (a new epoch, forgotten keys, a request
/// without a key), it fails with `outcome_unknown`.
///
/// **Restored** with a new connection: the will and ephemeral stores (with the state they were created with), where the bus has not
/// kept them, what ``store(_:of:creating:isEphemeral:isOptimistic:)`` has created and a restart has lost, subscriptions at their
/// positions, then the unanswered requests in their order.
///
/// The connection ends with `close()`, or when the last reference to the `Bus` is released; subscriptions end with it.
public final class Bus: Sendable {
    let core: BusCore

    private init(_ core: BusCore) { self.core = core }

    deinit { core.close(within: core.options.closeTimeout) }

    /// Connects and sends a hello for this program.
    ///
    /// Without an address: `$FLUXBUS_ADDRESS`, which may have several, then `$XDG_RUNTIME_DIR/fluxbus/bus.sock`, then
    /// `/run/fluxbus/bus.sock`. Over TCP it sends the token of the options, or `$FLUXBUS_TOKEN`; over TLS it shows their
    /// certificate, or `$FLUXBUS_CERTIFICATE` with `$FLUXBUS_KEY`, or sends a token, or both.
    ///
    /// Throws `invalid_address`, `invalid_options`, `untrusted`, `unreachable` (unless the options have patience), `forbidden`,
    /// `unauthorized`, `timed_out` or `cancelled`.
    public static func connect(
        _ address: BusAddress? = nil, options: BusOptions = BusOptions()
    ) async throws(BusError) -> Bus {
        let addresses = if let address { [address] } else { try BusAddress.list(environment: environment) }
        return try await connect(addresses, options: options)
    }

    /// Connects to a bus that can be reached at several addresses: those of its machines.
    ///
    /// ```swift
    /// let bus = try await Bus.connect([.tls(host: "one", port: 7412), .tls(host: "two", port: 7412)])
    /// ```
    ///
    /// They are tried in order, each for its share of the time that an attempt may take; one that answers nothing does not use up
    /// that of the others. A connection that is lost is made again at the address where it was, or at the next.
    public static func connect(
        _ addresses: [BusAddress], options: BusOptions = BusOptions()
    ) async throws(BusError) -> Bus {
        try await connect(addresses, options: options, over: HostSystem.transport)
    }

    /// Connects over a transport of the caller's choice. `transport` is called once the addresses and options are valid.
    package static func connect(
        _ addresses: [BusAddress], options: BusOptions, over transport: () throws(BusError) -> any Transport
    ) async throws(BusError) -> Bus {
        let token = options.token ?? environment["FLUXBUS_TOKEN"]
        var options = options
        options.tls = options.tls.filled(from: environment)
        guard !addresses.isEmpty else {
            throw BusError(.invalidAddress, "There is no address to connect to; give one.")
        }
        for address in addresses
        where address.isRemote && token == nil && !address.takesCertificate(of: options.tls) {
            throw BusError(
                .unauthorized,
                "The bus at \(address) asks for a token: give it in the options or in $FLUXBUS_TOKEN.")
        }
        let core = BusCore(addresses, options: options, transport: try transport())
        var randomness = SystemRandomNumberGenerator()
        let seed = options.seed ?? randomness.next()
        try core.transport.run(named: options.client.map { "fluxbus \($0)" } ?? "fluxbus") {
            BusDriver(core, token: token, seed: seed)
        }
        let bus = Bus(core)
        let failure = await withTaskCancellationHandler {
            await core.awaitOpening()
        } onCancel: {
            core.close(within: .zero)
        }
        if Task.isCancelled { throw BusCore.cancelled }
        if let failure { throw failure }
        return bus
    }

    /// Makes the next attempt to connect at once, where one is waited for: when the network is back, for example.
    public func reconnect() { core.hand(over: .reconnect) }

    /// Ends the connection when every submitted request is answered, at the latest after `closeTimeout` of the options;
    /// then the remaining ones fail. Requests made from now on fail with `closed`. Returns when all of it is done.
    public func close() async {
        core.close(within: core.options.closeTimeout)
        await core.awaitEnd()
    }

    // MARK: - Status

    /// The status of the connection.
    public var status: BusStatus { core.state.withLock { $0.status } }

    /// The connection's notices from now on. Each call returns a stream of its own, which ends with the bus; a slow
    /// reader loses the oldest notices beyond 256.
    public var notices: AsyncStream<BusNotice> { core.observeNotices() }

    /// The bus's greeting on the present connection, or the last one.
    public var greeting: BusGreeting {
        guard let greeting = core.state.withLock({ $0.greeting }) else {
            preconditionFailure("A bus is handed out only after it was greeted.")
        }
        return greeting
    }

    /// The highest revision seen so far in this epoch.
    public var revision: Int { core.revision.load(ordering: .relaxed) }

    /// The address of the bus, on the present connection or the last one.
    public var address: BusAddress { core.address }

    /// The variables that are used; nothing else of the environment is read.
    static var environment: [String: String] {
        var found: [String: String] = [:]
        for name in ["FLUXBUS_ADDRESS", "XDG_RUNTIME_DIR", "FLUXBUS_TOKEN"] + TLSOptions.variables {
            found[name] = HostSystem.variable(name)
        }
        return found
    }
}
