import BusEffects
import BusHTTP
import BusSystem
import Synchronization

/// Sends the requests of all effects, many at a time, on a thread of its own, which goes with the sender.
final class PostSender: Sendable {
    private let mailbox: Mailbox

    init() {
        mailbox = Mailbox()
        SystemThread.startNecessary(named: "effect posts") { [mailbox] in mailbox.work() }
    }

    deinit { mailbox.put(.close) }

    /// Sends a request. `onEnd` is called once, on the thread.
    func send(
        _ request: PostRequest, onEnd: @escaping @Sendable (EffectMachine.Outcome) -> Void
    ) -> any RunningDeed {
        let deed = Deed(request, onEnd, mailbox)
        mailbox.put(.send(deed))
        return deed
    }

    /// Calls it on the thread, in its turn: a thread that is stuck never does.
    func perform(_ body: @escaping @Sendable () -> Void) { mailbox.put(.perform(body)) }

    /// A request on its way.
    private final class Deed: RunningDeed {
        let request: PostRequest
        let onEnd: @Sendable (EffectMachine.Outcome) -> Void
        private let mailbox: Mailbox

        init(
            _ request: PostRequest, _ onEnd: @escaping @Sendable (EffectMachine.Outcome) -> Void,
            _ mailbox: Mailbox
        ) {
            (self.request, self.onEnd, self.mailbox) = (request, onEnd, mailbox)
        }

        func end() { mailbox.put(.end(self)) }
    }

    private enum Order: Sendable {
        case send(Deed)
        case end(Deed)
        case perform(@Sendable () -> Void)
        case close
    }

    /// What the thread and those who give it orders share.
    private final class Mailbox: Sendable {
        private let transfers = Transfers(keeping: 0)
        private let orders = Mutex<[Order]>([])
        /// How long the thread sleeps at most, in milliseconds: nothing is due then.
        private static let longestSleep = 10_000

        func put(_ order: Order) {
            orders.withLock { $0.append(order) }
            transfers.wake()
        }

        private func take() -> [Order] {
            orders.withLock { orders in
                defer { orders = [] }
                return orders
            }
        }

        func work() {
            let worker = Worker(transfers)
            while true {
                for order in take() {
                    switch order {
                    case .send(let deed): worker.start(deed)
                    case .end(let deed): worker.end(deed)
                    case .perform(let body): body()
                    case .close: return transfers.cancelAll()
                    }
                }
                transfers.run()
                transfers.wait(milliseconds: Self.longestSleep)
            }
        }
    }

    /// The requests on their way; confined to the thread.
    private final class Worker {
        private let transfers: Transfers
        private var running: [ObjectIdentifier: Transfer] = [:]

        init(_ transfers: Transfers) { self.transfers = transfers }

        func start(_ deed: Deed) {
            do throws(EffectRefusal) {
                let request = try deed.request.http()
                running[ObjectIdentifier(deed)] = transfers.start(request) { [unowned self] outcome in
                    running[ObjectIdentifier(deed)] = nil
                    deed.onEnd(deed.request.outcome(outcome, of: request))
                }
            } catch {
                deed.onEnd(.failed(error.reason))
            }
        }

        func end(_ deed: Deed) {
            guard let transfer = running.removeValue(forKey: ObjectIdentifier(deed)) else { return }
            transfers.cancel(transfer)
            deed.onEnd(.failed("it was given up"))
        }
    }
}
