/// Large deliveries, and subscribers that do not read.
extension Attack {
    static let subscriptions = [
        Attack(
            name: "globs", summary: "1024 globs each, beside stores made and dropped",
            scripts: each { _ in
                let globs = AttackLines.lines(1024) {
                    #"{"op":"subscribe","match":"counter/*g*\#($0)","initial":false}"#
                }
                return AttackScript(
                    opening: { _ in globs },
                    piece: { turn in
                        AttackLines.lines(128) { index in
                            #"{"op":"\#(index % 2 == 0 ? "create" : "drop")","store":"counter/g\#(turn.number)"}"#
                        }
                    })
            }),
        Attack(
            name: "own-subscriptions", summary: "1024 subscriptions to the innocent's store, read",
            scripts: each { _ in AttackScript(opening: { _ in onInnocent }) }),
        Attack(
            name: "own-subscriptions-unread", summary: "1024 subscriptions to the innocent's store, not read",
            scripts: each { _ in AttackScript(opening: { _ in onInnocent }, reads: false) }),
        Attack(
            name: "subscribing", summary: "subscribing to 10 000 stores with their states, and unsubscribing",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 10_000)]),
            scripts: each { _ in
                AttackScript(piece: { turn in
                    AttackLines.line(
                        #"{"op":"subscribe","type":"counter"}"# + "\n"
                            + #"{"op":"unsubscribe","sub":\#(turn.own + 1)}"#)
                })
            }),
        Attack(
            name: "resuming", summary: "subscribing again and again from where 10 000 changes were not yet",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 10_000)], commits: 10_000),
            scripts: each { world in
                let since = #""since":\#(max(1, world.revision - 10_000)),"epoch":"\#(world.epoch)""#
                return AttackScript(piece: { turn in
                    AttackLines.line(
                        #"{"op":"subscribe","type":"counter",\#(since)}"# + "\n"
                            + #"{"op":"unsubscribe","sub":\#(turn.own + 1)}"#)
                })
            }),
        Attack(
            name: "stuck-readers", summary: "subscribers that read nothing, beside a flood",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 100)]), forms: [1, 50, 1000, 10_000],
            scripts: each(
                { _ in
                    AttackScript(
                        opening: { _ in AttackLines.line(#"{"op":"subscribe","type":"counter"}"#) },
                        reads: false)
                },
                besideOne: { _ in flooding(#"{"op":"dispatch","type":"counter","action":"increment"}"#) })),
        Attack(
            name: "unread-actions", summary: "subscribers of actions that read nothing, beside a flood",
            setUp: HostileSetUp(stores: [.init(type: "counter")]),
            scripts: each(
                { _ in ofActions(reads: false) },
                besideOne: { _ in flooding(#"{"op":"dispatch","store":"counter/s0","action":"increment"}"#) })
        ),
        Attack(
            name: "read-actions", summary: "subscribers of actions that do read, beside a flood",
            setUp: HostileSetUp(stores: [.init(type: "counter")]), isWellBehaved: true,
            scripts: each(
                { _ in ofActions(reads: true) },
                besideOne: { _ in flooding(#"{"op":"dispatch","store":"counter/s0","action":"increment"}"#) })
        ),
        Attack(
            name: "selections", summary: "400 selections each, and commits of 14 MB",
            setUp: large, scripts: each({ _ in ofParts(400, reads: true) }, besideOne: { _ in changingAll })),
        Attack(
            name: "selections-unread", summary: "400 selections each that nobody reads, and commits of 14 MB",
            setUp: large, scripts: each({ _ in ofParts(400, reads: false) }, besideOne: { _ in changingAll })),
        Attack(
            name: "stuck-by-large", summary: "60 subscribers that read nothing, and commits of 14 MB",
            setUp: large, forms: [60],
            scripts: each({ _ in ofParts(1, reads: false) }, besideOne: { _ in changingAll })),
    ]

    private static let onInnocent = AttackLines.lines(1024) {
        #"{"op":"subscribe","store":"\#(Innocent.type)/s0","select":["/count","/none\#($0 % 512)"]}"#
    }

    /// States of 900 kB, which one action changes: nearly as much as one commit may.
    private static let large = HostileSetUp(stores: [.init(type: "blob", count: 16)])

    private static func flooding(_ line: String) -> AttackScript {
        let piece = AttackLines.piece(line)
        return AttackScript(piece: { _ in piece })
    }

    private static func ofActions(reads: Bool) -> AttackScript {
        AttackScript(
            opening: { _ in AttackLines.line(#"{"op":"subscribe","type":"counter","actions":true}"#) },
            reads: reads)
    }

    private static func ofParts(_ count: Int, reads: Bool) -> AttackScript {
        let lines = AttackLines.lines(count) {
            #"{"op":"subscribe","type":"blob","select":["/value","/none\#($0)"],"initial":false}"#
        }
        return AttackScript(opening: { _ in lines }, reads: reads)
    }

    /// Changes all of them twice a second, each time to another letter.
    private static var changingAll: AttackScript {
        let lines = (0..<2).map { number in
            let text = String(repeating: number == 0 ? "a" : "b", count: 900_000)
            return AttackLines.line(
                #"{"op":"dispatch","type":"blob","action":"put","payload":{"value":"\#(text)"}}"#)
        }
        return AttackScript(piece: { lines[$0.own % 2] }, pace: .every(500))
    }
}
