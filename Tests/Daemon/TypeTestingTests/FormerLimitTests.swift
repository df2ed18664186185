import Testing

/// What state types could not say before they had expressions in text: nineteen things, in the order in which they were
/// found. Each is said here as a file says it, and the file's own tests hold it.
struct FormerLimitTests {
    /// 1. `let`: a value or an expression has a name.
    @Test func namedExpressions() throws {
        try expectHolding(
            """
            type: garage
            state: { cars: { type: integer, default: 0 }, doors: { values: boolean, default: {} } }
            let: { most: 2, room: most - state.cars, isOpen: "state.doors.exists(k, d, d)" }
            computed: { isFull: room == 0 }
            actions:
              push: { payload: { door: string }, set: { "doors.{payload.door}": true } }
              enter: { require: [{ if: isOpen && room > 0, else: '= "only " + string(most)' }], increment: { cars: 1 } }
            tests:
              - { dispatch: enter, rejected: only 2 }
              - { dispatch: [{ action: push, payload: { door: a } }, enter, enter], state: { cars: 2, isFull: true } }
              - { given: { cars: 2, doors: { a: true } }, dispatch: enter, rejected: only 2 }
            """)
    }

    /// 2. `schemas`: files share them.
    @Test func sharedSchemas() throws {
        try expectHolding(
            "schemas: { address: { properties: { street: string, town: { type: string, default: Bern } }, required: [street] } }",
            """
            type: order
            state: { home: { schema: address, nullable: true, default: null } }
            actions: { move: { payload: { to: { schema: address } }, set: { home: = payload.to } } }
            tests:
              - { dispatch: move, payload: { to: { street: Main } }, state: { home: { street: Main, town: Bern } } }
              - { dispatch: move, payload: { to: {} }, rejected: payload.to must have a member street }
            """)
    }

    /// 3. Paths take expressions, each one whole key.
    @Test func computedPaths() throws {
        try expectHolding(
            """
            type: meter
            initial: { hours: {}, jobs: {}, items: {} }
            actions:
              count: { set: { "hours.{meta.hour}": true } }
              start: { set: { "jobs.{meta.revision}": = meta.revision } }
              put: { payload: { item: object }, set: { "items.{payload.item.id}": = payload.item.n } }
            tests:
              - { time: 2026-01-05T09:30Z, dispatch: count, state: { hours: { "9": true } } }
              - { dispatch: [start, start], state: { jobs: { "2": 2, "3": 3 } } }
              - { dispatch: put, payload: { item: { id: a.b, n: 1 } }, state: { items: { a.b: 1 } } }
            """)
    }

    /// 4. `each`: writes are repeated, within the budget.
    @Test func repeatedWrites() throws {
        try expectHolding(
            """
            type: basket
            initial: { items: { a: 1, b: 2, c: 3 } }
            actions:
              drop: { payload: { ids: array }, each: { in: payload.ids, as: id, unset: ["items.{id}"] } }
              fill: { payload: { n: integer }, each: { in: lists.range(payload.n), as: i, set: { "items.{i}": 0 } } }
            tests:
              - { dispatch: drop, payload: { ids: [a, c] }, state: { items: { a: null, b: 2, c: null } } }
              - { dispatch: drop, payload: { ids: [a, x] }, rejected: items.x does not exist, unchanged: true }
              - { dispatch: fill, payload: { n: 1000000 }, rejected: budget }
            """)
    }

    /// 5. Names of timers take expressions.
    @Test func computedNamesOfTimers() throws {
        try expectHolding(
            """
            type: lobby
            initial: { visitors: {} }
            actions:
              enter:
                payload: { who: string }
                set: { "visitors.{payload.who}": true }
                timers: { "expire-{payload.who}": { in: 8h, action: leave, payload: { who: = payload.who } } }
              leave: { payload: { who: string }, unset: ["visitors.{payload.who}"], timers: { "expire-{payload.who}": null } }
            tests:
              - dispatch:
                  - { action: enter, payload: { who: ada } }
                  - { action: enter, payload: { who: ben }, after: 4h }
                  - { after: 4h }
                state: { visitors: { ada: null, ben: true } }
            """)
    }

    /// 6. `every`: a timer repeats by itself.
    @Test func repeatingTimers() throws {
        try expectHolding(
            """
            type: clock
            initial: { hours: 0 }
            actions:
              open: { timers: { hour: { every: 1h, action: strike } } }
              close: { timers: { hour: null } }
              strike: { increment: { hours: 1 } }
            tests:
              - { dispatch: [open, { after: 3h }], state: { hours: 3 } }
              - { dispatch: [open, { action: close, after: 90m }, { after: 1d }], state: { hours: 1 } }
            """)
    }

    /// 7. The time of day and the day of the week, in UTC.
    @Test func timeOfDay() throws {
        try expectHolding(
            """
            type: shop
            initial: { at: [] }
            actions:
              look: { set: { at: "= [meta.hour, meta.minute, meta.weekday]" } }
              buy: { require: [{ if: meta.weekday != 0 && meta.hour >= 8, else: closed }] }
            tests:
              - { time: 2026-01-05T09:30Z, dispatch: look, state: { at: [9, 30, 1] } }
              - { time: 2026-01-04T09:30Z, dispatch: buy, rejected: closed }
              - { time: 2026-01-05T07:59:59Z, dispatch: buy, rejected: closed }
            """)
    }

    /// 8. `for` and `while`: an action follows when something has held for so long.
    @Test func timersOfTheType() throws {
        try expectHolding(
            """
            type: door
            initial: { open: false, reminders: 0 }
            timers: { left-open: { for: 10m, while: open, action: remind } }
            actions:
              open: { set: { open: true } }
              close: { set: { open: false } }
              remind: { increment: { reminders: 1 } }
            tests:
              - { dispatch: [open, { after: 9m59s }], state: { reminders: 0 } }
              - { dispatch: [open, { after: 2h }], state: { reminders: 1 } }
              - { dispatch: [open, { action: open, after: 5m }, { after: 5m }], state: { reminders: 1 } }
              - { dispatch: [open, { action: close, after: 9m }, open, { after: 9m }], state: { reminders: 0 } }
            """)
    }

    /// 9. `invariant`: what every state satisfies after an action.
    @Test func invariants() throws {
        try expectHolding(
            """
            type: account
            initial: { balance: 0, limit: 100 }
            computed: { free: limit - balance }
            invariant: [balance >= 0, { if: free >= 0, else: '= string(-free) + " over the limit"' }]
            actions: { add: { payload: { n: integer }, increment: { balance: = payload.n } } }
            tests:
              - { dispatch: add, payload: { n: -1 }, rejected: balance >= 0 would not hold, unchanged: true }
              - { dispatch: add, payload: { n: 120 }, rejected: 20 over the limit }
              - { dispatch: add, payload: { n: 100 }, state: { free: 0 } }
            """)
    }

    /// 10. `const`: the only value.
    @Test func constants() throws {
        try expectMember(
            "{ const: ticket }", takes: ["ticket"], refuses: [("other", "x must be ticket, not other")])
    }

    /// 11. A list of types, `"null"` among them.
    @Test func unionsOfTypes() throws {
        try expectMember(
            "{ type: [string, integer, \"null\"], default: null }", takes: ["a", "5", "null"],
            refuses: [
                ("1.5", "x must be a string, an integer or null, not a number"), ("[]", "not an array"),
            ])
    }

    /// 12. `minItems`.
    @Test func fewestElements() throws {
        try expectMember(
            "{ type: array, minItems: 2, default: [1, 2] }", takes: ["[1, 1, 1]"],
            refuses: [("[1]", "x must have at least 2 elements, not 1")])
    }

    /// 13. `uniqueItems`.
    @Test func elementsWithoutRepetition() throws {
        try expectMember(
            "{ type: array, uniqueItems: true, default: [] }", takes: ["[1, 2, \"1\"]"],
            refuses: [("[1, 2, 1.0]", "x must have no element twice")])
    }

    /// 14. `exclusiveMinimum` and `exclusiveMaximum`.
    @Test func boundsThatAreNotReached() throws {
        try expectMember(
            "{ type: number, exclusiveMinimum: 0, exclusiveMaximum: 10, default: 1 }",
            takes: ["0.001", "9.999"],
            refuses: [("0", "x must be more than 0, not 0"), ("10", "x must be less than 10, not 10")])
    }

    /// 15. Defaults inside of objects.
    @Test func defaultsInsideOfObjects() throws {
        try expectHolding(
            """
            type: club
            state:
              people:
                values: { properties: { name: string, role: { type: string, default: guest } }, required: [name] }
                default: {}
            actions: { join: { payload: { who: object }, set: { "people.{payload.who.name}": = payload.who } } }
            tests:
              - { dispatch: join, payload: { who: { name: ada } }, state: { people: { ada: { role: guest } } } }
              - { dispatch: join, payload: { who: { name: bo, role: host } }, state: { people: { bo: { role: host } } } }
              - { given: { people: { cy: { name: Cy } } }, dispatch: join, payload: { who: { name: d } }, state: { people: { cy: { role: guest } } } }
            """)
    }

    /// 16. `overflow: dropOldest`.
    @Test func arraysThatDropTheOldest() throws {
        try expectHolding(
            """
            type: journal
            state: { log: { type: array, maxItems: 3, overflow: dropOldest, default: [] } }
            actions: { note: { payload: { text: any }, append: { log: = payload.text } } }
            tests:
              - { given: { log: [1, 2, 3] }, dispatch: note, payload: { text: 4 }, state: { log: [2, 3, 4] } }
            """)
    }

    /// 17. `returns`: on the state after the action.
    @Test func returnedValues() throws {
        try expectHolding(
            """
            type: queue
            initial: { last: 0 }
            computed: { isLong: last > 1 }
            actions: { draw: { increment: { last: 1 }, returns: { ticket: = state.last, long: = state.isLong } } }
            tests:
              - { dispatch: draw, returns: { ticket: 1, long: false } }
              - { dispatch: [draw, draw], returns: { ticket: 2, long: true } }
              - given: { last: 1 }
                stores: { queue/b: {} }
                dispatch: { type: queue, action: draw }
                returns: { queue/b: { ticket: 1, long: false }, queue/main: { ticket: 2, long: true } }
            """)
    }

    /// 18. `patch`: what is absent stays, and null is null.
    @Test func patches() throws {
        try expectHolding(
            """
            type: profile
            initial: { name: nobody, age: 3 }
            actions: { edit: { payload: { name: string?, age: { type: [integer, "null"], optional: true } }, patch: = payload } }
            tests:
              - { dispatch: edit, payload: { name: Ada }, state: { name: Ada, age: 3 } }
              - { dispatch: edit, payload: {}, unchanged: true }
              - { dispatch: [{ action: edit, payload: { age: null } }], state: { name: nobody, age: null } }
            """)
    }

    /// 19. `waitFor` names the type itself: its other stores are read as they were before the action.
    @Test func otherStoresOfTheType() throws {
        try expectHolding(
            """
            type: seat
            waitFor: [seat]
            initial: { next: "", here: 0 }
            actions: { shift: { set: { here: '= stores["seat/" + state.next].here' } } }
            tests:
              - stores: { seat/b: { next: main, here: 2 } }
                given: { next: b, here: 1 }
                dispatch: { type: seat, action: shift }
                state: { here: 2 }
              - stores: { seat/a: { next: main, here: 2 } }
                given: { next: a, here: 1 }
                dispatch: [{ type: seat, action: shift }, { type: seat, action: shift }]
                state: { here: 1 }
            """)
    }

    /// Expects that all tests of the files hold.
    private func expectHolding(_ texts: String..., at location: SourceLocation = #_sourceLocation) throws {
        let found = try failures(texts)
        #expect(found == [], sourceLocation: location)
    }

    /// Expects that a member of the state may be set to some values, and not to others.
    private func expectMember(
        _ schema: String, takes values: [String], refuses others: [(value: String, reason: String)],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let tests =
            values.map { "  - { dispatch: put, payload: { to: \($0) }, state: { x: \($0) } }\n" }
            + others.map {
                "  - { dispatch: put, payload: { to: \($0.value) }, rejected: \"\($0.reason)\" }\n"
            }
        let head =
            "type: t\nstate: { x: \(schema) }\nactions: { put: { payload: { to: any }, set: { x: = payload.to } } }\n"
        try expectHolding(head + "tests:\n" + tests.joined(), at: location)
    }
}
