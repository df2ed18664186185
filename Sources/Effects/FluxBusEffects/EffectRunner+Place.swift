import BusEffects
import BusJSON
import FluxBus

/// Where an effect stands, kept on the bus.
extension EffectRunner {
    /// When the bus is told of it.
    struct Reporting {
        var report = PlaceReport()
        /// Whether the next report is due.
        var isDue = false
        /// Whether one is on its way.
        var isOnItsWay = false
    }

    /// Something has happened that is worth a report, in a moment.
    func keepPlaceSoon() {
        guard isFollowing, !reporting.isDue else { return }
        reporting.isDue = true
        host.after(.nanoseconds(EffectLimits.progress)) { [self] in
            reporting.isDue = false
            guard isFollowing else { return }
            // Its answer says what keeps the next one from being too early.
            if reporting.isOnItsWay { keepPlaceSoon() } else { keepPlace(isIdle: false) }
        }
    }

    /// From time to time also when nothing that is meant happens.
    func keepPlaceWhileIdle() {
        host.after(.nanoseconds(EffectLimits.idleProgress)) { [self] in
            guard isFollowing else { return }
            if !reporting.isOnItsWay { keepPlace(isIdle: true) }
            keepPlaceWhileIdle()
        }
    }

    private func keepPlace(isIdle: Bool) {
        reporting.isOnItsWay = true
        settle(timeout: .never) { [self] in
            guard isFollowing, let payload = place(isIdle: isIdle) else {
                reporting.isOnItsWay = false
                return
            }
            host.tell(effect, "progress", payload) { [self] in reporting.isOnItsWay = false }
        }
    }

    /// What happened until now comes before the answer, unless the subscription rested meanwhile.
    func catchUp() {
        let rests = inlet.rests
        host.bus.post(BusRequest("sync"), timeout: .never) { [self] _ in
            host.queue.async { [self] in
                guard rests != nil, rests == inlet.rests, !isLookingUp else {
                    if isFollowing { host.after(EffectLimits.readInterval) { [self] in catchUp() } }
                    return
                }
                claim.isFirst = false
                machine.caughtUp()
                pump()
            }
        }
    }

    /// The last report, before the effect is over.
    func settlePlace(_ onDone: @escaping @Sendable () -> Void) {
        settle(timeout: .after(EffectLimits.pause)) { [self] in
            guard let payload = place(isIdle: false) else { return onDone() }
            let request = BusRequest(
                "dispatch",
                ["store": .string(effect.store), "action": "progress", "payload": .object(payload)])
            host.bus.post(request, timeout: .after(EffectLimits.pause)) { [self] _ in
                host.queue.async(execute: onDone)
            }
        }
    }

    /// Takes note of how far the bus has told everything: every event up to the revision of an answer comes before it, where
    /// the subscription did not rest meanwhile.
    private func settle(timeout: Bus.TimeLimit, _ onDone: @escaping @Sendable () -> Void) {
        let rests = inlet.rests
        host.bus.post(BusRequest("sync"), timeout: timeout) { [self] reply in
            if case .success(let reply) = reply, let revision = reply["revision"]?.int, let rests,
                rests == inlet.rests
            {
                inlet.passed(revision)
            }
            host.queue.async { [self] in
                if let seen = inlet.seen(afterTaking: taken) { machine.passed(seen) }
                onDone()
            }
        }
    }

    private func place(isIdle: Bool) -> JSONObject? {
        let isClean = tracker?.isClean ?? true && !isFollowing
        var payload = reporting.report.next(
            &machine, held: tracker?.beginnings ?? [], isClean: isClean, isIdle: isIdle)
        payload?["owner"] = .string(host.owner)
        return payload
    }
}
