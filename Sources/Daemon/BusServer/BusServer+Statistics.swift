import BusEngine
import BusJSON

/// What `stats` tells of the process and its log, which the engine knows nothing of.
extension BusServer {
    /// From now on the engine's times are measured, and `stats` is complete.
    func measure(_ loop: EventLoop) {
        let began = MonotonicClock.read()
        loop.engine.timings.stopwatch = { MonotonicClock.nanoseconds() }
        loop.engine.ownersStatistics = { [weak loop] in
            var statistics: JSONObject = [
                "uptime": .double(Double(MonotonicClock.read() - began) / 1000)
            ]
            if let bytes = MemoryMeter.resident() { statistics["residentMemory"] = .int(bytes) }
            if let log = loop?.coordinator?.statistics { statistics["log"] = .object(log) }
            return statistics
        }
    }
}
