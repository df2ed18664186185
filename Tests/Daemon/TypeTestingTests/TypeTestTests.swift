import BusDefinitions
import BusSource
import TestFiles
import Testing
import TypeTesting

/// The tests that files of types have: what passes, what fails and how that is said.
struct TypeTestTests {
    private let thermostat = """
        type: thermostat
        state:
          target: { type: number, minimum: 5, maximum: 30, default: 20 }
          log: { type: array, default: [] }
        computed: { isHot: target > 25 }
        actions:
          boost:
            require: [{ if: state.target + 2 <= 30, else: = "already at " + string(state.target) }]
            increment: { target: 2 }
            timers: { calm: { in: 1h, action: calm } }
          calm: { set: { target: 20 } }
          note:
            payload: { text: string }
            append: { log: { text: = payload.text, at: = meta.time, by: = meta.uid } }
        tests:

        """

    @Test func whatHoldsPasses() throws {
        let failures = try failures(
            thermostat + """
                  - dispatch: boost
                    state: { target: 22, isHot: false }
                  - name: boost stops at 30
                    given: { target: 29 }
                    dispatch: boost
                    rejected: already at 29
                    unchanged: true
                  - given: { target: 25 }
                    dispatch: [boost, { after: 59m59s }]
                    state: { target: 27, isHot: true }
                  - given: { target: 25 }
                    dispatch: [boost, { after: 1h }]
                    state: { target: 20.0 }
                  - dispatch: [boost, { action: boost, after: 30m }, { action: boost, after: 45m }]
                    state: { target: 26 }
                  - time: 2026-01-05T09:30Z
                    uid: 7
                    dispatch: { action: note, payload: { text: hi }, after: 10s }
                    state: { log: [{ at: 1767605410, by: 7 }] }
                  - time: 1767605400
                    dispatch: note
                    payload: { text: hi }
                    state: { log: [{ text: hi, at: 1767605400, why: null }] }
                  - dispatch: note
                    payload: {}
                    rejected: needs a string as payload.text
                """)
        #expect(failures == [])
    }

    @Test func whatDoesNotHoldIsSaidWhereItStands() throws {
        let failures = try failures(
            thermostat + """
                  - dispatch: boost
                    state: { target: 23, isHot: false, log: [1] }
                  - given: { target: 29 }
                    dispatch: boost
                    state: { target: 31 }
                  - dispatch: boost
                    rejected: true
                  - given: { target: 29 }
                    dispatch: [boost, calm]
                    rejected: already
                  - given: { target: 29 }
                    dispatch: boost
                    rejected: too hot
                  - dispatch: boost
                    unchanged: true
                  - dispatch: note
                    payload: { text: hi }
                    returns: 1
                    state: { log: [{ text: ho }] }
                """)
        #expect(
            failures == [
                "0.yaml:17:22: target is 22, not 23.", "0.yaml:17:45: log has 0 elements, not 1: [].",
                "0.yaml:19:15: thermostat/main refused boost: already at 29.",
                #"0.yaml:22:15: boost is not rejected; the state is now {"isHot":false,"log":[],"target":22}."#,
                "0.yaml:24:16: thermostat/main refused boost: already at 29.",
                "0.yaml:28:15: The reason is another: thermostat/main refused boost: already at 29.",
                #"0.yaml:30:5: The state is now {"isHot":false,"log":[],"target":22}."#,
                #"0.yaml:34:28: log.0.text is "hi", not "ho"."#, "0.yaml:33:14: It returns null, not 1.",
            ])
    }

    /// Members that only go together are given together.
    @Test func whatIsGivenKeepsInvariants() throws {
        let pair = """
            type: pair
            initial: { a: 0, b: 0 }
            invariant: [{ if: a == b, else: '= string(a) + " is not " + string(b)' }]
            actions: { add: { increment: { a: 1, b: 1 } } }
            tests:

            """
        #expect(
            try failures(pair + "  - { given: { a: 3, b: 3 }, dispatch: add, state: { a: 4, b: 4 } }\n") == []
        )
        #expect(
            try failures(pair + "  - { given: { a: 3, b: 2 }, dispatch: add, unchanged: true }\n")
                == ["0.yaml:6:14: 3 is not 2."])
        #expect(
            try failures(pair + "  - { given: { b: 1, a: 1, c: 2 }, dispatch: add, unchanged: true }\n")
                == ["0.yaml:6:28: pair has no member c; valid here: `a`, `b`."])
    }

    @Test func otherStoresAndTypesAreThere() throws {
        let failures = try failures(
            """
            type: user
            initial: { name: nobody }
            actions: { signIn: { payload: { name: string }, set: { name: = payload.name } } }
            """,
            """
            type: screen
            waitFor: [user]
            initial: { text: "" }
            actions:
              signIn:
                payload: { name: string? }
                set: { text: '= "Hello " + stores["user/main"].name' }
            tests:
              - stores: { user/main: { name: Ada } }
                dispatch: signIn
                state: { text: Hello Ada }
              - stores: { user/main: {} }
                dispatch: { type: "*", action: signIn, payload: { name: Ben } }
                state: { text: Hello Ben }
              - stores: { user/main: {} }
                store: door
                dispatch: [{ store: user/main, action: signIn, payload: { name: Cyd } }, signIn]
                state: { text: Hello Cyd }
              - dispatch: signIn
                rejected: user/main
            """)
        #expect(failures == [])
    }

    @Test func aTimerThatSetsItselfForEverEnds() throws {
        let failures = try failures(
            """
            type: clock
            initial: { ticks: 0 }
            actions: { tick: { increment: { ticks: 1 }, timers: { next: { in: 10ms, action: tick } } } }
            tests:
              - { dispatch: [tick, { after: 1s }], state: { ticks: 101 } }
              - { dispatch: [tick, { after: 1d }], state: { ticks: 101 } }
            """)
        #expect(failures == ["0.yaml:6:24: Too many timers are due in this time; one sets itself again."])
    }

    private static let lamp = """
        type: lamp
        initial: { on: false, room: hall }
        actions: { toggle: { toggle: [on] }, move: { payload: { to: string }, set: { room: = payload.to } } }
        """

    /// A view is tested by the stores that it is made of.
    @Test func viewsHaveTestsToo() throws {
        let rooms = """
            view: rooms
            of: lamp
            by: room
            values: { lamps: count(), lit: count(on) }
            computed: { isDark: lit == 0 }
            tests:
              - stores: { lamp/a: { on: true }, lamp/b: {}, lamp/c: { room: attic } }
                store: hall
                state: { lamps: 2, lit: 1, isDark: false }
              - { stores: { lamp/a: {} }, store: attic, state: null }
              - stores: { lamp/a: {}, lamp/b: {} }
                store: hall
                dispatch: [{ action: toggle, store: lamp/a }, { action: toggle, type: lamp }]
                state: { lit: 1 }
              - stores: { lamp/a: {} }
                store: hall
                dispatch: { action: move, store: lamp/a, payload: { to: hall } }
                unchanged: true

            """
        let house = """
            view: house
            of: rooms
            values: { dark: count(isDark) }
            tests: [{ stores: { lamp/a: {}, lamp/b: { room: attic } }, state: { dark: 2 } }, { state: null }]
            """
        #expect(try failures(Self.lamp, rooms, house) == [])
        let wrong = "  - { stores: { lamp/a: {} }, store: hall, state: { lamps: 2 } }"
        #expect(
            try failures(Self.lamp, rooms + wrong, house)
                == ["1.yaml:19:60: lamps is 1, not 2."])
    }

    @Test(
        arguments: [
            ("stores: { lamp/a: {} }", "5:5: Nothing can fail here; say what holds afterwards: state."),
            ("unchanged: true", "5:5: Nothing can fail here; say what holds afterwards: state."),
            ("{ given: { n: 1 }, state: { n: 1 } }", "5:7: given is for tests of types; "),
            ("{ dispatch: toggle, state: { n: 1 } }", "5:17: A view has no actions; "),
            ("state: { m: 1 }", "5:14: lamps has no member m; valid here: `n`."),
            ("{ state: { n: 1 }, store: house }", nil), ("state: null", nil),
        ])
    func mistakesInTestsOfViewsAreTold(_ test: String, _ mistake: String?) throws {
        let view = "view: lamps\nof: lamp\nvalues: { n: count() }\ntests:\n  - \(test)"
        let told = try failures(Self.lamp, view)
        if let mistake {
            #expect(told.count == 1 && told[0].hasPrefix("1.yaml:" + mistake), "\(told)")
        } else if test.contains("house") {
            #expect(told == ["1.yaml:5:14: The state is not there."])
        } else {
            #expect(told == [])
        }
        let keyed = "view: lamps\nof: lamp\nby: on\nvalues: { n: count() }\ntests:\n  - state: { n: 1 }"
        #expect(try failures(Self.lamp, keyed)[0].contains("has a store for each value of by; name the one"))
    }

    @Test func testsAreNoPartOfTheDefinition() throws {
        let text = thermostat + "  - { dispatch: boost, state: { target: 22 } }\n"
        let type = try TypeCatalog([.init(name: "a.yaml", bytes: Array(text.utf8))]).types[0]
        #expect(type.definition["tests"] == nil && type.definition["actions"] != nil)
        #expect(type.tests != nil)
    }

    /// The tests of the samples, and of the examples of the page.
    @Test func allTestsOfThePackagePass() throws {
        var errors: [SourceError] = []
        var suites = [
            TypeTestSuite(
                try TypeCatalog(directory: Repository.sampleTypes), in: Repository.sampleTypes, &errors)
        ]
        let blocks = try MarkdownPage("Sources/Core/BusLogic/BusLogic.docc/Types.md").blocks("types")
        for (place, block) in blocks.enumerated() {
            // What waits for another type has no tests there, and a view follows the type that it reads.
            guard block.text.contains("\ntests:") else { continue }
            let files = block.text.hasPrefix("view:") ? [blocks[place - 1], block] : [block]
            let catalog = try TypeCatalog(
                files.map { .init(name: "Types.md:\($0.line)", bytes: Array($0.text.utf8)) })
            suites.append(TypeTestSuite(catalog, in: nil, &errors))
        }
        #expect(errors == [] && suites.count > 1)
        #expect(suites.map(\.tests.count).reduce(0, +) >= 12)
        for suite in suites { #expect(suite.tests.flatMap(suite.run) == []) }
    }

    @Test func filesBesideTheTypeHaveTestsToo() throws {
        let directory = TemporaryDirectory()
        try directory.write("thermostat.yaml", thermostat.replacing("tests:\n", with: ""))
        try directory.write(
            "more.test.yaml",
            "type: thermostat\ntests:\n  - { dispatch: boost, state: { target: 5 } }\n")
        var errors: [SourceError] = []
        let catalog = TypeCatalog(directory: directory.path, &errors)
        let suite = TypeTestSuite(catalog, in: directory.path, &errors)
        #expect(errors == [] && catalog.types.count == 1)
        let failure = try #require(suite.tests.flatMap(suite.run).first)
        #expect(failure.file == "\(directory.path)/more.test.yaml" && failure.line == 3)
        #expect(suite.tests.map(\.name) == ["boost"])
        // A type whose file is wrong is there nevertheless.
        try directory.write("thermostat.yaml", "type: thermostat\ninitial: 5\n")
        let wrong = TypeCatalog(directory: directory.path, &errors)
        _ = TypeTestSuite(wrong, in: directory.path, &errors)
        #expect(errors.map(\.message) == ["initial must be an object, not an integer."])
    }
}
