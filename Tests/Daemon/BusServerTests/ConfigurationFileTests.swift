import BusEngine
import BusServer
import TestFiles
import TestServer
import Testing

/// `fluxbusd.yaml`: what it may say, and that whatever is wrong is told with its line and the word that was meant.
struct ConfigurationFileTests {
    private let directory = TemporaryDirectory()

    private func load(
        _ text: String, flags: ConfigurationOverrides = ConfigurationOverrides(),
        environment: [String: String] = [:]
    ) throws -> ServerSetup {
        try directory.writeCounter()
        try directory.write("fluxbusd.yaml", text)
        return try ServerSetup.load(
            flags: flags, environment: ConfigurationOverrides(environment: environment),
            defaultFile: "\(directory.path)/fluxbusd.yaml")
    }

    private func refusal(of text: String) -> StartFailure? {
        do {
            _ = try load(text)
            return nil
        } catch {
            return error as? StartFailure
        }
    }

    /// Users and groups come and go without the rules: a start goes on without them, and who looks is told.
    @Test func aRoleThatNobodyCanHaveKeepsNoDaemonFromStarting() throws {
        let setup = try load(
            """
            listen: [{ unix: bus.sock }]
            types: types
            access:
              roles: { admin: [{ user: root }], guest: [{ group: no-such-group }, { user: nobody-at-all }] }
              rules: [{ role: admin, may: all }, { role: guest, may: read }]
            """)
        #expect(setup.warnings.count == 1)
        #expect(setup.warnings[0].contains("fluxbusd.yaml:4:") == true)
        #expect(setup.warnings[0].contains("Nobody can have the role guest"))
        for refuse in [{ _ = try setup.check() }, { _ = try setup.reloaded() }] {
            let failure = #expect(throws: StartFailure.self) { try refuse() }
            #expect(failure?.code == .configuration && failure?.messages == setup.warnings)
        }
    }

    @Test func aCheckRunsTheTestsOfTypesUnlessItIsToldNotTo() throws {
        let configuration = "listen: [{ unix: bus.sock }]\ntypes: types\n"
        let lamp = "type: lamp\ninitial: { on: false }\nactions: { flip: { toggle: [on] } }\n"
        try directory.write("types/lamp.yaml", lamp + "tests: [{ dispatch: flip, state: { on: true } }]\n")
        #expect(try load(configuration).check() == 1)
        try directory.write(
            "types/lamp.test.yaml", "type: lamp\ntests: [{ dispatch: flip, unchanged: true }]\n")
        let setup = try load(configuration)
        let failure = #expect(throws: StartFailure.self) { _ = try setup.check() }
        #expect(failure?.code == .configuration && failure?.messages.count == 1)
        let sentence = #"lamp.test.yaml:2:27: The test flip fails: The state is now {"on":true}."#
        #expect(failure?.messages.first?.hasSuffix(sentence) == true, "\(failure?.messages ?? [])")
        #expect(try setup.check(runsTests: false) == 0)
    }

    /// The rules of the package, on a machine without its group.
    @Test func theSampleOfRulesStartsEverywhere() throws {
        let sample = Repository.root.appendingPathComponent("config/access.yaml").path
        let setup = try ServerSetup.load(
            flags: ConfigurationOverrides(
                config: try directory.write(
                    "fluxbusd.yaml",
                    "listen: [{ unix: bus.sock }]\ntypes: \(Repository.sampleTypes)\naccess: \(sample)\n")),
            environment: ConfigurationOverrides(environment: [:]))
        #expect(setup.rules?.roles.count == 4)
        #expect(setup.warnings.allSatisfy { $0.contains("Nobody can have the role") })
    }

    /// `all` beside a `match` is not the bus, which who checks is told.
    @Test func allOfSomeStoresIsRemarkedUpon() throws {
        let setup = try load(
            """
            listen: [{ unix: bus.sock }]
            types: types
            access:
              roles: { admin: [{ user: root }] }
              rules:
                - { role: admin, may: all }
                - { role: admin, may: all, match: counter/* }
            """)
        #expect(setup.remarks.count == 1)
        #expect(setup.remarks[0].contains("fluxbusd.yaml:7: all is about some stores only here"))
    }

    @Test func everythingThatTheDesignShowsIsTaken() throws {
        try directory.write("tokens", "phone s3cret-of-the-phone\n")
        let setup = try load(
            """
            listen:
              - unix: bus.sock
                mode: "0600"
                group: fluxbus
              - tcp: 127.0.0.1:7411
              - tcp: "[::1]:7411"
              - tcp: localhost:7412
            tokens: tokens
            types: types
            stores: [counter/main, counter/other]
            log:
            limits: { line: 1MiB, depth: 64, state: 64KiB, stores: 10, connections: 4096, subscriptions: 1024,
                      outbox: 65536, batch: 7, memory: 2GiB }
            """)
        let configuration = setup.configuration
        #expect(
            configuration.listen.map(\.text) == [
                "unix:\(directory.path)/bus.sock", "tcp:127.0.0.1:7411", "tcp:[::1]:7411",
                "tcp:127.0.0.1:7412",
            ])
        #expect(
            configuration.listen[0].kind
                == .unix(path: "\(directory.path)/bus.sock", mode: 0o600, group: "fluxbus"))
        #expect(configuration.stores.map(\.value) == ["counter/main", "counter/other"])
        #expect(configuration.limits.bus.state == 65536)
        #expect(configuration.limits.daemon.outbox == 65536)
        #expect(configuration.limits.bus.batch == 7)
        #expect(configuration.limits.daemon.memory == 2 << 30)
        #expect(setup.types.map(\.name) == ["counter"])
        #expect(setup.tokens.names == ["phone"])
    }

    @Test func modeIsForOwnerAndGroupWhenNothingIsSaid() throws {
        let setup = try load("listen: [{ unix: /run/bus.sock }]")
        #expect(setup.configuration.listen[0].kind == .unix(path: "/run/bus.sock", mode: 0o660, group: nil))
        #expect(setup.configuration.limits == Limits())
    }

    /// The file, where the complaint stands, and what it says.
    static let wrong: [(String, String, String)] = [
        (
            "listen: [{ unix: s }]\nlimit: {}", "2:1",
            "unknown key `limit` in configuration; did you mean `limits`?"
        ),
        ("listen: [{ unix: s }]\nlisten: []", "2:1", "duplicate key `listen`"),
        ("listen: 7", "1:9", "listen must be a list, not an integer"),
        ("listen: [s]", "1:10", "an element of listen must be an object"),
        ("listen: [{ unx: s }]", "1:12", "did you mean `unix`?"),
        ("listen: [{ mode: \"0660\" }]", "1:10", "needs one of unix, tcp, tls and systemd"),
        ("listen: [{ unix: s, tcp: 127.0.0.1:1 }]", "1:10", "needs one of"),
        ("listen:\n  - unix: s\n    mode: 0660", "3:11", "in quotes, such as \"0660\""),
        ("listen:\n  - unix: s\n    mode: \"0999\"", "3:11", "0999 is not a mode"),
        ("listen:\n  - unix: s\n    mode: \"7777\"", "3:11", "7777 is not a mode"),
        ("listen:\n  - unix: ''", "2:11", "is empty"),
        ("listen:\n  - unix: 7", "2:11", "must be a string"),
        ("listen:\n  - systemd: 'b:s'", "2:14", "can't name a socket"),
        ("listen:\n  - tcp: 127.0.0.1:7411\n    mode: \"0660\"", "3:5", "mode is for unix: only"),
        ("listen:\n  - tcp: 127.0.0.1:7411", "2:10", "TCP needs tokens"),
        ("listen:\n  - tcp: 0.0.0.0:7411", "2:10", "Beyond this machine"),
        ("listen:\n  - tcp: '[::]:7411'", "2:10", "Beyond this machine"),
        ("listen:\n  - tcp: example.org:7411", "2:10", "Beyond this machine"),
        ("listen:\n  - tcp: 192.168.0.1:7411", "2:10", "Beyond this machine"),
        ("listen:\n  - tcp: ':7411'", "2:10", "Beyond this machine"),
        ("listen:\n  - tcp: 127.0.0.1", "2:10", "write HOST:PORT"),
        ("listen:\n  - tcp: 127.0.0.1:70000", "2:10", "write HOST:PORT"),
        ("listen:\n  - unix: s\n  - unix: s", "3:11", "duplicate address `"),
        ("listen: [{ unix: s }]\ntypes: nowhere", "2:8", "No such file or directory"),
        ("listen: [{ unix: s }]\ntokens: nowhere", "2:9", "No such file or directory"),
        ("listen: [{ unix: s }]\ntypes: types\nstores: [count/x]", "3:10", "did you mean `counter`?"),
        ("listen: [{ unix: s }]\ntypes: types\nstores: [counter]", "3:10", "write TYPE/NAME"),
        (
            "listen: [{ unix: s }]\ntypes: types\nstores: [counter/a, counter/a]", "3:21",
            "duplicate store `counter/a`"
        ),
        ("listen: [{ unix: s }]\ntypes: types\nstores: [1]", "3:10", "must be a string"),
        ("listen: [{ unix: s }]\nlimits: { lin: 1MiB }", "2:11", "did you mean `line`?"),
        ("listen: [{ unix: s }]\nlimits: { line: 1MB }", "2:17", "did you mean `MiB`?"),
        ("listen: [{ unix: s }]\nlimits: { line: 1 }", "2:17", "within 4KiB and 256MiB"),
        ("listen: [{ unix: s }]\nlimits: { line: -1 }", "2:17", "within 4KiB"),
        ("listen: [{ unix: s }]\nlimits: { line: 1.5MiB }", "2:17", "is not a unit of size"),
        ("listen: [{ unix: s }]\nlimits: { line: much }", "2:17", "must be a size"),
        (
            "listen: [{ unix: s }]\nlimits: { line: 99999999999999TiB }", "2:17",
            "is too large; use a"
        ),
        ("listen: [{ unix: s }]\nlimits: { line: true }", "2:17", "must be a size"),
        ("listen: [{ unix: s }]\nlimits: { depth: 1MiB }", "2:18", "must be an integer"),
        ("listen: [{ unix: s }]\nlimits: { memory: 15MiB }", "2:19", "memory must be within 16MiB and"),
        ("listen: [{ unix: s }]\nlimits: { connections: 0 }", "2:24", "within 1 and 1000000"),
        ("listen: [{ unix: s }]\nlimits: 7", "2:9", "limits must be an object"),
        (
            "listen: [{ unix: s }]\nlimits: { stores: 1 }\ntypes: types\nstores: [counter/a, counter/b]",
            "4:21", "raise it"
        ),
        ("7", "1:1", "the configuration must be an object"),
        ("listen: [", "2:1", "This is not YAML"),
        ("listen: &a []", "1:9", "Anchors are not supported"),
    ]

    @Test(arguments: wrong.indices)
    func whatIsWrongIsToldWithItsLine(index: Int) throws {
        let (text, place, words) = Self.wrong[index]
        let failure = try #require(refusal(of: text), "This was taken: \(text)")
        #expect(failure.code == .configuration)
        let expected = "\(directory.path)/fluxbusd.yaml:\(place): "
        #expect(
            failure.messages.contains { $0.hasPrefix(expected) && $0.contains(words) },
            "\(text) gave \(failure.messages), not \(place) \(words)")
    }

    @Test func everythingThatIsWrongIsToldAtOnceInTheOrderOfTheLines() throws {
        let failure = try #require(
            refusal(
                of: "limits: { lin: 1 }\nlisten: [{ unx: s }]\nlog: {}\ntypes: nowhere\nstores: [nothing]"))
        let lines = failure.messages.map { $0.split(separator: ":")[1] }
        #expect(lines == ["1", "2", "3", "4", "5"])
    }

    @Test func aWrongDefinitionIsToldWithItsOwnLine() throws {
        try directory.write("types/broken.yaml", "type: broken\ninitial: {}\nactons: {}\n")
        let failure = try #require(refusal(of: "listen: [{ unix: s }]\ntypes: types"))
        #expect(failure.messages.count == 1)
        #expect(failure.messages[0].hasPrefix("\(directory.path)/types/broken.yaml:3:1: "))
        #expect(failure.messages[0].contains("actions"))
    }

    @Test func nothingToListenOnIsRefused() throws {
        let failure = try #require(refusal(of: "types: types"))
        #expect(failure.messages[0].contains("no address to listen on"))
        #expect(refusal(of: "") != nil)
    }

    @Test func flagsOverrideVariablesWhichOverrideTheFile() throws {
        let text = "listen: [{ unix: /file }]\ntypes: types\nlimits: { depth: 10, batch: 10, stores: 10 }"
        let environment = ["FLUXBUS_LISTEN": "unix:/one, unix:/two", "FLUXBUS_LIMITS": "batch=20 stores=20"]
        let fromEnvironment = try load(text, environment: environment).configuration
        #expect(fromEnvironment.listen.map(\.text) == ["unix:/one", "unix:/two"])
        let both = try load(
            text, flags: ConfigurationOverrides(listen: ["unix:/flag"], limits: ["stores=30"]),
            environment: environment
        ).configuration
        #expect(both.listen.map(\.text) == ["unix:/flag"])
        #expect([both.limits.daemon.depth, both.limits.bus.batch, both.limits.bus.stores] == [10, 20, 30])
    }

    /// Units name the socket that the service manager passes: what the file has besides is heard by nobody.
    @Test func anAddressThatAFlagReplacesIsTold() throws {
        try directory.write("tokens", "phone s3cret-of-the-phone\n")
        let text = "listen:\n  - unix: /file\n  - tcp: 127.0.0.1:7411\ntypes: types\ntokens: tokens"
        #expect(try load(text).warnings == [])
        for (listen, count) in [(["unix:/file"], 1), (["unix:/file", "tcp:127.0.0.1:7411"], 0)] {
            let setup = try load(text, flags: ConfigurationOverrides(listen: listen))
            #expect(setup.warnings.count == count)
            for warning in setup.warnings {
                #expect(
                    warning.contains("fluxbusd.yaml:3: nobody listens on tcp:127.0.0.1:7411"), "\(warning)")
            }
            // It is as the unit wants it.
            try setup.check()
        }
    }

    @Test func wrongFlagsAndVariablesAreToldByName() throws {
        let cases: [(ConfigurationOverrides, String)] = [
            (
                ConfigurationOverrides(listen: ["unx:/a"]),
                "--listen: unx is not a kind of address; did you mean `unix`?"
            ),
            (ConfigurationOverrides(listen: ["/a"]), "--listen: /a is not an address"),
            (ConfigurationOverrides(listen: ["tcp:1.2.3.4:5"]), "--listen: Beyond this machine"),
            (ConfigurationOverrides(limits: ["line"]), "--limit: line is not of the form NAME=VALUE"),
            (
                ConfigurationOverrides(limits: ["lime=1"]),
                "--limit: lime is not a limit; did you mean `line`?"
            ),
            (ConfigurationOverrides(stores: ["nothing/x"]), "--store: There is no type nothing"),
            (
                ConfigurationOverrides(environment: ["FLUXBUS_LISTEN": "x"]),
                "FLUXBUS_LISTEN: x is not an address"
            ),
            (ConfigurationOverrides(environment: ["FLUXBUS_TYPES": "/nope"]), "FLUXBUS_TYPES: "),
        ]
        for (flags, words) in cases {
            do {
                _ = try load("listen: [{ unix: s }]\ntypes: types", flags: flags)
                Issue.record("This was taken: \(words)")
            } catch let failure as StartFailure {
                #expect(failure.messages.contains { $0.hasPrefix(words) }, "\(failure.messages)")
            }
        }
    }

    @Test func aNamedFileMustBeThere() {
        #expect(throws: StartFailure.self) {
            try ServerSetup.load(
                flags: ConfigurationOverrides(config: "\(directory.path)/nope", listen: ["unix:/run/x"]),
                environment: ConfigurationOverrides(environment: [:]))
        }
    }
}
