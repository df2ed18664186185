/// Requests whose answers are long, or slow to find.
extension Attack {
    static let reading = [
        Attack(
            name: "scans", summary: "`stores` with a glob that matches none of 10 000 stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: 10_000)]),
            scripts: flood(#"{"op":"stores","match":"*/*nothing"}"#)),
        Attack(
            name: "backtracking", summary: "200 kB of `stores` with v*/*z*y*x over all stores",
            // Names that nearly match, as often as a name of this length can.
            setUp: HostileSetUp(stores: [
                .init(type: "vase", count: .max, prefix: String(repeating: "zy", count: 40))
            ]),
            scripts: each { _ in
                let piece = AttackLines.piece(#"{"op":"stores","match":"v*/*z*y*x"}"#, bytes: 200_000)
                return AttackScript(piece: { _ in piece })
            }),
        Attack(
            name: "paging", summary: "pages of 1000 states from anywhere among all stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: .max)]),
            scripts: each { world in
                let pieces = AttackLines.prepared { number in
                    AttackLines.lines(16) { index in
                        let place = AttackLines.scattered(number * 16 + index, among: world.stores)
                        return #"{"op":"get","type":"counter","limit":1000,"after":"counter/s\#(place)"}"#
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "listing", summary: "pages of 1000 addresses from anywhere among all stores",
            setUp: HostileSetUp(stores: [.init(type: "counter", count: .max)]),
            scripts: each { world in
                let pieces = AttackLines.prepared { number in
                    AttackLines.lines(16) { index in
                        let place = AttackLines.scattered(number * 16 + index, among: world.stores)
                        return #"{"op":"stores","limit":1000,"after":"counter/s\#(place)"}"#
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "types", summary: "a flood of `types`, whose definitions take 900 kB",
            setUp: HostileSetUp(hasWideTypes: true),
            scripts: flood(#"{"op":"types"}"#)),
        Attack(
            name: "reloads", summary: "`reload` by who may, the next when the one before is answered",
            scripts: each { _ in
                let line = AttackLines.line(#"{"op":"reload"}"#)
                return AttackScript(piece: { _ in line }, pace: .afterAnswers(1))
            }),
        Attack(
            name: "past-reads", summary: "`get` of 100 stores at revisions long gone, from the log",
            setUp: past,
            scripts: each { world in
                let pieces = pastReads(of: world)
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "histories", summary: "`history`, 1000 commits at a time, from the log",
            setUp: past,
            scripts: each { world in
                let pieces = AttackLines.prepared { number in
                    AttackLines.lines(64) { index in
                        let since = AttackLines.scattered(number * 64 + index, among: world.revision)
                        return #"{"op":"history","since":\#(since),"limit":1000}"#
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "past-questions",
            summary: "`blame`, `samples` and `history` from the newest back, without pause",
            setUp: past,
            scripts: each { world in
                let pieces = AttackLines.prepared { number in
                    AttackLines.lines(64) { index in
                        let store = "counter/s\((number * 64 + index) % 100)"
                        let wanted =
                            200 + AttackLines.scattered(number * 64 + index, among: world.revision - 200)
                        return switch index % 4 {
                        case 0: #"{"op":"blame","store":"\#(store)","path":"/count","revision":\#(wanted)}"#
                        case 1: #"{"op":"samples","store":"\#(store)","path":"/count","since":\#(wanted)}"#
                        case 2: #"{"op":"history","order":"newest","by":"nobody"}"#
                        default:
                            #"{"op":"history","order":"newest","store":"\#(store)","where":"by > 5","limit":1000}"#
                        }
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
        Attack(
            name: "vanishing-askers", summary: "64 reads of the past, and nobody waits for them",
            setUp: past,
            scripts: each { world in
                AttackScript(opening: pastReads(of: world), reads: false, leaving: .whenSent)
            }),
        Attack(
            name: "reverts", summary: "`revert` of one store to revisions long gone",
            setUp: past,
            scripts: each { world in
                let pieces = AttackLines.prepared { number in
                    AttackLines.lines(64) { index in
                        let wanted =
                            200 + AttackLines.scattered(number * 64 + index, among: world.revision - 200)
                        return #"{"op":"revert","store":"counter/s0","revision":\#(wanted)}"#
                    }
                }
                return AttackScript(piece: { pieces($0.number) })
            }),
    ]

    private static let past = HostileSetUp(
        stores: [.init(type: "counter", count: 100)], commits: 20_000, hasLog: true)

    @Sendable
    private static func pastReads(of world: HostileWorld) -> @Sendable (Int) -> [UInt8] {
        AttackLines.prepared { number in
            AttackLines.lines(64) { index in
                let wanted = 200 + AttackLines.scattered(number * 64 + index, among: world.revision - 200)
                return #"{"op":"get","type":"counter","revision":\#(wanted)}"#
            }
        }
    }
}
