import BusJSON
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A connection to a bus that lasts: any number of tasks share it, and it comes back by itself when it is lost.
///
/// ```swift
/// let bus = try await Bus.connect()
/// let reply = try await bus.dispatch("increment", to: .store("counter/kitchen"), payload: ["by": 2])
/// for try await event in try await bus.subscribe(to: .type("counter")) { … }
/// ```
///
/// **Order.** Requests of one task go out in its order, answers and events come in the order of the bus: when
/// `dispatch` returns revision R, every subscription of this connection has been handed all up to R.
///
/// **Exactly once.** Dispatches, creations and drops carry a key, so that one whose answer was lost with the
/// connection is sent again without being committed twice. What can't be known (a new epoch, forgotten keys, a request
/// without a key) fails with `outcome_unknown`.
///
/// **What comes back** with a new connection: the will, ephemeral stores (with the state they were made with),
/// subscriptions where they stood, then the unanswered requests in their order.
///
/// The connection ends with `close()`, or when the last reference to the `Bus` goes; subscriptions end with it.
public final class Bus: Sendable {
    let core: BusCore

    private init(_ core: BusCore) { self.core = core }

    deinit { core.close(within: core.options.closeTimeout) }

    /// Connects and introduces this program.
    ///
    /// Without an address: `$FLUXBUS_ADDRESS`, then `$XDG_RUNTIME_DIR/fluxbus/bus.sock`, then
    /// `/run/fluxbus/bus.sock`. Over TCP the token of the options, or `$FLUXBUS_TOKEN`, is shown.
    ///
    /// Throws `invalid_address`, `unreachable` (unless the options have patience), `forbidden`, `unauthorized`,
    /// `timed_out` or `cancelled`.
    public static func connect(
        _ address: BusAddress? = nil, options: BusOptions = BusOptions()
    ) async throws(BusError) -> Bus {
        let address = if let address { address } else { try BusAddress.resolve(environment: environment) }
        let token = options.token ?? environment["FLUXBUS_TOKEN"]
        if case .tcp = address, token == nil {
            throw BusError(
                .unauthorized,
                "The bus at \(address) asks for a token: give it in the options or in $FLUXBUS_TOKEN.")
        }
        let core = try BusCore(address, options: options)
        var randomness = SystemRandomNumberGenerator()
        try BusThread.start(core, token: token, seed: options.seed ?? randomness.next())
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

    /// Ends the connection when everything on its way is answered, at the latest after `closeTimeout` of the options;
    /// then what is left fails. Requests made from now on fail with `closed`. Returns when all of it is done.
    public func close() async {
        core.close(within: core.options.closeTimeout)
        await core.awaitEnd()
    }

    // MARK: - What can be seen of it

    /// Where it stands.
    public var status: BusStatus { core.state.withLock { $0.status } }

    /// What happens to the connection from now on. Each call gives a stream of its own, which ends with the bus; who
    /// does not read loses the oldest notices past 256.
    public var notices: AsyncStream<BusNotice> { core.observeNotices() }

    /// What the bus said of itself on the present connection, or the last one.
    public var greeting: BusGreeting {
        guard let greeting = core.state.withLock({ $0.greeting }) else {
            preconditionFailure("A bus is handed out only after it was greeted.")
        }
        return greeting
    }

    /// The highest revision seen so far in this epoch.
    public var revision: Int { core.revision.load(ordering: .relaxed) }

    /// Where the bus listens.
    public var address: BusAddress { core.address }

    /// The variables that matter here; nothing else of the environment is read.
    private static var environment: [String: String] {
        var found: [String: String] = [:]
        for name in ["FLUXBUS_ADDRESS", "XDG_RUNTIME_DIR", "FLUXBUS_TOKEN"] {
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
        return found
    }
}
