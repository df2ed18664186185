import FluxBusCommand

/// Time zones that are the same on every machine.
enum TestZone {
    static let greenwich = LocalCalendar { _ in 0 }

    /// Berlin in 2026: clocks go forward on 29 March at 01:00 UTC, and back on 25 October at 01:00 UTC.
    static let berlin = LocalCalendar { (1_774_746_000..<1_792_890_000).contains($0) ? 7200 : 3600 }

    /// One hour east of Greenwich until midnight of 29 March 2026 there, when clocks go forward to one o'clock.
    static let forwardAtMidnight = LocalCalendar { $0 < 1_774_738_800 ? 3600 : 7200 }

    /// Like Samoa in 2011, here from 29 to 31 March 2026: ten hours west, and then, a day skipped, fourteen hours east.
    static let skipsADay = LocalCalendar { $0 < 1_774_864_800 ? -36_000 : 50_400 }
}
