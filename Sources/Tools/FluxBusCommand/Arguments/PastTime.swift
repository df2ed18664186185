import BusProtocol

/// A time in the past as people write it, understood but not yet placed: for that it takes the time now and the time
/// zone.
package struct PastTime: Equatable, Sendable {
    /// The written form.
    package let text: String
    let form: Form

    enum Form: Equatable, Sendable {
        /// In milliseconds since 1970.
        case moment(Int)
        /// So many milliseconds before now.
        case ago(Int)
        /// A day, and on it a time in milliseconds since midnight, else its beginning.
        case local(Day, Int?)
    }

    enum Day: Equatable, Sendable {
        case today, yesterday
        /// The latest of its name that is not in the future: 0 for Monday.
        case weekday(Int)
        /// Counted from the first of 1970.
        case date(Int)
    }

    /// What is understood, for messages.
    package static let accepted =
        "2h, '2 hours ago', 09:30, today, yesterday, 'yesterday 18:00', monday, 2026-11-21, 2026-11-21T10:00, "
        + "2026-11-21T10:00Z or @1763877000"

    /// When it was, in milliseconds since 1970. `now` is in them, too.
    ///
    /// Throws a usage failure for a time that is still to come, that occurred twice because clocks were set back, or never
    /// because they were set forward.
    package func milliseconds(now: Int, in calendar: LocalCalendar) throws(CommandFailure) -> Int {
        let moment =
            switch form {
            case .moment(let moment): moment
            case .ago(let length): now - length
            case .local(.weekday(let name), let time): try latest(name, time, now, calendar)
            case .local(.today, let time): try place(calendar.day(of: now / 1000), time, calendar)
            case .local(.yesterday, let time): try place(calendar.day(of: now / 1000) - 1, time, calendar)
            case .local(.date(let day), let time): try place(day, time, calendar)
            }
        guard moment >= 0 else { throw failure("is before 1970: name a later time") }
        guard moment <= now else {
            let isOfToday = if case .local(.today, _?) = form { true } else { false }
            let word = text.lowercased().hasPrefix("today ") ? text.dropFirst(6) : text[...]
            throw failure(
                "is in the future: name a time in the past"
                    + (isOfToday ? ", such as `yesterday \(word)`" : ", or `now`"))
        }
        return moment
    }

    private func latest(
        _ name: Int, _ time: Int?, _ now: Int, _ calendar: LocalCalendar
    ) throws(CommandFailure) -> Int {
        let today = calendar.day(of: now / 1000)
        let day = today - (LocalCalendar.weekday(of: today) - name + 7) % 7
        let moment = try place(day, time, calendar)
        return moment <= now ? moment : try place(day - 7, time, calendar)
    }

    private func place(_ day: Int, _ time: Int?, _ calendar: LocalCalendar) throws(CommandFailure) -> Int {
        guard let time else { return calendar.start(of: day) * 1000 }
        switch calendar.moments(day: day, second: time / 1000) {
        case .one(let moment): return moment * 1000 + time % 1000
        case .two(let first, let second):
            throw failure(
                "occurred twice, because the clocks were set back: write @\(first) for the first time or @\(second) "
                    + "for the second")
        case .none(let moment):
            throw failure(
                "did not occur, because the clocks were set forward: write @\(moment) for the moment of that")
        }
    }

    private func failure(_ trouble: String) -> CommandFailure {
        CommandFailure(.usage, "The time `\(text)` \(trouble).")
    }
}

/// The grammar of times. Upper and lower case are the same; words are separated by spaces.
extension PastTime {
    /// Nil for what is no time.
    package init?(_ text: String) {
        // What is longer is none, and a limit keeps every step below short.
        guard text.utf8.count <= 64 else { return nil }
        let words = text.lowercased().split(separator: " ").map(String.init)
        guard let form = Self.epoch(words) ?? Self.ago(words) ?? Self.local(words) else { return nil }
        self.init(text: text, form: form)
    }

    /// `@1763877000`, `@1763877000.5`
    private static func epoch(_ words: [String]) -> Form? {
        guard words.count == 1, words[0].hasPrefix("@") else { return nil }
        let parts = words[0].dropFirst().split(separator: ".", omittingEmptySubsequences: false)
        guard 1...2 ~= parts.count, let seconds = number(parts[0], digits: 1...11) else { return nil }
        guard parts.count == 2 else { return .moment(seconds * 1000) }
        return fraction(parts[1]).map { .moment(seconds * 1000 + $0) }
    }

    // MARK: - Before now

    /// `2h`, `1h30m`, `2h ago`, `2 hours ago`, `1 day 2 hours ago`, `an hour ago`
    private static func ago(_ words: [String]) -> Form? {
        let isMarked = words.last == "ago"
        let words = isMarked ? words.dropLast() : words[...]
        if words.count == 1, let word = words.first, word.last?.isLetter == true {
            // A number without a unit is a revision.
            return DurationText.milliseconds(word).flatMap(bounded)
        }
        guard isMarked, !words.isEmpty, words.count.isMultiple(of: 2) else { return nil }
        var total = 0
        for place in stride(from: words.startIndex, to: words.endIndex, by: 2) {
            let count = ["a", "an"].contains(words[place]) ? 1 : number(words[place][...], digits: 1...9)
            guard let count, let unit = units[words[place + 1]] else { return nil }
            total += count * unit
        }
        return bounded(total)
    }

    private static func bounded(_ length: Int) -> Form? {
        // Longer than times are counted; nothing is that old, and no difference overflows.
        length < 1 << 50 ? .ago(length) : nil
    }

    /// In milliseconds. Months and years have no fixed length.
    private static let units: [String: Int] = {
        let lengths = [
            ("second", 1), ("sec", 1), ("minute", 60), ("min", 60), ("hour", 3600), ("day", 86_400),
            ("week", 604_800),
        ]
        return Dictionary(
            uniqueKeysWithValues: lengths.flatMap { [($0.0, $0.1 * 1000), ($0.0 + "s", $0.1 * 1000)] })
    }()

    // MARK: - Days and times of day

    private static let weekdays = [
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    ]

    /// `09:30`, `today`, `yesterday 18:00`, `monday`, `2026-11-21`, `2026-11-21 10:00:05`, `2026-11-21t10:00+01:00`
    private static func local(_ words: [String]) -> Form? {
        guard let first = words.first, words.count <= 2 else { return nil }
        if words.count == 1, let clock = clock(first[...]) { return .local(.today, clock) }
        var rest = words.dropFirst().first.map { $0[...] }
        let day: Day
        if first == "today" {
            day = .today
        } else if first == "yesterday" {
            day = .yesterday
        } else if let name = weekdays.firstIndex(of: first) {
            day = .weekday(name)
        } else {
            let parts = first.split(separator: "t", maxSplits: 1, omittingEmptySubsequences: false)
            guard let date = date(parts[0]) else { return nil }
            if parts.count == 2 {
                guard rest == nil else { return nil }
                rest = parts[1]
            }
            day = .date(date)
        }
        guard let text = rest else { return .local(day, nil) }
        if let time = clock(text) { return .local(day, time) }
        if case .date(let date) = day { return zoned(date, text) }
        return nil
    }

    /// A day, counted from the first of 1970.
    private static func date(_ text: Substring) -> Int? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let year = number(parts[0], digits: 4...4),
            let month = number(parts[1], digits: 1...2), let day = number(parts[2], digits: 1...2)
        else { return nil }
        return LocalCalendar.day(year: year, month: month, day: day)
    }

    /// A time of day in milliseconds since midnight: `9:30`, `09:30:05`, `09:30:05.250`.
    private static func clock(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count, let hour = number(parts[0], digits: 1...2), hour < 24,
            let minute = number(parts[1], digits: 2...2), minute < 60
        else { return nil }
        let seconds = (hour * 60 + minute) * 60
        guard parts.count == 3 else { return seconds * 1000 }
        let last = parts[2].split(separator: ".", omittingEmptySubsequences: false)
        guard 1...2 ~= last.count, let second = number(last[0], digits: 2...2), second < 60 else {
            return nil
        }
        guard last.count == 2 else { return (seconds + second) * 1000 }
        return fraction(last[1]).map { (seconds + second) * 1000 + $0 }
    }

    /// A time of day with `z`, `+01:00` or `-0500`.
    private static func zoned(_ day: Int, _ text: Substring) -> Form? {
        guard let mark = text.firstIndex(where: { "z+-".contains($0) }), let time = clock(text[..<mark])
        else {
            return nil
        }
        let zone = text[mark...].dropFirst()
        var east = 0
        if text[mark] == "z" {
            guard zone.isEmpty else { return nil }
        } else {
            let digits = zone.filter { $0 != ":" }
            let isRegular = zone.count == 4 || zone.count == 5 && zone.dropFirst(2).first == ":"
            guard isRegular, let value = number(digits[...], digits: 4...4), value / 100 < 24,
                value % 100 < 60
            else { return nil }
            east = (value / 100 * 60 + value % 100) * 60_000 * (text[mark] == "-" ? -1 : 1)
        }
        return .moment(day * 86_400_000 + time - east)
    }

    // MARK: - Numbers

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits ~= text.utf8.count, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
        return Int(text)
    }

    /// Decimals of a second as milliseconds; further ones are cut off.
    private static func fraction(_ text: Substring) -> Int? {
        guard number(text, digits: 1...9) != nil else { return nil }
        let digits = text.prefix(3)
        return Int(digits + String(repeating: "0", count: 3 - digits.count))
    }
}
