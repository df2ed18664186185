import BusEffects
import BusJSON
import FluxBus

/// Which service handles the effect: the one that its store names as `owner`. The bus decides who that is, and takes the name out
/// when the connection of that service ends, by its will.
extension EffectRunner {
    struct Claim {
        /// Since when the store says that this service handles it.
        var revision = Int.max
        /// No service has handled it before, and this one has not caught up: on a bus without a log, what happened while it began
        /// can't be told, and nobody counts on it.
        var isFirst = false
        /// The epoch in which this service has handled it before.
        var epochBefore: String?
        /// The revision at which the last service went: what follows, until this one has caught up, is of a downtime.
        var left = 0
        /// Another service does.
        var isHeldBack = false
        /// How often this one has tried to begin.
        private(set) var attempt = 0

        /// Notes whether the effect runs for the first time. An empty store does not always mean that: when a bus without a log
        /// starts anew, the store is gone with the history, and only this service knows that the effect ran before.
        mutating func meet(_ standing: EffectStanding, in epoch: String) {
            isFirst = standing.epoch.isEmpty && [nil, "", epoch].contains(epochBefore)
        }

        mutating func begin() {
            attempt += 1
            isHeldBack = false
        }
    }

    /// Makes this service the one that handles it, and follows the bus from a revision on.
    func takeUp(_ standing: EffectStanding, at done: Int) {
        let payload: JSONObject = [
            "epoch": .string(epoch), "done": .int(done), "owner": .string(host.owner),
        ]
        let request = BusRequest(
            "dispatch",
            ["store": .string(effect.store), "action": "begin", "payload": .object(payload)])
        host.bus.post(request, timeout: .never) { [self] reply in
            host.queue.async { [self] in
                switch reply {
                case .success(let reply):
                    claim.revision = reply["revision"]?.int ?? 0
                    subscribe(from: ResumePoint(revision: done, epoch: epoch), standing)
                // Another service was first, or came further meanwhile, or the answer is lost.
                case .failure(let error): complain(error)
                }
            }
        }
    }

    /// The store of the effect has another state.
    func noticed(_ standing: EffectStanding, at revision: Int) {
        guard phase == .following else {
            latest = (standing, revision)
            // The service that has handled it has gone.
            if claim.isHeldBack, standing.owner.isEmpty { tryToBegin() }
            return
        }
        guard revision < claim.revision || standing.owner == host.owner else {
            host.log("\(effect.name): the bus has taken this service for gone.")
            return restart()
        }
        machine.isPaused = standing.paused != nil
        if isStuck, !machine.isPaused { return restart() }
        if standing.failed.count >= EffectLimits.failures {
            pause("\(standing.failed.count) events were set aside; retry or skip them, and resume it")
        }
        let events = standing.again.sorted { $0.id < $1.id }.filter { again.insert($0.id).inserted }
        if !events.isEmpty { lookUp(events) }
        pump()
    }
}
