import BusEffects
import BusJSON
import BusSystem
import Dispatch
import FluxBus
import Glibc

/// What the effects of a service share: the bus, the queue that owns all of them, and which commits follow from which.
///
/// `@unchecked Sendable`: what changes is touched on the queue only.
final class EffectHost: @unchecked Sendable {
    let bus: Bus
    let queue: DispatchQueue
    /// What this service is called in the stores of its effects: nobody else is called so.
    let owner: String
    /// What programs are started with, besides what they are told of their event.
    let environment: [String: String]
    /// The directory of the unit's credentials.
    let credentials: String?
    let log: @Sendable (String) -> Void
    /// Made for the first request.
    private(set) lazy var posts = {
        hasPosts = true
        return PostSender()
    }()
    private var hasPosts = false
    var ancestry = Ancestry()
    /// Starts an effect that has ended again.
    var restart: (EffectRunner) -> Void = { _ in }

    /// What is for this service alone.
    private static let own = ["NOTIFY_SOCKET", "LISTEN_", "WATCHDOG_", "CREDENTIALS_DIRECTORY"]

    init(
        _ bus: Bus, _ queue: DispatchQueue, environment: [String: String],
        log: @escaping @Sendable (String) -> Void
    ) {
        (self.bus, self.queue, self.log) = (bus, queue, log)
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        owner = "\(host):\(getpid()):\(String(UInt32.random(in: .min ... .max), radix: 16))"
        credentials = environment["CREDENTIALS_DIRECTORY"]
        self.environment = environment.filter { entry in !Self.own.contains { entry.key.hasPrefix($0) } }
    }

    /// Comes back to the queue by the thread of requests, where there is one.
    func passPosts(_ body: @escaping @Sendable () -> Void) {
        guard hasPosts else { return body() }
        posts.perform { [queue] in queue.async(execute: body) }
    }

    func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + time.seconds, execute: body)
    }

    /// Dispatches an action about an effect to its store, until the bus takes it. `onDone` is called on the queue.
    func tell(
        _ effect: Effect, _ action: String, _ payload: JSONObject,
        onDone: @escaping @Sendable () -> Void = {}
    ) {
        let request = BusRequest(
            "dispatch",
            ["store": .string(effect.store), "action": .string(action), "payload": .object(payload)])
        bus.post(request, timeout: .never) { [self] reply in
            queue.async { [self] in
                switch reply {
                case .success: onDone()
                case .failure(let error) where error.code == .closed: break
                case .failure(let error):
                    log("\(effect.name): \(effect.store) can't be written: \(error.message)")
                    after(EffectLimits.pause) { [self] in tell(effect, action, payload, onDone: onDone) }
                }
            }
        }
    }
}
