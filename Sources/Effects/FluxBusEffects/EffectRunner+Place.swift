import BusEffects
import BusJSON
import FluxBus

/// Where an effect stands, kept on the bus.
extension EffectRunner {
    /// What the bus was told last.
    struct Report {
        var done = -1
        var isClean = false
        var running = 0
        var waiting = 0
        var held: [ConditionTracker.Beginning] = []
        /// Whether the next one is due.
        var isDue = false
        /// Whether one is on its way.
        var isOnItsWay = false
    }

    /// Something has happened that is worth a report, in a moment.
    func keepPlaceSoon() {
        guard isFollowing, !report.isDue else { return }
        report.isDue = true
        host.after(.nanoseconds(EffectLimits.progress)) { [self] in
            report.isDue = false
            guard isFollowing else { return }
            // Its answer says what keeps the next one from being too early.
            if report.isOnItsWay { keepPlaceSoon() } else { keepPlace(isIdle: false) }
        }
    }

    /// From time to time also when nothing that is meant happens.
    func keepPlaceWhileIdle() {
        host.after(.nanoseconds(EffectLimits.idleProgress)) { [self] in
            guard isFollowing else { return }
            if !report.isOnItsWay { keepPlace(isIdle: true) }
            keepPlaceWhileIdle()
        }
    }

    private func keepPlace(isIdle: Bool) {
        report.isOnItsWay = true
        settle(timeout: .never) { [self] in
            let isFar = machine.done - report.done >= EffectLimits.idleCommits
            guard isFollowing, let payload = place(), !isIdle || isFar else {
                report.isOnItsWay = false
                return
            }
            host.tell(effect, "progress", payload) { [self] in report.isOnItsWay = false }
        }
    }

    /// The last report, before the effect is over.
    func settlePlace(_ onDone: @escaping @Sendable () -> Void) {
        settle(timeout: .after(EffectLimits.pause)) { [self] in
            guard let payload = place() else { return onDone() }
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

    /// What there is to report; nil: nothing new.
    private func place() -> JSONObject? {
        let counts = machine.takeCounts()
        var next = report
        (next.done, next.isClean) = (
            machine.done, machine.isClean && tracker?.isClean ?? true && !isFollowing
        )
        (next.running, next.waiting) = (machine.running, machine.waiting)
        next.held = tracker?.beginnings ?? []
        let isSame =
            next.done == report.done && next.isClean == report.isClean && next.running == report.running
            && next.waiting == report.waiting && next.held == report.held
        guard !isSame || counts != EffectMachine.Counts() else { return nil }
        report = next
        var held = JSONObject()
        for beginning in next.held {
            held["\(beginning.id)"] = [
                "store": .string(beginning.store), "time": .double(beginning.time), "by": beginning.by,
            ]
        }
        return [
            "done": .int(next.done), "isClean": .bool(next.isClean), "running": .int(next.running),
            "waiting": .int(next.waiting), "succeeded": .int(counts.succeeded),
            "retried": .int(counts.retried),
            "skipped": .int(counts.skipped), "held": .object(held), "owner": .string(host.owner),
        ]
    }
}
