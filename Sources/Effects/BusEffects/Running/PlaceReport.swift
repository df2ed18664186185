import BusJSON

/// What the bus is told of where an effect stands.
package struct PlaceReport {
    package struct Place: Equatable {
        var done = -1
        var isClean = false
        var running = 0
        var waiting = 0
        var held: [ConditionTracker.Beginning] = []
    }

    private var told = Place()

    package init() {}

    /// The members of the next report; nil: there is nothing new.
    ///
    /// - Parameters:
    ///   - isClean: Whether nothing of it would be done again.
    ///   - isIdle: It is only for how far the effect has come while no event is meant, which is worth a report from time to time.
    ///     What has been counted waits for one of its own.
    package mutating func next(
        _ machine: inout EffectMachine, held: [ConditionTracker.Beginning], isClean: Bool, isIdle: Bool
    ) -> JSONObject? {
        if isIdle, machine.done - told.done < EffectLimits.idleCommits { return nil }
        let counts = machine.takeCounts()
        let place = Place(
            done: machine.done, isClean: isClean && machine.isClean, running: machine.running,
            waiting: machine.waiting, held: held)
        guard place != told || counts != EffectMachine.Counts() else { return nil }
        told = place
        let beginnings = held.map { beginning -> (String, JSON) in
            (
                "\(beginning.id)",
                ["store": .string(beginning.store), "time": .double(beginning.time), "by": beginning.by]
            )
        }
        return [
            "done": .int(place.done), "isClean": .bool(place.isClean), "running": .int(place.running),
            "waiting": .int(place.waiting), "succeeded": .int(counts.succeeded),
            "retried": .int(counts.retried), "skipped": .int(counts.skipped),
            "held": .object(beginnings.reduce(into: [:]) { $0[$1.0] = $1.1 }),
        ]
    }
}
