/// What a disk has to do with it, and who has only just connected.
extension Attack {
    static let logged = [
        Attack(
            name: "texts-logged", summary: "a flood of different texts of 200 bytes, with a log",
            setUp: HostileSetUp(stores: [.init(type: "blob")], hasLog: true),
            scripts: each { _ in
                let padding = String(repeating: "x", count: 200 - AttackLines.numberDigits)
                let line =
                    #"{"op":"dispatch","store":"blob/s0","action":"put","payload":{"value":"\#(padding)#"}}"#
                let lines = AttackLines.Numbered(256, line)
                return AttackScript(piece: { lines.bytes(from: $0.number * 256) })
            }),
        Attack(
            name: "texts-logged-unread", summary: "the same, and no reply is read",
            setUp: HostileSetUp(stores: [.init(type: "blob")], hasLog: true),
            scripts: each { _ in
                let padding = String(repeating: "x", count: 200 - AttackLines.numberDigits)
                let line =
                    #"{"op":"dispatch","store":"blob/s0","action":"put","payload":{"value":"\#(padding)#"},"ack":false}"#
                let lines = AttackLines.Numbered(256, line)
                return AttackScript(piece: { lines.bytes(from: $0.number * 256) }, reads: false)
            }),
        Attack(
            name: "dispatches-logged", summary: "a flood of pipelined dispatches to one store, with a log",
            setUp: HostileSetUp(stores: [.init(type: "counter")], hasLog: true), scripts: flood(increment)),
        Attack(
            name: "one-shots-logged", summary: "connections that dispatch once and go, with a log",
            setUp: HostileSetUp(stores: [.init(type: "counter")], hasLog: true),
            scripts: each { _ in
                let line = AttackLines.line(increment)
                return AttackScript(opening: { _ in line }, leaving: .whenAnswered(lines: 1))
            }),
    ]

    /// The innocent client of these connects anew for each of its dispatches.
    static let newcomers = [
        Attack(
            name: "newcomer", summary: "no attack: what a client sees that connects for each dispatch",
            setUp: HostileSetUp(comesAnew: true), forms: [0], scripts: { _, _ in [] }),
        Attack(
            name: "newcomer-dribble",
            summary: "requests that come a byte at a time, beside clients that connect for each dispatch",
            setUp: HostileSetUp(comesAnew: true), forms: [1, 50, 200, 1000],
            scripts: each { _ in
                let line = AttackLines.line(#"{"op":"ping"}"#)
                return AttackScript(piece: { [line[$0.own % line.count]] }, pace: .every(1))
            }),
        Attack(
            name: "newcomer-dispatches",
            summary: "a flood of dispatches, beside clients that connect for each of theirs",
            setUp: HostileSetUp(stores: [.init(type: "counter")], comesAnew: true), scripts: flood(increment)
        ),
        Attack(
            name: "newcomer-one-shots",
            summary: "connections that dispatch once and go, beside one that does",
            setUp: HostileSetUp(stores: [.init(type: "counter")], comesAnew: true),
            scripts: each { _ in
                let line = AttackLines.line(increment)
                return AttackScript(opening: { _ in line }, leaving: .whenAnswered(lines: 1))
            }),
        Attack(
            name: "newcomer-texts-logged",
            summary: "a flood of different texts with a log, beside clients that connect for each dispatch",
            setUp: HostileSetUp(stores: [.init(type: "blob")], hasLog: true, comesAnew: true),
            scripts: logged[0].scripts),
    ]

    private static let increment = #"{"op":"dispatch","store":"counter/s0","action":"increment"}"#
}
