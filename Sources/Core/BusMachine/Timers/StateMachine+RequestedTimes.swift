import BusJSON
import BusProtocol

/// What requests say of time, read in one place for whoever carries them out.
extension StateMachine {
    /// The name that a request gives its timer.
    package func requestedTimer(in request: RequestReader) throws(RequestError) -> String? {
        guard let name = try request.string(.timer) else { return nil }
        guard Names.isTimerName(name) else {
            throw .invalid(
                "timer", "A timer can't be called `\(name.shortened(to: 80))`; \(Names.timerNameRule).")
        }
        return name
    }

    /// When a dispatch is due that comes later, in milliseconds since 1970, counted from the time of the bus.
    package func requestedTime(in request: RequestReader) throws(RequestError) -> Int {
        let farthest = time + DurationText.longest
        let due: Int
        switch (request.value(.in), request.value(.at)) {
        case (let delay?, nil):
            guard let length = DurationText.milliseconds(requested: delay) else {
                throw .invalid(
                    "in",
                    "`in` must be a number of seconds, or a text such as \"5m\" or \"1h30m\" of at most \(DurationText.longestText) bytes."
                )
            }
            due = time + length
        case (nil, let moment?):
            guard moment.double != nil, let moment = DurationText.milliseconds(of: moment) else {
                throw .invalid("at", "`at` must be a time in seconds since 1970, as `meta.time` is.")
            }
            due = moment
        case (_?, _?):
            throw .invalid("at", "Give either `in` or `at`, not both.")
        case (nil, nil):
            throw .invalid("in", "Say with `in` or `at` when the timer is due.")
        }
        guard due <= farthest else {
            throw RequestError(
                .limit, "A timer is set at most ten years ahead; leave what comes later to a calendar.")
        }
        return due
    }

    /// Throws where a dispatch that comes later has missed its time, so that who writes a wrong one does not have it carried
    /// out at once.
    package func requireToCome(_ due: Int) throws(RequestError) {
        guard due + BusLimits.lateness < time, rules >= 2 else { return }
        let now = DurationText.seconds(time).encoded
        throw .invalid(
            "at",
            "`at` is past: the time of the bus is \(now); give a time to come, or leave `at` out to dispatch it now."
        )
    }

    /// How long a new store lives without a dispatch, in milliseconds; nil: until it is dropped.
    package func requestedTimeToLive(
        _ value: JSON?, of entry: TypeEntry
    ) throws(RequestError) -> Int? {
        guard let value else { return entry.type.timeToLive }
        if value.isNull { return nil }
        guard let length = DurationText.milliseconds(requested: value),
            DurationText.shortest...DurationText.longest ~= length
        else {
            throw .invalid(
                "ttl",
                "`ttl` must be seconds or a text such as \"1h30m\" of at most \(DurationText.longestText) bytes, from 10 ms to ten years; or null for a store that stays."
            )
        }
        return length
    }
}
