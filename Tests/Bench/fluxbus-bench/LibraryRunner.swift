import BusJSON
import Dispatch
import FluxBus
import Synchronization

/// The measuring loop for the client library: one `Bus`, one task that keeps a number of dispatches in flight and
/// awaits the oldest before it starts the next.
///
/// Every reply is awaited and checked. Times are those a program sees: from the start of a dispatch to the moment when
/// its answer has been awaited.
final class LibraryRunner: Sendable {
    private let load: Load
    private let action: String
    private let target: DispatchTarget
    private let payload: JSONObject
    private let bus: Bus

    init(
        _ load: Load, _ request: BusRequest, _ address: BusAddress, token: String?, tls: TLSOptions
    ) throws {
        self.load = load
        action = request["action"]?.string ?? ""
        payload = request["payload"]?.object ?? [:]
        target =
            request["store"]?.string.map(DispatchTarget.store) ?? .type(request["type"]?.string ?? "")
        var options = BusOptions()
        options.token = token
        options.tls = tls
        options.client = "bench"
        options.usesKeys = load.sender == .libraryWithKeys
        options.window = max(options.window, load.pipeline)
        let wanted = options
        bus = try Self.blocking { () throws(BusError) in try await Bus.connect(address, options: wanted) }
            .get()
    }

    /// Runs to the end, on a thread that may block.
    func run(_ extent: LoadRunner.Extent) -> LoadRunner.Tally {
        let tally = Self.blocking { [self] () throws(BusError) in await Measured(tally: measure(extent)) }
        switch tally {
        case .success(let measured): return measured.tally
        case .failure(let error):
            var tally = LoadRunner.Tally()
            tally.elapsed = 1
            tally.shortfall = error.message
            return tally
        }
    }

    private nonisolated(nonsending) func measure(_ extent: LoadRunner.Extent) async -> LoadRunner.Tally {
        var tally = LoadRunner.Tally()
        let times = Histogram()
        let start = nanoseconds()
        var limit = Int.max
        var stopAt = UInt64.max
        switch extent {
        case .requests(let count): limit = count
        case .nanoseconds(let length): stopAt = start + length
        }
        var pending: [(reply: PendingReply, sentAt: UInt64)] = []
        pending.reserveCapacity(load.pipeline)
        var oldest = 0
        while true {
            let now = nanoseconds()
            let isSending = tally.requests < limit && now < stopAt
            if isSending, pending.count < load.pipeline {
                pending.append((await bus.startDispatch(action, to: target, payload: payload), now))
                tally.requests += 1
                continue
            }
            guard tally.replies < tally.requests else { break }
            do throws(BusError) {
                _ = try await pending[oldest].reply.dispatched
            } catch {
                tally.shortfall = error.message
                break
            }
            times.add(nanoseconds() &- pending[oldest].sentAt, times: 1)
            tally.replies += 1
            if isSending {
                pending[oldest] = (
                    await bus.startDispatch(action, to: target, payload: payload), nanoseconds()
                )
                tally.requests += 1
            }
            oldest = (oldest + 1) % pending.count
        }
        tally.elapsed = max(1, nanoseconds() - start)
        tally.replyTimes = times
        return tally
    }

    /// A tally passed from the task that made it to the waiting thread, which alone uses it from then on.
    private struct Measured: @unchecked Sendable {
        // Its histograms are classes; nothing else holds them.
        let tally: LoadRunner.Tally
    }

    /// Runs a task and blocks this thread, which is the program's own and not one of the pool, until it is done.
    private static func blocking<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(BusError) -> Value
    ) -> Result<Value, BusError> {
        let slot = Slot<Value>()
        let done = DispatchSemaphore(value: 0)
        Task {
            let result: Result<Value, BusError>
            do throws(BusError) { result = .success(try await body()) } catch { result = .failure(error) }
            slot.result.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        guard let result = slot.result.withLock({ $0 }) else {
            preconditionFailure("The task signals only when it has put its result in place.")
        }
        return result
    }

    private final class Slot<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, BusError>?>(nil)
    }
}
