import FluxBus
import TestServer

extension LiveBus {
    var busAddress: BusAddress { .unix(path: path("s")) }

    /// A bus of the client library, which waits as long as a busy machine needs.
    func connect(_ change: (inout BusOptions) -> Void = { _ in }) async throws -> Bus {
        var options = BusOptions()
        options.timeout = .seconds(240)
        options.backOff = BackOff(first: .milliseconds(1), longest: .milliseconds(20))
        change(&options)
        return try await Bus.connect(busAddress, options: options)
    }
}
