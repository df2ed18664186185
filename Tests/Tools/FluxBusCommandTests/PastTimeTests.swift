import FluxBusCommand
import TestSupport
import Testing

@Suite("Times of the past, as people write them")
struct PastTimeTests {
    /// Monday, 23 November 2026, 12:00 UTC, which is 13:00 in Berlin.
    private static let noon = 1_795_435_200_000
    private static let day = 86_400_000

    private func moment(
        _ text: String, now: Int = noon, in calendar: LocalCalendar = TestZone.greenwich
    ) throws -> Int {
        try #require(PastTime(text), "\(text) is no time").milliseconds(now: now, in: calendar)
    }

    @Test(
        arguments: [
            ("2h", 7200), ("90s", 90), ("1h30m", 5400), ("2h ago", 7200), ("2 hours ago", 7200), ("0s", 0),
            ("1 hour ago", 3600), ("an hour ago", 3600), ("a day ago", 86_400), ("3d", 259_200),
            ("1w", 604_800),
            ("2 weeks ago", 1_209_600), ("1 day 2 hours ago", 93_600), ("10 min ago", 600),
            ("5 SECONDS AGO", 5),
            ("  2   hours  ago ", 7200), ("0.5h", 1800),
        ])
    func lengthsCountBackFromNow(_ text: String, _ seconds: Int) throws {
        #expect(try moment(text) == Self.noon - seconds * 1000)
    }

    @Test(
        arguments: [
            ("today", "2026-11-23T00:00"), ("yesterday", "2026-11-22T00:00"), ("09:30", "2026-11-23T09:30"),
            ("9:30", "2026-11-23T09:30"), ("00:00", "2026-11-23T00:00"), ("12:00", "2026-11-23T12:00"),
            ("today 09:30:05", "2026-11-23T09:30:05"), ("yesterday 18:00", "2026-11-22T18:00"),
            ("Yesterday 23:59:59", "2026-11-22T23:59:59"),
            // Today is a Monday.
            ("monday", "2026-11-23"), ("sunday", "2026-11-22"), ("tuesday", "2026-11-17"),
            ("monday 11:00", "2026-11-23T11:00"), ("monday 12:01", "2026-11-16T12:01"),
            ("2026-11-21", "2026-11-21T00:00:00"), ("2026-11-21 10:00:05", "2026-11-21T10:00:05"),
            ("2026-11-21t10:00z", "2026-11-21T10:00"), ("2026-11-21T10:00+01:00", "2026-11-21T09:00"),
            ("2026-11-21T10:00-0530", "2026-11-21T15:30"), ("2026-1-2 3:04", "2026-01-02T03:04"),
        ])
    func daysAndTimesOfDayAreThoseOfTheZone(_ text: String, _ same: String) throws {
        #expect(try moment(text) == moment(same))
    }

    @Test func momentsAreWhereTheyBelong() throws {
        #expect(try moment("@1763877000") == 1_763_877_000_000)
        #expect(try moment("@1763877000.5") == 1_763_877_000_500)
        #expect(try moment("@0") == 0)
        #expect(try moment("2026-11-23T12:00") == Self.noon)
        #expect(try moment("2026-11-23T12:00", in: TestZone.berlin) == Self.noon - 3_600_000)
        #expect(try moment("2026-11-23T12:00Z", in: TestZone.berlin) == Self.noon)
        #expect(try moment("10:00:00.250") == moment("10:00") + 250)
        #expect(try moment("1970-01-01") == 0)
        // Half past midnight in Berlin is still the day before in Greenwich.
        let late = try moment("2026-11-22T23:30")
        #expect(try moment("today", now: late, in: TestZone.berlin) == late - 1_800_000)
        #expect(try moment("today", now: late) == moment("2026-11-22"))
    }

    @Test func leapDaysExistInLeapYearsOnly() throws {
        let now = 1_900_000_000_000
        #expect(try moment("2028-02-29", now: now) == 1_835_395_200_000)
        #expect(try moment("2028-03-01", now: now) - moment("2028-02-28", now: now) == 2 * Self.day)
        for text in [
            "2026-02-29", "2100-02-29", "2026-02-30", "2026-04-31", "2026-13-01", "2026-00-10", "2026-01-00",
        ] {
            #expect(PastTime(text) == nil, "\(text)")
        }
        #expect(PastTime("2000-02-29") != nil)
    }

    @Test func whereClocksGoForwardAnHourIsMissing() throws {
        let zone = TestZone.berlin
        #expect(try moment("2026-03-29T01:59:59", in: zone) == 1_774_745_999_000)
        #expect(try moment("2026-03-29T03:00", in: zone) == 1_774_746_000_000)
        #expect {
            try moment("2026-03-29T02:30", in: zone)
        } throws: { error in
            let failure = error as? CommandFailure
            return failure?.status == .usage
                && failure?.message
                    == "The time `2026-03-29T02:30` did not occur, because the clocks were set forward: write @1774746000 "
                    + "for the moment of that."
        }
        // The day has 23 hours.
        #expect(
            try moment("2026-03-30", in: zone) - moment("2026-03-29", in: zone) == 23 * 3_600_000)
    }

    @Test func whereClocksGoBackAnHourComesTwice() throws {
        let zone = TestZone.berlin
        #expect(try moment("2026-10-25T01:59", in: zone) == 1_792_886_340_000)
        #expect(try moment("2026-10-25T03:00", in: zone) == 1_792_893_600_000)
        #expect {
            try moment("2026-10-25 02:30", in: zone)
        } throws: { error in
            (error as? CommandFailure)?.message
                == "The time `2026-10-25 02:30` occurred twice, because the clocks were set back: write @1792888200 for the "
                + "first time or @1792891800 for the second."
        }
        #expect(
            try moment("2026-10-26", in: zone) - moment("2026-10-25", in: zone) == 25 * 3_600_000)
    }

    @Test func aDayWithoutMidnightBeginsWithItsFirstMoment() throws {
        let zone = TestZone.forwardAtMidnight
        #expect(try moment("2026-03-29", in: zone) == 1_774_738_800_000)
        #expect(throws: CommandFailure.self) { try moment("2026-03-29T00:30", in: zone) }
        #expect(try moment("yesterday", now: 1_774_828_800_000, in: zone) == 1_774_738_800_000)
        // A day that never was begins where the next one does.
        let skipping = TestZone.skipsADay
        #expect(try moment("2026-03-30", in: skipping) == moment("2026-03-31", in: skipping))
        #expect(throws: CommandFailure.self) { try moment("2026-03-30T12:00", in: skipping) }
    }

    @Test(arguments: [
        ("13:00", "such as `yesterday 13:00`"), ("today 13:00", "such as `yesterday 13:00`"),
        ("2026-11-24", "or `now`"), ("@9999999999", "or `now`"), ("2026-11-23T12:00:00.001", "or `now`"),
    ])
    func theFutureIsRefused(_ text: String, _ advice: String) {
        #expect {
            try moment(text)
        } throws: { error in
            let message = (error as? CommandFailure)?.message ?? ""
            return message.contains("`\(text)` is in the future") && message.contains(advice)
        }
    }

    @Test(arguments: [
        "", " ", "ago", "hours ago", "2 hours", "2 fortnights ago", "-2h", "2x", "h", "@", "@-1", "@1.2.3",
        "@abc",
        "24:00", "12:60", "12", "12:5", "1:2:3", "12:00:60", "tomorrow", "yesterday yesterday", "today 2h",
        "2026-11", "26-11-21", "2026/11/21", "2026-11-21T", "2026-11-21T10", "2026-11-21T10:00+1",
        "2026-11-21T10:00+25:00",
        "2026-11-21T10:00Zulu", "2026-11-21 10:00 UTC", "2026-11-21T10:00 10:00", "99999999999999h",
        "monday z",
        "yesterday 10:00Z", "1969-12-31", "10000-01-01", "९:३०", "2h\u{0}", "two hours ago",
        "1111111111111111111111111111111111111111111111111111111111111111111s",
    ])
    func everythingElseIsNoTime(_ text: String) { #expect(PastTime(text) == nil) }

    @Test func aPlainNumberIsARevisionAndSomeWordsAreBoth() {
        #expect(RevisionArgument(argument: "20261121") == .revision(20_261_121))
        #expect(RevisionArgument(argument: "now") == .beforeNow(0))
        #expect(RevisionArgument(argument: "now-3") == .beforeNow(3))
        #expect(RevisionArgument(argument: "now-2h")?.description == "2h")
        #expect(RevisionArgument(argument: "yesterday")?.description == "yesterday")
        for text in ["now-", "now--3", "now-yesterday", "now-2 hours ago", "now3", "latest"] {
            #expect(RevisionArgument(argument: text) == nil, "\(text)")
        }
    }

    @Test(arguments: [
        ["at", "soon"], ["diff", "1", "soon"], ["log", "--since", "soon"], ["blame", "c/a", "--at", "soon"],
    ])
    func aRefusalListsWhatIsAccepted(_ arguments: [String]) {
        #expect {
            try RootCommand.parseAsRoot(arguments)
        } throws: { error in
            let message = RootCommand.message(for: error)
            return ["soon", "now-3", "2 hours ago", "yesterday", "2026-11-21T10:00", "@1763877000"]
                .allSatisfy(
                    message.contains)
        }
    }

    /// Whatever is typed, the answer is a time in the past or a sentence.
    @Test(arguments: [UInt64(1), 2, 3]) func anyTextIsReadOrRefused(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = [
            "now-", "2", "h", "ago", " ", "hours", "today", "yesterday", "monday", "09:30", ":", "-", "T",
            "Z", "+01:00",
            "2026-11-21", "@", "1763877000", ".", "999999999", "w", "a", "\u{1f552}", "9223372036854775807",
            "ms", "02-29",
        ]
        let zones = [TestZone.greenwich, TestZone.berlin, TestZone.forwardAtMidnight, TestZone.skipsADay]
        var understood = 0
        for _ in 0..<20_000 {
            let text = (0...Int.random(in: 0...4, using: &random)).map { _ in
                random.oneIn(8)
                    ? String(UnicodeScalar(UInt8.random(in: 0...127, using: &random)))
                    : parts.randomElement(using: &random)!
            }.joined()
            guard let time = PastTime(text) else { continue }
            do throws(CommandFailure) {
                let moment = try time.milliseconds(now: Self.noon, in: zones.randomElement(using: &random)!)
                #expect(0...Self.noon ~= moment, "\(text), seed \(seed)")
                understood += 1
            } catch {
                #expect(error.status == .usage && error.message.hasSuffix("."), "\(text), seed \(seed)")
            }
        }
        #expect(understood > 200)
    }

    /// Moments and clocks belong together, on every day around the changes.
    @Test func everyTimeOfDayIsFoundAgain() {
        for (name, zone, offsets) in [
            ("Berlin", TestZone.berlin, [3600, 7200]), ("Samoa", TestZone.skipsADay, [-36_000, 50_400]),
        ] {
            for moment in stride(from: 1_774_400_000, to: 1_793_000_000, by: 12_345) {
                let day = zone.day(of: moment)
                let found = offsets.map { moment + $0 - day * 86_400 }.filter { 0..<86_400 ~= $0 }.contains {
                    second in
                    switch zone.moments(day: day, second: second) {
                    case .one(moment), .two(moment, _), .two(_, moment): true
                    default: false
                    }
                }
                #expect(found, "\(name), \(moment)")
            }
        }
    }
}
