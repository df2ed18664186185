/// Single requests that are much work: a commit can't be divided.
extension Attack {
    static let commits = [
        Attack(
            name: "batches", summary: "batches of 1024 actions to one store",
            setUp: HostileSetUp(stores: [.init(type: "counter")]),
            scripts: each { _ in batches(#"{"store":"counter/s0","action":"increment"}"#) }),
        Attack(
            name: "full-batches",
            summary: "batches of 1024 actions to 12 stores each, about as much as one commit may",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 12)]),
            scripts: each { _ in batches(#"{"type":"counter","action":"increment"}"#) }),
        Attack(
            name: "wide-batches", summary: "batches of 1024 actions to 1000 stores each, which is refused",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 1000)]), outcome: .refusal,
            scripts: each { _ in batches(#"{"type":"counter","action":"increment"}"#) }),
        Attack(
            name: "wide-dispatches", summary: "dispatches to all of 100 000 stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 100_000)]),
            scripts: flood(#"{"op":"dispatch","type":"counter","action":"increment"}"#)),
        Attack(
            name: "dry-runs", summary: "dry runs over 10 000 stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 10_000)]),
            scripts: flood(#"{"op":"dispatch","type":"counter","action":"increment","dryRun":true}"#)),
        Attack(
            name: "expression-bombs",
            summary: "an expression up to its budget, over as many stores as one commit may",
            setUp: HostileSetUp(stores: [.init(type: "bomb", count: 48)]),
            scripts: flood(#"{"op":"dispatch","type":"bomb","action":"explode"}"#)),
        Attack(
            name: "wills",
            summary: "100 clients with wills of 950 actions to 2 stores, which vanish at once",
            // The most that a will may hold.
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 2)]), forms: [1, 100],
            scripts: each { _ in
                let line = AttackLines.line(
                    AttackLines.batch(950, op: "will") { _ in #"{"type":"counter","action":"increment"}"# })
                return AttackScript(opening: { _ in line }, leaving: .together(lines: 1))
            }),
        Attack(
            name: "creates", summary: "stores made and dropped",
            scripts: each { _ in
                // Never so many at a time that two connections make the same.
                let pieces = AttackLines.prepared(256) { number in
                    AttackLines.lines(512) { index in
                        #"{"op":"\#(index % 2 == 0 ? "create" : "drop")","store":"counter/c\#(number)x\#(index / 2)"}"#
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "ephemeral-stores", summary: "clients that make 2000 ephemeral stores and vanish",
            scripts: each { _ in
                AttackScript(
                    opening: { connection in
                        AttackLines.lines(2000) {
                            #"{"op":"create","store":"counter/e\#(connection)x\#($0)","ephemeral":true}"#
                        }
                    }, leaving: .whenAnswered(lines: 2000))
            }),
        Attack(
            name: "nested-arrays", summary: "ephemeral stores with a state of 90 000 nested arrays each",
            outcome: .successUntilFull,
            scripts: each { _ in
                let arrays = Array(repeating: "[[]]", count: 45_000).joined(separator: ",")
                return AttackScript(piece: { turn in
                    AttackLines.line(
                        #"{"op":"create","store":"blob/n\#(turn.number)","ephemeral":true,"state":{"value":[\#(arrays)]}}"#
                    )
                })
            }),
        Attack(
            name: "deep-arrays",
            summary: "ephemeral stores with arrays inside arrays, 50 deep, which is refused",
            outcome: .refusal,
            scripts: each { _ in
                let deep = String(repeating: "[", count: 50) + String(repeating: "]", count: 50)
                let arrays = Array(repeating: deep, count: 9000).joined(separator: ",")
                return AttackScript(piece: { turn in
                    AttackLines.line(
                        #"{"op":"create","store":"blob/d\#(turn.number)","ephemeral":true,"state":{"value":[\#(arrays)]}}"#
                    )
                })
            }),
    ]

    /// Batches of 1024 times the same action.
    private static func batches(_ action: String) -> AttackScript {
        let line = AttackLines.line(AttackLines.batch(1024) { _ in action })
        return AttackScript(piece: { _ in line })
    }
}
