import ArgumentParser
import BusJSON
import BusProtocol
import Glibc

/// When a dispatch is to be carried out: `--in 5m`, `--at 23:30`, and the name of its timer.
package struct DispatchTimeArgument: ParsableArguments {
    @Option(
        name: .customLong("in"),
        help: ArgumentHelp(
            "Dispatch after this time instead of now: 30s, 5m, 1h30m, 2d; a bare number is seconds.",
            valueName: "time"))
    package var delay: String?

    @Option(
        help: ArgumentHelp(
            "Dispatch at this time instead of now: 23:30 (today or tomorrow), 2026-12-24T18:00 (here), or seconds since 1970.",
            valueName: "time"))
    package var at: String?

    @Option(help: ArgumentHelp("The timer's name; one of the same name is replaced.", valueName: "name"))
    package var timer: String?

    package init() {}

    var isNow: Bool { delay == nil && at == nil && timer == nil }

    package func validate() throws {
        guard delay == nil || at == nil else { throw ValidationError("Give one of --in and --at.") }
        guard timer == nil || !(delay == nil && at == nil) else {
            throw ValidationError("--timer names a dispatch that comes later; say when with --in or --at.")
        }
        if let delay, DurationText.milliseconds(delay) == nil {
            throw ValidationError("--in takes a length of time, such as 30s, 5m or 1h30m, not `\(delay)`.")
        }
        if let at, Self.seconds(at, now: time(nil)) == nil {
            throw ValidationError(
                "--at takes a time, such as 23:30, 2026-12-24T18:00 or seconds since 1970, not `\(at)`.")
        }
    }

    /// The members of a dispatch for it; `now` is in seconds since 1970.
    func members(now: time_t) -> [(name: String, value: JSON)] {
        var members: [(name: String, value: JSON)] = []
        if let delay { members.append(("in", Self.length(delay))) }
        if let at, let seconds = Self.seconds(at, now: now) { members.append(("at", seconds)) }
        if let timer { members.append(("timer", .string(timer))) }
        return members
    }

    /// A length of time as the bus takes it.
    static func length(_ text: String) -> JSON {
        DurationText.milliseconds(text).map(DurationText.seconds) ?? .string(text)
    }

    /// A time of the bus, in the machine's time zone.
    static func text(of seconds: JSON) -> String {
        ClockText.milliseconds(seconds).map(ClockText.dateAndTime) ?? seconds.encoded
    }

    /// A time in seconds since 1970; nil where the text is none. A time of day is the next one after `now`.
    static func seconds(_ text: String, now: time_t) -> JSON? {
        if let seconds = Double(text), seconds.isFinite, seconds >= 0 {
            return Int(text).map(JSON.int) ?? .double(seconds)
        }
        var (now, parts) = (now, tm())
        localtime_r(&now, &parts)
        let words = text.split(whereSeparator: { $0 == "T" || $0 == " " }).map(String.init)
        guard 1...2 ~= words.count, let clock = numbers(words[words.count - 1], ":"), 2...3 ~= clock.count,
            0...23 ~= clock[0], 0...59 ~= clock[1], clock.count == 2 || 0...60 ~= clock[2]
        else { return nil }
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock.count == 3 ? clock[2] : 0)
        parts.tm_isdst = -1
        if words.count == 2 {
            guard let date = numbers(words[0], "-"), date.count == 3, 1970...9999 ~= date[0],
                1...12 ~= date[1],
                1...31 ~= date[2]
            else { return nil }
            (parts.tm_year, parts.tm_mon, parts.tm_mday) = (date[0] - 1900, date[1] - 1, date[2])
            let day = parts.tm_mday
            let seconds = mktime(&parts)
            // The thirty-first of February is no day.
            return parts.tm_mday == day ? .int(seconds) : nil
        }
        var (today, tomorrow) = (parts, parts)
        let seconds = mktime(&today)
        if seconds > now { return .int(seconds) }
        tomorrow.tm_mday += 1
        return .int(mktime(&tomorrow))
    }

    private static func numbers(_ text: String, _ separator: Character) -> [Int32]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int32($0) }
        return numbers.count == parts.count ? numbers : nil
    }
}
