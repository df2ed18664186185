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
