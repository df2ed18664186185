import BusLog
import BusServer
import TestFiles
import Testing

/// `log:` of the configuration: what it may say, and that whatever is wrong is told with its line.
struct LogConfigurationTests {
    private let directory = TemporaryDirectory()

    private func settings(
        _ log: String, flags: ConfigurationOverrides = ConfigurationOverrides(),
        environment: [String: String] = [:]
    ) throws -> LogSettings? {
        try directory.write("fluxbusd.yaml", "listen: [{ unix: s }]\n\(log)\n")
        return try ServerSetup.load(
            flags: flags, environment: ConfigurationOverrides(environment: environment),
            defaultFile: "\(directory.path)/fluxbusd.yaml"
        ).configuration.log
    }

    @Test func everythingThatTheSampleShowsIsTaken() throws {
        let settings = try #require(
            try settings(
                """
                log:
                  path: bus.sqlite
                  sync: interval
                  retain: { commits: 1000, age: 12h, bytes: 64MiB }
                """))
        #expect(settings.path.value == "\(directory.path)/bus.sqlite")
        #expect(settings.sync == .interval)
        #expect(settings.retain.age == 12 * 3_600_000)
        #expect(settings.retain.bytes == 64 << 20)
    }

    @Test func whatIsLeftOutIsTheUsual() throws {
        #expect(try settings("") == nil)
        #expect(try settings("log:") == nil)
        let usual = try #require(try settings("log: { path: /var/lib/fluxbus/bus.sqlite, sync: , retain: }"))
        #expect(usual.path.value == "/var/lib/fluxbus/bus.sqlite")
        #expect(usual.sync == .always)
        #expect(usual.retain.age == 30 * 86_400_000)
        #expect(usual.retain.bytes == 1 << 30)
        let some = try #require(try settings("log: { path: x, retain: { age: 90s, commits: } }"))
        #expect(some.retain.age == 90_000)
    }

    /// An age is written as every other length of time is, but not without a unit.
    @Test(arguments: [("2w", 14 * 86_400_000), ("1w2d", 9 * 86_400_000), ("1.5h", 5_400_000), ("500ms", 500)])
    func agesTakeAllUnits(text: String, milliseconds: Int) throws {
        let settings = try #require(try settings("log: { path: x, retain: { age: \(text) } }"))
        #expect(settings.retain.age == milliseconds)
    }

    @Test func flagsOverrideVariablesWhichOverrideTheFile() throws {
        let file = "log: { path: file.sqlite, sync: never, retain: { bytes: 7 } }"
        let variables = ["FLUXBUS_LOG": "/variable.sqlite", "FLUXBUS_SYNC": "interval"]
        let fromVariables = try #require(try settings(file, environment: variables))
        #expect(fromVariables.path.value == "/variable.sqlite")
        #expect(fromVariables.sync == .interval)
        // What they say nothing of stays.
        #expect(fromVariables.retain.bytes == 7)
        let fromFlags = try #require(
            try settings(
                file, flags: ConfigurationOverrides(log: "/flag.sqlite", sync: "always"),
                environment: variables))
        #expect(fromFlags.path.value == "/flag.sqlite")
        #expect(fromFlags.sync == .always)
        let alone = try #require(try settings("", flags: ConfigurationOverrides(log: "/flag.sqlite")))
        #expect(alone.path.value == "/flag.sqlite")
        #expect(alone.sync == .always)
    }

    /// What stands in line 2, where the complaint is, and what it says.
    static let wrong: [(String, String, String)] = [
        ("log: 7", "2:6", "log must be an object"),
        ("log: {}", "2:6", "log: needs path:"),
        ("log: { sync: always }", "2:6", "log: needs path:"),
        ("log: { path: '' }", "2:14", "is empty"),
        ("log: { path: 7 }", "2:14", "log.path must be a string"),
        ("log: { pth: x }", "2:8", "did you mean `path`?"),
        ("log: { path: x, snyc: always }", "2:17", "did you mean `sync`?"),
        ("log: { path: x, sync: alway }", "2:23", "did you mean `always`?"),
        ("log: { path: x, sync: true }", "2:23", "log.sync must be a string"),
        ("log: { path: x, retain: 7 }", "2:25", "log.retain must be an object"),
        ("log: { path: x, retain: { commit: 7 } }", "2:27", "did you mean `commits`?"),
        ("log: { path: x, retain: { commits: 0 } }", "2:36", "must be at least 1"),
        ("log: { path: x, retain: { commits: many } }", "2:36", "log.retain.commits must be an integer"),
        ("log: { path: x, retain: { bytes: 1GB } }", "2:34", "did you mean `GiB`?"),
        ("log: { path: x, retain: { bytes: 0 } }", "2:34", "must be at least 1"),
        ("log: { path: x, retain: { age: 30 } }", "2:32", "such as 12h or 30d"),
        ("log: { path: x, retain: { age: '30' } }", "2:32", "such as 12h or 30d"),
        ("log: { path: x, retain: { age: 30x } }", "2:32", "such as 12h or 30d"),
        ("log: { path: x, retain: { age: 30y } }", "2:32", "the units are ms, s, m, h, d and w"),
        ("log: { path: x, retain: { age: -1d } }", "2:32", "such as 12h or 30d"),
        ("log: { path: x, retain: { age: 0s } }", "2:32", "must be at least 1"),
        ("log: { path: x, retain: { age: 999999999999999d } }", "2:32", "such as 12h or 30d"),
    ]

    @Test(arguments: wrong.indices)
    func whatIsWrongIsToldWithItsLine(index: Int) throws {
        let (text, place, words) = Self.wrong[index]
        let failure = try #require(throws: StartFailure.self) { try settings(text) }
        #expect(failure.code == .configuration)
        let expected = "\(directory.path)/fluxbusd.yaml:\(place): "
        #expect(
            failure.messages.contains { $0.hasPrefix(expected) && $0.contains(words) },
            "\(text) gave \(failure.messages), not \(place) \(words)")
    }

    @Test func everythingThatIsWrongIsToldAtOnce() throws {
        let failure = try #require(throws: StartFailure.self) {
            try settings(
                """
                log:
                  path: x
                  sync: nver
                  retain:
                    commits: 0
                    age: 7
                    bites: 1
                """)
        }
        #expect(failure.messages.map { $0.split(separator: ":")[1] } == ["4", "6", "7", "8"])
    }

    @Test func wrongFlagsAreToldByName() throws {
        let cases: [(ConfigurationOverrides, String)] = [
            (
                ConfigurationOverrides(log: "x", sync: "alwys"),
                "--sync: invalid value `alwys` for `sync`; did you mean `always`?"
            ),
            (
                ConfigurationOverrides(sync: "always"),
                "--sync: There is no log to sync; name its file with --log."
            ),
            (
                ConfigurationOverrides(environment: ["FLUXBUS_SYNC": "never"]),
                "FLUXBUS_SYNC: There is no log to sync"
            ),
        ]
        for (flags, words) in cases {
            let failure = try #require(throws: StartFailure.self) { try settings("", flags: flags) }
            #expect(failure.messages.contains { $0.hasPrefix(words) }, "\(failure.messages)")
        }
    }
}
